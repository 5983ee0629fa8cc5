/**
 * The clock by which threads of one process compare how old something is. That of the system may be set back, and
 * something would look newer than it is; the steady one stands still while the machine does.
 *
 * Invariants:
 *   AGECLOCK-1  It never goes back, in whichever threads of the process it is read.
 *   AGECLOCK-2  It moves on by at least what the steady clock does, and is never behind that of the system, but for the
 *               rounding.
 */
import { type Clock, steadyMs, systemClock } from '../base/clock.ts';

/** `timeMs` as that of the system, `nowMs` steady; the same two in all threads. */
type Times = { timeMs(): number; nowMs(): number };

const OF_PROCESS: Times = { timeMs: systemClock.nowMs, nowMs: steadyMs };

export class AgeClock implements Clock {
  /** The most by which the system's clock was seen ahead of the steady one, of all threads; 0 at first. */
  readonly #ahead: BigInt64Array;
  readonly #times: Times;

  /** @param ahead a shared cell, and nothing else */
  constructor(ahead: BigInt64Array, times: Times = OF_PROCESS) {
    this.#ahead = ahead;
    this.#times = times;
  }

  nowMs(): number {
    // In this order: what comes between the two readings makes the difference smaller, and so changes nothing.
    const timeMs = this.#times.timeMs();
    const nowMs = Math.floor(this.#times.nowMs());
    return nowMs + this.#raise(Math.floor(timeMs - nowMs));
  }

  /** AGECLOCK-1. @returns the greater of this and what was seen before */
  #raise(ahead: number): number {
    for (;;) {
      const seen = Atomics.load(this.#ahead, 0);
      if (Number(seen) >= ahead || Atomics.compareExchange(this.#ahead, 0, seen, BigInt(ahead)) === seen) {
        return Math.max(Number(seen), ahead);
      }
    }
  }
}
