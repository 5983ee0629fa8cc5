/**
 * The clock by which threads of one process compare ages. The system clock may be set back, and then data would look
 * newer than they are; the steady clock stands still while the machine sleeps.
 *
 * Invariants:
 *   AGECLOCK-1  The clock never goes back, in whichever threads of the process it is read.
 *   AGECLOCK-2  The clock advances at least as much as the steady clock, and is never behind the system clock, except
 *               for rounding.
 */
import { type Clock, steadyMs, systemClock } from '../base/clock.ts';

/** `timeMs` reads the system clock, `nowMs` the steady clock; both are the same in all threads. */
type Times = { timeMs(): number; nowMs(): number };

const OF_PROCESS: Times = { timeMs: systemClock.nowMs, nowMs: steadyMs };

export class AgeClock implements Clock {
  /** The most by which any thread has seen the system clock ahead of the steady one; 0 at first. */
  readonly #ahead: BigInt64Array;
  readonly #times: Times;

  /** @param ahead a shared cell that is used for nothing else */
  constructor(ahead: BigInt64Array, times: Times = OF_PROCESS) {
    this.#ahead = ahead;
    this.#times = times;
  }

  nowMs(): number {
    // In this order: a delay between the two readings makes the difference smaller, and so changes nothing.
    const timeMs = this.#times.timeMs();
    const nowMs = Math.floor(this.#times.nowMs());
    return nowMs + this.#raise(Math.floor(timeMs - nowMs));
  }

  /** AGECLOCK-1. @returns the greater of this and the value seen before */
  #raise(ahead: number): number {
    for (;;) {
      const seen = Atomics.load(this.#ahead, 0);
      if (Number(seen) >= ahead || Atomics.compareExchange(this.#ahead, 0, seen, BigInt(ahead)) === seen) {
        return Math.max(Number(seen), ahead);
      }
    }
  }
}
