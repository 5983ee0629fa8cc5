/**
 * The operator's tools on the real directory of a member that was killed under load (RULES.md 18.24): they name the
 * damage, name another member before anything is given up, and records that were given up come from the log again.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES as skip } from '../support/postgres.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const PAGE_BYTES = 4096;
const ORDERS = 60;

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];

async function traded(cluster: Cluster): Promise<void> {
  const [markets, trader] = [[await makeMarket(cluster), await makeMarket(cluster)], await makeTrader(cluster)];
  for (const market of markets) {
    for (let order = 0; order < ORDERS; order++) await trader.place(market, { price: '0.20', size: '1' });
  }
}

/** `npm run admin`, with the environment of the member. */
function admin({ env, dataDir, project }: Member, ...args: string[]): { status: number | null; text: string } {
  const nodeArgs = ['--disable-warning=ExperimentalWarning', '--import', './shared/base/keptSources.mjs'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, 'engine/admin/main.ts', ...args], {
    cwd: project,
    env: { ...process.env, ...env, DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  return { status, text: stdout + stderr };
}

/** A bad sector: the pages that a kill has left in the write-ahead log are copied into the file before. */
function zeroLastPage(path: string): void {
  const db = new Database(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const fd = openSync(path, 'r+');
  writeSync(fd, new Uint8Array(PAGE_BYTES), 0, PAGE_BYTES, statSync(path).size - PAGE_BYTES);
  closeSync(fd);
}

/** Rows of a journal, which all members have byte for byte. */
function rowsOf(path: string): Map<number, string> {
  const db = new Database(path, { readonly: true });
  type Row = { readonly sequence: number; readonly bytes: Buffer };
  const rows = db.prepare<[], Row>('SELECT sequence, bytes FROM journal').all();
  db.close();
  return new Map(rows.map(({ sequence, bytes }) => [sequence, bytes.toString('base64')]));
}

test('the files of a member are repaired only by its word, and it gets from the log what that cost', {
  skip,
}, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const [b] = cluster.standbys as [Member];
  await traded(cluster);
  await cluster.awaitStandby(b);
  const load = traded(cluster);
  await b.kill();
  await load;
  assert.equal(admin(b, 'journal', 'verify').status, 0, 'a kill damages nothing');
  const journal = [0, 1]
    .map((shard) => join(b.dataDir, `journal-${shard}.db`))
    .sort((one, two) => rowsOf(two).size - rowsOf(one).size)[0]!;
  zeroLastPage(journal);
  const damaged = readFileSync(journal);
  const verified = admin(b, 'journal', 'verify');
  assert.deepEqual([verified.status, verified.text.includes(journal)], [1, true], verified.text);
  const refused = admin(b, 'journal', 'repair');
  assert.equal(refused.status, 1);
  assert.match(refused.text, /this is a member of a cluster: another one may have all of it/);
  assert.ok(readFileSync(journal).equals(damaged), 'nothing was changed');
  const repaired = admin(b, 'journal', 'repair', '--accept-loss');
  assert.equal(repaired.status, 0, repaired.text);
  assert.match(repaired.text, /acknowledged records? (?:is|are) given up/);
  await b.begin();
  await cluster.awaitStandby(b);
  await b.stop();
  assert.equal(admin(b, 'journal', 'verify').status, 0);
  const rows = rowsOf(journal);
  for (const [sequence, bytes] of rowsOf(journal.replace(b.dataDir, cluster.leader.dataDir))) {
    assert.equal(rows.get(sequence), bytes, `row ${sequence}`);
  }

  const control = join(b.dataDir, 'control.db');
  zeroLastPage(control);
  const told = admin(b, 'control', 'repair', '--accept-loss');
  assert.equal(told.status, 1, told.text);
  assert.match(told.text, /start it with an empty directory beside another member/);
  renameSync(b.dataDir, `${b.dataDir}.aside`);
  await b.begin();
  await cluster.awaitStandby(b);
});
