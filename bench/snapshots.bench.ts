/**
 * How much do snapshots slow matching down? The shard's own flow (engine and journal in one thread, a commit per full
 * batch) over the standard stream, from an empty directory each time: in turns alone and beside the snapshot thread,
 * which is the real one (engine/snapshot/main.ts) at the cadence the gateway gives it.
 *
 * On a small or busy machine a thread waits for a processor much of the time, which has nothing to do with its work.
 * The kernel reports that wait (schedstat), so the goal compares the speeds without it, the best of each; the table has
 * the plain ones beside them.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Journal } from '../engine/journal/journal.ts';
import { listSnapshots } from '../engine/snapshot/snapshot.ts';
import { assert } from '../shared/base/assert.ts';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { Progress } from '../shared/wire/progress.ts';
import type { SnapshotAlarm, SnapshotOptions } from '../shared/wire/threads.ts';
import { TEST_KEY, TEST_SECRET } from '../test/support/journalKey.ts';
import { type CommandTape, encodeStream } from './commandTape.ts';
import { EngineRun } from './matchingEngine.ts';
import { atLeast, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { generateStream, STREAMS } from './workload.ts';

const PAIRS = 2;
/** Long enough for the thread to complete a snapshot and start the next. */
const COMMANDS = 1_000_000;
const WARM_UP_COMMANDS = 200_000;
/** The interval of the shard. */
const BATCH_COMMANDS = 256;
/** The defaults of SNAPSHOT_EVERY and JOURNAL_KEEP. */
const EVERY_RECORDS = 100_000;
const KEEP_RECORDS = 10_000_000;
const LEAST_RATIO = 0.95;
const SHARD = 0;

export async function run(): Promise<Report> {
  const tape = encodeStream(generateStream(STREAMS[0]));
  await measure(tape, WARM_UP_COMMANDS, false);
  const rows: Row[] = [];
  const rounds: Measured[] = [];
  for (let round = 0; round < 2 * PAIRS; round++) {
    const measured = await measure(tape, COMMANDS, round % 2 === 1);
    rounds.push(measured);
    const { rate, runningRate, snapshots, stolen } = measured;
    rows.push({
      round: snapshots === 0 ? 'alone' : 'beside snapshots',
      'commands/s': rate,
      'without waiting for a processor': runningRate,
      snapshots,
      [STOLEN]: stolen,
    });
  }
  const best = (isBeside: boolean): number =>
    Math.max(...rounds.filter(({ snapshots }) => snapshots > 0 === isBeside).map(({ runningRate }) => runningRate));
  return {
    bench: 'snapshots',
    settings:
      `${COMMANDS.toLocaleString('en')} commands, a synced commit per ${BATCH_COMMANDS}, ` +
      `a snapshot per ${EVERY_RECORDS.toLocaleString('en')} records as far as the thread keeps up`,
    rows,
    goals: [atLeast('beside snapshots / alone, best of each, no waiting', best(true) / best(false), LEAST_RATIO)],
  };
}

type Speed = { readonly rate: number; readonly runningRate: number };
type Measured = Speed & { readonly snapshots: number; readonly stolen: number | string };

async function measure(tape: CommandTape, commands: number, withSnapshots: boolean): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-snapshots-'));
  const journalPath = join(directory, `journal-${SHARD}.db`);
  const journal = Journal.open({ journalPath, journalSync: 'full', shard: SHARD, shards: 1, key: TEST_KEY });
  const buffer = Progress.create(1);
  const worker = withSnapshots ? await startThread(directory, journalPath, buffer) : undefined;
  try {
    const steal = new StealMeter();
    const speed = timeRun(new EngineRun(tape, journal), commands, journal, new Progress(buffer));
    const stolen = steal.percent();
    const newest = listSnapshots(directory, SHARD)[0]?.sequence ?? 0;
    assert(!withSnapshots || newest >= EVERY_RECORDS, 'snapshots: at least one was made meanwhile');
    return { ...speed, snapshots: Math.floor(newest / EVERY_RECORDS), stolen };
  } finally {
    await worker?.terminate();
    journal.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function timeRun(subject: EngineRun, commands: number, journal: Journal, progress: Progress): Speed {
  globalThis.gc?.();
  const waitedBefore = waitedMs();
  const start = performance.now();
  for (let index = 0; index < commands; index++) {
    subject.step(index);
    if (index % BATCH_COMMANDS !== BATCH_COMMANDS - 1) continue;
    journal.commit();
    subject.endBatch();
    progress.setCommitted(SHARD, journal.head.sequence);
  }
  journal.commit();
  const ms = performance.now() - start;
  const waited = waitedMs() - waitedBefore;
  return { rate: (commands / ms) * 1000, runningRate: (commands / (ms - waited)) * 1000 };
}

/** The time for which the main thread was ready to run but had no processor; 0 if the system does not report it. */
function waitedMs(): number {
  try {
    const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}

async function startThread(directory: string, journalPath: string, progress: SharedArrayBuffer): Promise<Worker> {
  const workerData: SnapshotOptions & SnapshotAlarm = {
    journalPaths: [journalPath],
    journalKey: TEST_SECRET,
    directory,
    progress,
    everyRecords: EVERY_RECORDS,
    keepRecords: KEEP_RECORDS,
    hashesInMemory: 2 ** 30,
    alarm: new SharedArrayBuffer(4),
  };
  const url = new URL('../engine/snapshot/main.ts', import.meta.url);
  const worker = new Worker(url, { workerData, execArgv: STRIPPED_BEFORE });
  await once(worker, 'online');
  return worker;
}
