/** `control repair` keeps every row that can be read, and puts nothing in place that lacks what the journals have. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { repairControl } from '../../../../engine/admin/controlRepair.ts';
import { checkDatabases } from '../../../../engine/admin/databases.ts';
import { openControlDatabase } from '../../../../gateway/store/database.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';

const TIME = '20270115T080000Z';
const PAGE_BYTES = 4096;
const ACCOUNTS = 250;

/** A journal, and a control.db with its markets and accounts, and many others. */
function directoryOf(): JournaledShard {
  const shard = new JournaledShard();
  shard.trade(40);
  shard.close();
  const db = openControlDatabase(join(shard.file.directory, 'control.db'));
  const user = db.prepare("INSERT INTO users VALUES (?, ?, ?, NULL, 'user', ?, NULL, 5)");
  const wallet = db.prepare('INSERT INTO wallets VALUES (?, ?, ?)');
  const key =
    db.prepare(`INSERT INTO api_keys (key_id, account_index, sealed_secret, passphrase_hash, policy, created_ms)
    VALUES (?, ?, zeroblob(64), zeroblob(32), '{}', 9007199254740991)`);
  const fact = db.prepare('INSERT OR REPLACE INTO platform VALUES (?, ?)');
  const columns = db.prepare<[], { name: string; type: string }>('PRAGMA table_info(markets)').all();
  db.transaction(() => {
    fact.run('master_key_check', 'sealed');
    for (let n = 0; n < 40; n++) fact.run(`fact ${n}`, 'x'.repeat(n * 300));
    for (let account = 1; account <= ACCOUNTS; account++) {
      user.run(account, `user ${account}`, 'n'.repeat(40), `code ${account}`);
      wallet.run(account, `0x${account.toString(16).padStart(40, '0')}`, account);
      key.run(`key ${account}`, account);
    }
    for (const { index, uuid } of shard.rig.engine.state.markets.all()) {
      const id = bytesToUuid(new Uint8Array(new Uint32Array(uuid.subarray(0, 4)).buffer));
      const given: Record<string, unknown> = { market_index: index, id, details: '{}', event_id: null };
      const values = columns.map(({ name, type }) => {
        if (name in given) return given[name];
        return type === 'TEXT' ? `${name} ${index}` : index + 1;
      });
      db.prepare(`INSERT INTO markets VALUES (${values.map(() => '?').join(', ')})`).run(values);
    }
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return shard;
}

function contentOf(path: string): Map<string, string[]> {
  const db = new Database(path, { readonly: true });
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const content = tables.map((name): [string, string[]] => [
    name,
    db
      .prepare(`SELECT * FROM "${name}"`)
      .all()
      .map((row) => JSON.stringify(row)),
  ]);
  db.close();
  return new Map(content);
}

function pagesOf(path: string, tree: string): Set<number> {
  const db = new Database(path, { readonly: true });
  const pages = db.prepare<[string], number>('SELECT pageno FROM dbstat WHERE name = ?').pluck().all(tree);
  db.close();
  return new Set(pages);
}

test('with any page zeroed, every row that is not on it is kept, or is in the file of those without a place', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  const whole = readFileSync(path);
  const before = contentOf(path);
  const allRows = [...before.values()].flat().length;
  const kept = readdirSync(directory);
  const ofSchema = pagesOf(path, 'sqlite_schema');
  let [inPlace, refused, mostLost] = [0, 0, 0];
  for (let page = 0; page < whole.length / PAGE_BYTES; page += 2) {
    for (const name of readdirSync(directory)) if (!kept.includes(name)) rmSync(join(directory, name));
    const damaged = Buffer.from(whole).fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
    writeFileSync(path, damaged);
    // A free page has nothing.
    if (checkDatabases(directory).every(({ problem }) => problem === null)) continue;
    const options = { directory, files: [shard.file], time: TIME };
    let repaired: ReturnType<typeof repairControl>;
    try {
      const asked = repairControl({ ...options, acceptsLoss: false });
      if (!asked.isInPlace) {
        assert.ok(readFileSync(path).equals(damaged), 'nothing was changed');
        assert.match(asked.lines.at(-1)!, /^nothing was changed yet/);
        repaired = repairControl({ ...options, acceptsLoss: true });
      } else repaired = asked;
    } catch (error) {
      assert.match((error as Error).message, /the pages that name the tables of control\.db are damaged: restore/);
      assert.ok(ofSchema.has(page + 1), `page ${page} names tables`);
      assert.ok(readFileSync(path).equals(damaged));
      refused++;
      continue;
    }
    const name = repaired.isInPlace ? path : `${path}.recovered-${TIME}`;
    if (repaired.isInPlace) {
      inPlace++;
      assert.ok(readFileSync(`${path}.damaged-${TIME}`).equals(damaged));
      assert.deepEqual(
        checkDatabases(directory).filter(({ problem }) => problem !== null),
        [],
      );
      openControlDatabase(path).close();
    } else {
      assert.match(repaired.lines.join('\n'), /market .* is lost|facts of the platform are lost/);
    }
    const now = contentOf(name);
    const list = `${path}.lost-${TIME}.jsonl`;
    const aside = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n').length : 0;
    let lost = 0;
    for (const [table, rows] of before) {
      const left = new Set(now.get(table));
      lost += rows.filter((row) => !left.has(row)).length;
    }
    mostLost = Math.max(mostLost, lost - aside);
  }
  assert.ok(inPlace > 10 && refused > 0, `${inPlace} in place, ${refused} refused`);
  assert.ok(mostLost < 110 && allRows > 700, `one page cost ${mostLost} of ${allRows} rows`);
});

test('an account that is lost and has money keeps its index, its keys and its wallets, under a new id', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  const db = new Database(path);
  db.pragma('foreign_keys = OFF');
  db.exec('DELETE FROM users WHERE account_index IN (2, 9)');
  db.close();
  const copy = readFileSync(path);
  const { lines, isInPlace } = repairControl({ directory, files: [shard.file], acceptsLoss: true, time: TIME });
  assert.equal(isInPlace, true);
  for (const account of [2, 9]) assert.match(lines.join('\n'), new RegExp(`account ${account} has lost its name`));
  const users = contentOf(path).get('users')!;
  assert.equal(users.length, ACCOUNTS);
  assert.equal(contentOf(path).get('api_keys')!.length, ACCOUNTS);
  copyFileSync(path, `${path}.seen`);
  assert.ok(readFileSync(`${path}.damaged-${TIME}`).equals(copy));
});
