/**
 * Measures the delay of the event loop of the gateway thread: how late each tick of a timer is. Everything that blocks
 * the thread makes it late.
 * Owner: the gateway thread.
 */
import { DURATION_BOUNDS_SEC, Histogram } from '../../shared/base/histogram.ts';

/** Short enough to meet most stalls, long enough to cost nothing. */
const EVERY_MS = 20;

export class LoopDelay {
  readonly delaySec = new Histogram(DURATION_BOUNDS_SEC);
  #timer: NodeJS.Timeout | undefined;
  #dueMs = 0;

  start(): void {
    this.#dueMs = performance.now() + EVERY_MS;
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The seconds that the loop has worked, and the seconds that it has waited. */
  get use(): { readonly activeSec: number; readonly idleSec: number } {
    const { active, idle } = performance.eventLoopUtilization();
    return { activeSec: active / 1000, idleSec: idle / 1000 };
  }

  #tick(): void {
    const nowMs = performance.now();
    this.delaySec.observe(Math.max(nowMs - this.#dueMs, 0) / 1000);
    this.#dueMs = nowMs + EVERY_MS;
  }
}
