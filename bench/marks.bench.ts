/**
 * What do the marks of held rows cost an order (engine/replication/heldMark.ts)? Two leaders, each with a log of its
 * own in one PostgreSQL with two standbys that sync: a normal one, and one that writes no marks (withoutMarks.mjs). A
 * trader places one order after the other on them alternately. Then the syncs that each makes per order are counted.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '../test/support/cluster.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import type { Scope } from '../test/support/server.ts';
import { attachStrace, skipWithoutStrace, straceEnded } from '../test/support/strace.ts';
import { makeMarket, makeTrader } from '../test/support/traders.ts';
import { quantile, timesOf } from './oneAfterAnother.ts';
import { processSeconds } from './processStat.ts';
import { atMost, type Goal, median, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ROUNDS = 16;
const ORDERS = 250;
const WARM_UP = 1000;
const COUNTED = 300;
const MOST_TIMES = 1.05;
const WITHOUT = new URL('./withoutMarks.mjs', import.meta.url).href;

type Side = { readonly name: string; readonly place: (orders: number) => Promise<number[]>; readonly pid: number };
type Taken = { readonly timesMs: number[]; readonly p99s: number[]; seconds: number; syncs: number | string };

export async function run(): Promise<Report> {
  const settings =
    `PostgreSQL, ANY 1 of 2 standbys, all three synced; ${ROUNDS} rounds of ${ORDERS} orders by turns, ` +
    'one after the other; one shard';
  const report = { bench: 'marks', settings, goals: [] };
  if (NO_POSTGRES !== false) return { ...report, rows: [{ what: NO_POSTGRES }] };
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.unshift(cleanUp) };
  try {
    const postgres = await startPostgres(scope, { isSynced: true });
    const start = async (name: string, env: Record<string, string>): Promise<Side> => {
      const settingsOf = { RATE_LIMITS: 'off', JOURNAL_URL: await postgres.database(), ...env };
      const cluster = await startCluster(scope, ['a'], settingsOf);
      const [market, trader] = [await makeMarket(cluster), await makeTrader(cluster, { depositMicro: 1e12 })];
      return { name, place: (orders) => timesOf(trader, market, orders), pid: cluster.leader.pid! };
    };
    const sides = [await start('marks', {}), await start('none', { NODE_OPTIONS: `--import=${WITHOUT}` })];
    return { ...report, ...(await measure(sides)) };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

async function measure(sides: readonly Side[]): Promise<{ rows: Row[]; goals: Goal[] }> {
  for (const { place } of sides) await place(WARM_UP);
  const steal = new StealMeter();
  const taken = new Map<Side, Taken>(sides.map((side) => [side, { timesMs: [], p99s: [], seconds: 0, syncs: '' }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const into = taken.get(side)!;
      const before = processSeconds(side.pid);
      const timesMs = await side.place(ORDERS);
      into.seconds += processSeconds(side.pid) - before;
      into.timesMs.push(...timesMs);
      into.p99s.push(quantile(timesMs, 0.99));
    }
  }
  const stolen = steal.percent();
  if (skipWithoutStrace === false) {
    for (const side of sides) taken.get(side)!.syncs = await syncsOf(side);
  }
  const [marks, none] = sides.map((side) => taken.get(side)!);
  const rows = sides.map((side) => rowOf(side, taken.get(side)!));
  const times = (share: number): number => quantile(marks.timesMs, share) / quantile(none.timesMs, share);
  return {
    rows: rows.map((row) => ({ ...row, [STOLEN]: stolen })),
    goals: [
      atMost('p99 with marks / without', times(0.99), MOST_TIMES),
      atMost('p50 with marks / without', times(0.5), MOST_TIMES),
      atMost(
        'median of rounds, p99 with marks / without',
        median(marks.p99s.map((ms, at) => ms / none.p99s[at])),
        MOST_TIMES,
      ),
      atMost('processor time with marks / without', marks.seconds / none.seconds, MOST_TIMES),
    ],
  };
}

function rowOf({ name }: Side, { timesMs, seconds, syncs }: Taken): Row {
  return {
    marks: name,
    orders: timesMs.length,
    'p50 ms': quantile(timesMs, 0.5),
    'p99 ms': quantile(timesMs, 0.99),
    'processor us': (1e6 * seconds) / timesMs.length,
    'syncs an order': syncs,
  };
}

/** Calls of fsync and fdatasync by all threads, per order; those of a mark come twice a second. */
async function syncsOf({ pid, place }: Side): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-marks-'));
  try {
    const output = join(directory, 'calls');
    const tracer = await attachStrace(pid, ['-e', 'trace=fsync,fdatasync', '-o', output]);
    await place(COUNTED);
    tracer.kill('SIGINT');
    await straceEnded(tracer);
    const calls = readFileSync(output, 'utf8').match(/f(?:data)?sync\(/g) ?? [];
    return calls.length / COUNTED;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
