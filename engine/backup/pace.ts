/**
 * Limits the rate at which a backup reads and writes, so that disk and processors remain free for orders, and reports
 * the progress. Bursts of a few megabytes alternate with waits.
 */
import { performance } from 'node:perf_hooks';

type PaceOptions = {
  /** Bytes of the data directory to read per second; Infinity: no limit. */
  readonly bytesPerSecond: number;
  /** Called about once a second. */
  readonly onProgress: (doneBytes: number) => void;
};

const REPORT_MS = 1000;
/** Shorter waits are added to the next one. */
const LEAST_WAIT_MS = 5;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export class Pace {
  doneBytes = 0;
  readonly #options: PaceOptions;
  /** The time at which the bytes so far were allowed to be read. */
  #dueMs = performance.now();
  #reportMs = performance.now() + REPORT_MS;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Counts bytes that were read. Blocks the thread, which has nothing else to do, until the next bytes are due. */
  took(bytes: number): void {
    const { bytesPerSecond, onProgress } = this.#options;
    this.doneBytes += bytes;
    const nowMs = performance.now();
    if (nowMs >= this.#reportMs) {
      this.#reportMs = nowMs + REPORT_MS;
      onProgress(this.doneBytes);
    }
    if (!Number.isFinite(bytesPerSecond)) return;
    // Unused time does not count: no burst follows a pause.
    this.#dueMs = Math.max(this.#dueMs, nowMs - LEAST_WAIT_MS) + (bytes / bytesPerSecond) * 1000;
    const waitMs = this.#dueMs - nowMs;
    if (waitMs >= LEAST_WAIT_MS) Atomics.wait(sleeper, 0, 0, waitMs);
  }
}
