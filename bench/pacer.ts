/**
 * Thread entry: notifies the sending thread when a request is due. A timer of the event loop has a resolution of a
 * millisecond, and a polling loop would occupy a core of the server; this thread sleeps to the microsecond.
 */
import { readlinkSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { workerData } from 'node:worker_threads';
import { DUE, type PacerOptions, READY, STATE } from './pacerOptions.ts';

const { cell, count, intervalMs } = workerData as PacerOptions;
const words = new Int32Array(cell);
const sleeper = new Int32Array(new SharedArrayBuffer(4));
exactSleep();
Atomics.store(words, STATE, READY);
Atomics.notify(words, STATE);
Atomics.wait(words, STATE, READY);
const startNs = new BigInt64Array(cell)[1];

/** Time since the start, which is in the future at first. */
function elapsedMs(): number {
  return Number(process.hrtime.bigint() - startNs) / 1e6;
}

for (let due = 1; due <= count; ) {
  const waitMs = (due - 1) * intervalMs - elapsedMs();
  if (waitMs > 0) Atomics.wait(sleeper, 0, 0, waitMs);
  // After oversleeping, all due requests are counted.
  due = Math.max(due, Math.min(count, Math.floor(elapsedMs() / intervalMs) + 1));
  Atomics.store(words, DUE, due);
  Atomics.notify(words, DUE);
  due++;
}

/** Linux wakes a thread up to 50 us late, in order to wake several at once, unless the thread asks for less. */
function exactSleep(): void {
  try {
    writeFileSync(`/proc/${basename(readlinkSync('/proc/thread-self'))}/timerslack_ns`, '1000');
  } catch {
    // On other systems, and if /proc is not writable, notifications come a little later.
  }
}
