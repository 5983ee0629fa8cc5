/** `control repair` keeps every readable row, and installs no file that lacks entities that the journals name. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { auditDirectory } from '../../../../engine/admin/audit.ts';
import { repairControl } from '../../../../engine/admin/controlRepair.ts';
import { checkDatabases } from '../../../../engine/admin/databases.ts';
import { findUnnamed, unnamedIn } from '../../../../engine/admin/unnamed.ts';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { Movements } from '../../../../gateway/account/movements.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { MOVEMENT } from '../../../../shared/base/codes.ts';
import { CONTROL_VERSION, controlMigrations } from '../../../../shared/base/controlSchema.ts';
import { bytesToUuid, toHex } from '../../../../shared/base/hex.ts';
import { referenceHash } from '../../../../shared/crypto/referenceHash.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';

const TIME = '20270115T080000Z';
const PAGE_BYTES = 4096;
const ACCOUNTS = 250;
/** Tables whose rows follow from the journals. */
const MADE_ANEW: readonly string[] = ['users', 'movements'];
const { DEPOSIT } = MOVEMENT;
/** The reference of a deposit of five micro-USDC. */
const ON_PAPER = 'paper of a bank';

/** A journal, and a control.db with its markets and accounts, and many others. */
function directoryOf(): JournaledShard {
  const shard = new JournaledShard();
  shard.trade(40);
  shard.rig.move(1, DEPOSIT, 5, referenceHash(1, DEPOSIT, ON_PAPER));
  shard.commit();
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
  const movement = db.prepare("INSERT INTO movements VALUES (?, ?, ?, ?, ?, 'completed', ?, ?, NULL, 0)");
  for (const { sequence, account, movement: kind, amountMicro, timeMs, hash } of findUnnamed(db, [shard.file])
    .movements) {
    movement.run(`movement ${sequence}`, account, kind, amountMicro, `paper ${sequence}`, timeMs, hash);
  }
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return shard;
}

function contentOf(path: string): Map<string, string[]> {
  const db = new Database(path, { readonly: true });
  // The sums of rows follow from these.
  const names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'row_sums'";
  const tables = db.prepare<[], string>(names).pluck().all();
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
  let [inPlace, mostLost] = [0, 0];
  for (let page = 0; page < whole.length / PAGE_BYTES; page += 3) {
    for (const name of readdirSync(directory)) if (!kept.includes(name)) rmSync(join(directory, name));
    const damaged = Buffer.from(whole).fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
    writeFileSync(path, damaged);
    // A free page has nothing.
    if (checkDatabases(directory).every(({ problem }) => problem === null)) continue;
    const options = { directory, files: [shard.file], time: TIME };
    let repaired = repairControl({ ...options, acceptsLoss: false });
    if (!repaired.isInPlace) {
      assert.ok(readFileSync(path).equals(damaged), 'nothing was changed');
      assert.match(repaired.lines.at(-1)!, /^nothing was changed yet/);
      repaired = repairControl({ ...options, acceptsLoss: true });
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
  assert.ok(inPlace > 10, `${inPlace} in place`);
  assert.ok(mostLost < 110 && allRows > 700, `one page cost ${mostLost} of ${allRows} rows`);
});

/** Zeroes these pages of the schema, and returns the repaired content and the printed lines. */
function repairedWithout(shard: JournaledShard, whole: Buffer, pages: Iterable<number>) {
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  for (const name of readdirSync(directory)) if (/^control\.db./.test(name)) rmSync(join(directory, name));
  const damaged = Buffer.from(whole);
  for (const page of pages) damaged.fill(0, (page - 1) * PAGE_BYTES, page * PAGE_BYTES);
  writeFileSync(path, damaged);
  const repaired = repairControl({ directory, files: [shard.file], acceptsLoss: true, time: TIME });
  const name = repaired.isInPlace ? path : `${path}.recovered-${TIME}`;
  if (repaired.isInPlace) openControlDatabase(path).close();
  return { ...repaired, content: contentOf(name) };
}

test('the tables of a file whose schema is gone are made by its version, and every row has its place', () => {
  const shard = directoryOf();
  const path = join(shard.file.directory, 'control.db');
  const whole = readFileSync(path);
  const before = contentOf(path);
  const ofSchema = [...pagesOf(path, 'sqlite_schema')];
  assert.ok(ofSchema.length > 3 && ofSchema[0] === 1);
  for (const pages of [...ofSchema.map((page) => [page]), ofSchema]) {
    const { content, isInPlace, lines } = repairedWithout(shard, whole, pages);
    assert.ok(isInPlace, `${pages}: ${lines.join('; ')}`);
    assert.match(lines[0]!, /^the pages that name the tables are damaged: those of version \d+ are made anew$/);
    assert.deepEqual(content, before, `without ${pages}`);
  }
});

test('in a file that was brought up by versions no row comes into a table of another name', () => {
  const shard = directoryOf();
  const path = join(shard.file.directory, 'control.db');
  // Later tables have other places than in a new file: there were rows before they were made.
  renameSync(path, `${path}.new`);
  const db = new Database(path);
  db.pragma('foreign_keys = OFF');
  for (const statements of controlMigrations(0, 10)) db.exec(statements);
  for (let n = 0; n < 60; n++) db.prepare('INSERT INTO platform VALUES (?, ?)').run(`old fact ${n}`, 'x'.repeat(3000));
  for (const statements of controlMigrations(10, CONTROL_VERSION)) db.exec(statements);
  db.pragma(`user_version = ${CONTROL_VERSION}`);
  db.prepare('ATTACH ? AS new').run(`${path}.new`);
  for (const table of contentOf(path).keys()) {
    if (!table.startsWith('sqlite_')) db.exec(`INSERT OR REPLACE INTO "${table}" SELECT * FROM new."${table}"`);
  }
  db.close();
  const whole = readFileSync(path);
  const before = contentOf(path);
  const ofSchema = [...pagesOf(path, 'sqlite_schema')];
  for (const pages of [...ofSchema.map((page) => [page]), ofSchema]) {
    const { content } = repairedWithout(shard, whole, pages);
    for (const [table, rows] of content) {
      const known = new Set(before.get(table));
      const foreign = MADE_ANEW.includes(table) ? [] : rows.filter((row) => !known.has(row));
      assert.deepEqual(foreign, [], `${table} without ${pages}`);
    }
  }
});

test('a row that another program has changed is named, and kept as it is once that is accepted', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  const db = new Database(path);
  db.exec(
    "UPDATE users SET display_name = 'changed' WHERE account_index = 7; DELETE FROM api_keys WHERE key_id = 'key 8'",
  );
  db.close();
  const options = { directory, files: [shard.file], time: TIME };
  const asked = repairControl({ ...options, acceptsLoss: false });
  assert.equal(asked.isInPlace, false);
  for (const line of ['users 7: not as it was written', "api_keys 'key 8': gone"])
    assert.ok(asked.lines.includes(line));
  assert.equal(repairControl({ ...options, acceptsLoss: true }).isInPlace, true);
  assert.deepEqual(
    checkDatabases(directory).map(({ problem }) => problem),
    [null],
  );
  assert.equal(
    repairControl({ ...options, time: `${TIME}2`, acceptsLoss: false }).isInPlace,
    true,
    'nothing is lost now',
  );
});

test('movements of money that are lost are made anew out of the journals, under the name that they have there', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  const db = new Database(path);
  type Movement = { readonly account_index: number; readonly kind: number; readonly reference_hash: Buffer };
  const all = db.prepare<[], Movement>('SELECT * FROM movements ORDER BY reference_hash');
  const before = all.all();
  assert.ok(before.length > 4);
  assert.equal(unnamedIn(db, [shard.file]), null);
  db.exec("DELETE FROM movements WHERE reference IN ('paper 4', 'paper 8') OR amount_micro = 5");
  const lack = 'it is older than the journals: 0 accounts, 0 markets and 3 movements of money of theirs are not in it';
  assert.equal(unnamedIn(db, [shard.file]), lack);
  assert.match(auditDirectory([shard.file], db).text, /record 4: a deposit .*, which was not ordered/);
  db.close();
  const chain = openSettlementDb(join(directory, 'settlement.db'));
  addMoneyTables(chain);
  chain
    .prepare(
      `INSERT INTO chain_money (kind, block, tx_hash, log_index, wallet, amount, account, reference, found_ms)
       VALUES ('deposit', 1, '0xab', 7, '0xcd', '5', 1, ?, 0)`,
    )
    .run(toHex(referenceHash(1, DEPOSIT, ON_PAPER)));
  chain.close();
  const options = { directory, files: [shard.file], time: TIME };
  const lines = repairControl({ ...options, acceptsLoss: false }).lines.join('\n');
  assert.match(lines, /^a deposit of 1000000000 micro-USDC of account \d has lost its id and its reference: /m);
  assert.match(lines, /its id is \S+ and its reference "record 0:4" now, compare it with your books$/m);
  assert.equal(repairControl({ ...options, acceptsLoss: true }).isInPlace, true);
  const again = openControlDatabase(path);
  const now = again.prepare<[], Movement>('SELECT * FROM movements ORDER BY reference_hash').all();
  const named = ({ account_index, kind, reference_hash }: Movement) => [account_index, kind, reference_hash];
  assert.deepEqual(now.map(named), before.map(named));
  assert.equal(unnamedIn(again, [shard.file]), null);
  const found = new Movements(again).find(1, DEPOSIT, ON_PAPER);
  assert.deepEqual([found?.amountMicro, found?.status], [5, 'completed'], 'a repeat finds it');
  assert.equal(found?.reference, 'chain:0xab:7', 'the chain has done it first');
  const { text, isBalanced } = auditDirectory([shard.file], again);
  assert.ok(isBalanced, text);
  again.close();
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

test('accounts of which nothing is left keep their numbers, so that the next start takes every index as it was', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const path = join(directory, 'control.db');
  const db = new Database(path);
  db.pragma('foreign_keys = OFF');
  const gone = [30, 31, ACCOUNTS - 1, ACCOUNTS];
  for (const table of ['users', 'wallets', 'api_keys'])
    db.exec(`DELETE FROM ${table} WHERE account_index IN (${gone})`);
  db.close();
  const { lines, isInPlace } = repairControl({ directory, files: [shard.file], acceptsLoss: true, time: TIME });
  assert.equal(isInPlace, true, lines.join('\n'));
  for (const account of gone) assert.match(lines.join('\n'), new RegExp(`account ${account} has lost its name`));
  const repaired = new Database(path, { readonly: true });
  const indexes = repaired.prepare<[], number>('SELECT account_index FROM users ORDER BY 1').pluck().all();
  repaired.close();
  assert.deepEqual(
    indexes,
    Array.from({ length: ACCOUNTS }, (_, index) => index + 1),
  );
});

test('a market that is lost before its first command is named too, and nothing is put in place', () => {
  const shard = directoryOf();
  const { directory } = shard.file;
  const db = new Database(join(directory, 'control.db'));
  db.pragma('foreign_keys = OFF');
  db.exec(
    'UPDATE markets SET market_index = market_index + 1 WHERE market_index = (SELECT max(market_index) FROM markets)',
  );
  db.close();
  const { lines, isInPlace } = repairControl({ directory, files: [shard.file], acceptsLoss: true, time: TIME });
  assert.equal(isInPlace, false);
  assert.match(lines.join('\n'), /market \d+ is lost, which no journal has/);
});
