/**
 * Entry point of the snapshot thread: makes a snapshot of each shard that has journaled enough since its last one, so
 * that matching never pauses for it. The thread may end at any moment: an unfinished file has another name.
 *
 * The engine that replays is loaded when there may be something to replay: many runs never need it.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import { Progress } from '../../shared/wire/progress.ts';
import type { SnapshotAlarm, SnapshotOptions } from '../../shared/wire/threads.ts';
import { rowsDue } from './due.ts';
import type { SnapshotMaker } from './maker.ts';

const LOOK_EVERY_MS = 500;

assert(parentPort !== null, 'snapshot thread: runs as a worker thread');
stepBack(NICE_IDLER);
const options = workerData as SnapshotOptions & SnapshotAlarm;
const progress = new Progress(options.progress);
const alarm = new Int32Array(options.alarm);
let maker: SnapshotMaker | null = null;
for (let isStopping = false; !isStopping; ) {
  isStopping = receiveMessageOnPort(parentPort)?.message === 'stop';
  if (maker === null && mayBeDue(isStopping)) maker = await loadMaker();
  maker?.makeDue(isStopping);
  if (!isStopping) Atomics.wait(alarm, 0, 0, LOOK_EVERY_MS);
}

/** A snapshot holds at most the rows that there are. */
function mayBeDue(isStopping: boolean): boolean {
  const { journalPaths, everyRecords } = options;
  return journalPaths.some((_, shard) => progress.committed(shard) >= rowsDue(everyRecords, isStopping));
}

async function loadMaker(): Promise<SnapshotMaker> {
  const { ShardKey } = await import('../journal/shardKey.ts');
  const { SnapshotMaker } = await import('./maker.ts');
  return new SnapshotMaker(await ShardKey.forAll(options));
}
