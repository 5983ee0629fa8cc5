/**
 * How fast does one thread match? Each subject runs in a thread of its own, started like that of a shard:
 *
 *   core     book, ledger and matcher (matchingCore.ts lists the parts)
 *   engine   everything except signatures and journal (matchingEngine.ts): the subject of the goals
 *   scale    the engine over many markets and with many resting orders (matchingScale.ts)
 *   peer     nodejs-order-book on the same stream in the same run (matchingPeer.ts)
 *
 * The engine runs once more in a thread that strips types itself: if that is as fast, shared/base/stripTypes.ts is no
 * longer needed.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { TAPE_ACCOUNTS, TAPE_FEE_BPS } from './commandTape.ts';
import type { Measured, SubjectName } from './matchingThread.ts';
import { atLeast, atMost, type Goal, type Report } from './report.ts';

/**
 * The goals of a subject on `w`. Only the ratios compare two machines, or a busy one with a quiet one: the peer and the
 * core run in the same minutes.
 */
const GOALS = {
  core: { operationsPerSecond: 5_000_000, timesPeer: 40 },
  engine: { operationsPerSecond: 1_500_000, timesPeer: 10 },
} as const;
/** Checks, hash index, digest and events together take at most three times as long as the core that they surround. */
const LEAST_SHARE_OF_CORE = 0.25;
const LEAST_DEPTH_RATIO = 0.5;
const MOST_P99_US = 1;
/** No command allocates anything. The rest are tables that double, mostly the hash index. */
const MOST_BYTES_PER_OPERATION = 1;

const LEGEND = [
  'core: matching core: book, queues, fills, order rows, ledger; no hash index, no events, no crypto, no journal',
  'engine: whole engine, that is core, checks, hash index, digest, events; no crypto, no journal',
  'scale: the engine by markets and resting orders, 150,000 operations a run on one long-lived state',
  'peer: nodejs-order-book, a book without accounts, fees, states or events',
];

export async function run(): Promise<Report> {
  const core = await measure('core', STRIPPED_BEFORE);
  const engine = await measure('engine', STRIPPED_BEFORE);
  const scale = await measure('scale', STRIPPED_BEFORE);
  const stripping = await measure('engine', []);
  const peer = await measure('peer', STRIPPED_BEFORE);
  return {
    bench: 'matching',
    settings:
      `1,000,000 operations, ${TAPE_ACCOUNTS} accounts, fee ${TAPE_FEE_BPS} bps, collateral on, best of 5 books; ` +
      `totals and every trade as known; latency with a clock read around each operation\n  ${LEGEND.join('\n  ')}`,
    rows: [
      ...core.map((row) => ({ subject: 'core', ...row })),
      ...engine.map((row) => ({ subject: 'engine', ...row })),
      ...scale.map((row) => ({ subject: 'scale', ...row })),
      ...stripping.map((row) => ({ subject: 'engine, strips', ...row })),
      ...peer.map((row) => ({ subject: 'peer', ...row })),
    ],
    goals: [
      ...goalsOf('engine', engine, peer[0]),
      atLeast('engine, w: share of the core', engine[0]['best ops/s'] / core[0]['best ops/s'], LEAST_SHARE_OF_CORE),
      ...goalsOf('core', core, peer[0]),
    ],
  };
}

function goalsOf(subject: keyof typeof GOALS, [w, deep]: readonly Measured[], peer: Measured): Goal[] {
  const best = w['best ops/s'];
  const { operationsPerSecond, timesPeer } = GOALS[subject];
  return [
    atLeast(`${subject}, w: operations/s`, best, operationsPerSecond),
    atLeast(`${subject}, w: times nodejs-order-book`, best / peer['best ops/s'], timesPeer),
    atLeast(`${subject}: deep / w`, deep['best ops/s'] / best, LEAST_DEPTH_RATIO),
    atMost(`${subject}, w: p99 us`, w['p99 us'], MOST_P99_US),
    atMost(`${subject}, deep: p99 us`, deep['p99 us'], MOST_P99_US),
    atMost(`${subject}, w: heap bytes per operation`, w['bytes/op'], MOST_BYTES_PER_OPERATION),
    atMost(`${subject}, deep: heap bytes per operation`, deep['bytes/op'], MOST_BYTES_PER_OPERATION),
  ];
}

async function measure(subject: SubjectName, execArgv: string[]): Promise<Measured[]> {
  const worker = new Worker(new URL('./matchingThread.ts', import.meta.url), { workerData: subject, execArgv });
  const [rows] = (await once(worker, 'message')) as [Measured[]];
  return rows;
}
