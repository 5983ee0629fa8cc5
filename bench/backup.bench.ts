/**
 * What does a backup cost those who trade beside it? A trader places one order after the other on an exchange with two
 * gigabytes of data: before, during and after its first backup, at the backup's own pace and priority; then during a
 * second backup, of the new parts. The gigabytes are pages of random bytes in read.db and idempotency.db: a backup
 * reads pages, whatever they contain.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { assert } from '../shared/base/assert.ts';
import { ROOT, startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader } from '../test/support/traders.ts';
import { columnsOf, quantile, timesOf } from './oneAfterAnother.ts';
import { atMost, type Report, STOLEN, StealMeter } from './report.ts';

const FILLED = { 'read.db': 1_600, 'idempotency.db': 500 } as const;
const MEGABYTE = 1_000_000;
const BLOB_BYTES = 1_000_000;
const ORDERS = 500;
const QUIET_ROUNDS = 3;
const MOST_TIMES = 1.3;
const MOST_SECONDS = 900;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const target = mkdtempSync(join(tmpdir(), 'bench-backup-'));
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) });
    const market = await makeMarket(server);
    const first = await makeTrader(server);
    await server.stop();
    for (const [name, megabytes] of Object.entries(FILLED)) fill(join(server.dataDir, name), megabytes);
    await server.start();
    const trader = first.reconnected();
    await timesOf(trader, market, ORDERS);
    const steal = new StealMeter();
    const quiet: number[] = [];
    for (let round = 0; round < QUIET_ROUNDS; round++) quiet.push(...(await timesOf(trader, market, ORDERS)));
    const whole = await beside(server, target, () => timesOf(trader, market, ORDERS));
    for (let round = 0; round < QUIET_ROUNDS; round++) quiet.push(...(await timesOf(trader, market, ORDERS)));
    const next = await beside(server, target, () => timesOf(trader, market, ORDERS));
    const bytes = sizeOf(server.dataDir);
    assert(bytes >= 2000 * MEGABYTE, 'bench: the directory has two gigabytes');
    const row = (backup: string, times: readonly number[], seconds: number | string) => ({
      backup,
      seconds,
      ...columnsOf(times),
    });
    return {
      bench: 'backup',
      settings: `two shards, ${Math.round(bytes / MEGABYTE)} MB, one order after the other, 40 MB a second`,
      rows: [
        row('none', quiet, ''),
        row('the first', whole.times, whole.seconds.toFixed(1)),
        { ...row('the second', next.times, next.seconds.toFixed(1)), [STOLEN]: steal.percent() },
      ],
      goals: [
        atMost(
          'p99 beside the first backup / without',
          quantile(whole.times, 0.99) / quantile(quiet, 0.99),
          MOST_TIMES,
        ),
        atMost('seconds of the first backup', whole.seconds, MOST_SECONDS),
      ],
    };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    rmSync(target, { recursive: true, force: true });
  }
}

/** Adds a table that nothing reads. */
function fill(path: string, megabytes: number): void {
  const db = new Database(path);
  db.exec('CREATE TABLE filled (bytes BLOB)');
  const insert = db.prepare(`INSERT INTO filled VALUES (randomblob(${BLOB_BYTES}))`);
  for (let count = 0; count < megabytes; count++) insert.run();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Repeats `work` until a backup is finished. */
async function beside(server: TestServer, target: string, work: () => Promise<number[]>) {
  const program = ['--import', './shared/base/keptSources.mjs', 'engine/admin/main.ts'];
  const args = [...program, 'backup', target, '--data', server.dataDir];
  const startMs = performance.now();
  const backup: ChildProcess = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  let seconds = 0;
  const ended = once(backup, 'exit').then(([code]) => {
    seconds = (performance.now() - startMs) / 1000;
    assert(code === 0, 'bench: the backup is made');
  });
  const times: number[] = [];
  while (seconds === 0) times.push(...(await work()));
  await ended;
  return { times, seconds };
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}
