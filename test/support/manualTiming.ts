/** The time of a member that moves only when the test says so (engine/replication/timing.ts). */
import type { Timing } from '../../engine/replication/timing.ts';

type Timer = { readonly atMs: number; readonly run: () => void };

export class ManualTiming implements Timing {
  /** The time by which the system's clock is ahead of the other one. */
  #aheadMs = 0;
  #nowMs: number;
  /** In the order in which they are due. */
  #timers: Timer[] = [];

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  timeMs(): number {
    return this.#nowMs + this.#aheadMs;
  }

  /** The clock of the system is set to another time. */
  set(byMs: number): void {
    this.#aheadMs += byMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#add(ms, resolve));
  }

  every(periodMs: number, run: () => void): () => void {
    let isEnded = false;
    const turn = (): void => {
      if (isEnded) return;
      this.#add(periodMs, turn);
      run();
    };
    this.#add(periodMs, turn);
    return () => {
      isEnded = true;
    };
  }

  /** Lets time pass at once: due timers fire in order. @returns true if any timer was due. */
  advance(byMs: number): boolean {
    const endMs = this.#nowMs + byMs;
    let hasRun = false;
    while (this.#timers.length > 0 && this.#timers[0]!.atMs <= endMs) {
      const { atMs, run } = this.#timers.shift()!;
      this.#nowMs = Math.max(this.#nowMs, atMs);
      run();
      hasRun = true;
    }
    this.#nowMs = endMs;
    return hasRun;
  }

  #add(afterMs: number, run: () => void): void {
    const timer = { atMs: this.#nowMs + afterMs, run };
    const place = this.#timers.findIndex(({ atMs }) => atMs > timer.atMs);
    this.#timers.splice(place < 0 ? this.#timers.length : place, 0, timer);
  }
}

/** Resolves after all pending promises. */
export function promisesKept(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
