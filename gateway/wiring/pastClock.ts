/** The clock of a demo's first start: it begins in the past, is moved forward by hand, and is the machine's at last. */
import { assert } from '../../shared/base/assert.ts';
import { type Clock, systemClock } from '../../shared/base/clock.ts';

export class PastClock implements Clock {
  /** Null since the present. */
  #pastMs: number | null;

  constructor(startMs: number) {
    this.#pastMs = startMs;
  }

  nowMs(): number {
    return this.#pastMs ?? systemClock.nowMs();
  }

  /** Records are in the order of their times: the clock only goes forward, and not beyond the present. */
  moveTo(timeMs: number): void {
    assert(this.#pastMs !== null && timeMs >= this.#pastMs, 'past clock: it goes forward until it is the present');
    this.#pastMs = Math.min(timeMs, systemClock.nowMs());
  }

  /** From now on it is the clock of the machine. */
  arrive(): void {
    this.#pastMs = null;
  }
}
