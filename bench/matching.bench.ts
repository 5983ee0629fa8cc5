/**
 * How fast does one thread match? Two subjects on the same streams, each in a thread of its own that is started like a
 * shard's: the matching core with its money (matchingCore.ts says what is in it and what is not), and the whole
 * engine without keys and journal (matchingEngine.ts). The engine runs once more in a thread that strips types by
 * itself: when that is as fast as the other, shared/stripTypes.ts has nothing to do.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../shared/stripTypes.ts';
import { TAPE_ACCOUNTS, TAPE_FEE_BPS } from './commandTape.ts';
import type { Measured, SubjectName } from './matchingThread.ts';
import { atLeast, atMost, type Goal, type Report } from './report.ts';

const LEAST_CORE_OPERATIONS_PER_SECOND = 3_000_000;
const LEAST_DEPTH_RATIO = 0.5;
const MOST_P999_US = 5;
const MOST_BYTES_PER_OPERATION = 1;

const LEGEND = [
  'core: matching core: book, queues, fills, order rows, ledger; no hash index, no events, no crypto, no journal',
  'engine: whole engine, that is core, checks, hash index, digest, events; no crypto, no journal',
  'bytes/op of the core are the bigints of the balance cells that all shards share',
];

export async function run(): Promise<Report> {
  const core = await measure('core', STRIPPED_BEFORE);
  const engine = await measure('engine', STRIPPED_BEFORE);
  const stripping = await measure('engine', []);
  const goals: Goal[] = [];
  for (const { stream, ...of } of core) {
    goals.push(atLeast(`${stream}, core: operations/s`, of['best ops/s'], LEAST_CORE_OPERATIONS_PER_SECOND));
    goals.push(atMost(`${stream}, core: p99.9 us`, of['p99.9 us'], MOST_P999_US));
    goals.push(atMost(`${stream}, core: heap bytes per operation`, of['bytes/op'], MOST_BYTES_PER_OPERATION));
  }
  goals.push(atLeast('core: deep / w', core[1]['best ops/s'] / core[0]['best ops/s'], LEAST_DEPTH_RATIO));
  goals.push(atLeast('engine: deep / w', engine[1]['best ops/s'] / engine[0]['best ops/s'], LEAST_DEPTH_RATIO));
  return {
    bench: 'matching',
    settings:
      `1,000,000 operations, ${TAPE_ACCOUNTS} accounts, fee ${TAPE_FEE_BPS} bps, collateral on, best of 5 books; ` +
      `totals and every trade as known; latency with a clock read around each operation\n  ${LEGEND.join('\n  ')}`,
    rows: [
      ...core.map((row) => ({ subject: 'core', ...row })),
      ...engine.map((row) => ({ subject: 'engine', ...row })),
      ...stripping.map((row) => ({ subject: 'engine, strips', ...row })),
    ],
    goals,
  };
}

async function measure(subject: SubjectName, execArgv: string[]): Promise<Measured[]> {
  const worker = new Worker(new URL('./matchingThread.ts', import.meta.url), { workerData: subject, execArgv });
  const [rows] = (await once(worker, 'message')) as [Measured[]];
  return rows;
}
