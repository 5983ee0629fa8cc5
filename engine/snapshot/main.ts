/**
 * Entry point of the snapshot thread: makes a snapshot of each shard that has journaled enough since its last one, so
 * that matching never pauses for it. The thread may be killed at any moment, because an unfinished file has a temporary
 * name. The thread is started only when a snapshot may be due (shared/wire/snapshotsDue.ts), since many runs never need
 * one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import type { SnapshotAlarm, SnapshotOptions } from '../../shared/wire/threads.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { SnapshotMaker } from './maker.ts';

const LOOK_EVERY_MS = 500;

assert(parentPort !== null, 'snapshot thread: runs as a worker thread');
const options: SnapshotOptions & SnapshotAlarm = workerData;
const alarm = new Int32Array(options.alarm);
// A thread that is started for the last snapshots delays no orders, and the stop waits for it.
if (Atomics.load(alarm, 0) === 0) stepBack(NICE_IDLER);
const maker = new SnapshotMaker(await ShardKey.forAll(options), undefined, (news) => parentPort?.postMessage(news));
for (let isStopping = false; !isStopping; ) {
  isStopping = receiveMessageOnPort(parentPort)?.message === 'stop';
  maker.makeDue(isStopping);
  if (!isStopping) Atomics.wait(alarm, 0, 0, LOOK_EVERY_MS);
  // Lets finalizers of native objects and V8's own tasks run.
  await nextTurn();
}
