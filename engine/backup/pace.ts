/**
 * The rate at which a backup reads and writes, so that orders have the disk and the processors beside it, and how far
 * it is. Time is shared between bursts of a few megabytes.
 */
import { performance } from 'node:perf_hooks';

type PaceOptions = {
  /** Bytes of the data directory that are read in a second; Infinity: no limit. */
  readonly bytesPerSecond: number;
  /** Called about once a second. */
  readonly onProgress: (doneBytes: number) => void;
};

const REPORT_MS = 1000;
/** Shorter waits are made up for by the next one. */
const LEAST_WAIT_MS = 5;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export class Pace {
  doneBytes = 0;
  readonly #options: PaceOptions;
  /** When the bytes so far are allowed to have been read. */
  #dueMs = performance.now();
  #reportMs = performance.now() + REPORT_MS;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** So many bytes were read. Blocks the thread, which has nothing else to do, until the next ones are due. */
  took(bytes: number): void {
    const { bytesPerSecond, onProgress } = this.#options;
    this.doneBytes += bytes;
    const nowMs = performance.now();
    if (nowMs >= this.#reportMs) {
      this.#reportMs = nowMs + REPORT_MS;
      onProgress(this.doneBytes);
    }
    if (!Number.isFinite(bytesPerSecond)) return;
    // Time that was not used before does not count: a pause is no reason for a burst.
    this.#dueMs = Math.max(this.#dueMs, nowMs - LEAST_WAIT_MS) + (bytes / bytesPerSecond) * 1000;
    const waitMs = this.#dueMs - nowMs;
    if (waitMs >= LEAST_WAIT_MS) Atomics.wait(sleeper, 0, 0, waitMs);
  }
}
