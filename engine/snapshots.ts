/**
 * Thread entry of the snapshot maker: looks now and then whether a shard has journaled enough for a new snapshot, so
 * matching never pauses for one. It may die at any moment: files that are not finished have another name.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../shared/assert.ts';
import { NICE_IDLER, stepBack } from '../shared/background.ts';
import type { SnapshotOptions } from '../shared/threads.ts';
import { SnapshotMaker } from './snapshotMaker.ts';

const LOOK_EVERY_MS = 500;

assert(parentPort !== null, 'snapshots: runs as a worker thread');
stepBack(NICE_IDLER);
const maker = new SnapshotMaker(workerData as SnapshotOptions);
const sleeper = new Int32Array(new SharedArrayBuffer(4));
for (let isStopping = false; !isStopping; ) {
  isStopping = receiveMessageOnPort(parentPort)?.message === 'stop';
  maker.look(isStopping);
  if (!isStopping) Atomics.wait(sleeper, 0, 0, LOOK_EVERY_MS);
}
