/**
 * Thread entry: notifies the sending thread when a request is due. A timer of the event loop has a resolution of a
 * millisecond, and a polling loop would occupy a core of the server; this thread sleeps to the microsecond.
 */
import { workerData } from 'node:worker_threads';
import { type PacerOptions, READY } from './pacerOptions.ts';

const { cell, count, intervalMs } = workerData as PacerOptions;
const words = new Int32Array(cell);
const sleeper = new Int32Array(new SharedArrayBuffer(4));
Atomics.store(words, 1, READY);
Atomics.notify(words, 1);
Atomics.wait(words, 1, READY);
const start = performance.now();
for (let due = 1; due <= count; ) {
  const waitMs = start + (due - 1) * intervalMs - performance.now();
  if (waitMs > 0) Atomics.wait(sleeper, 0, 0, waitMs);
  // After oversleeping, all requests that are due are counted.
  due = Math.max(due, Math.min(count, Math.floor((performance.now() - start) / intervalMs) + 1));
  Atomics.store(words, 0, due);
  Atomics.notify(words, 0);
  due++;
}
