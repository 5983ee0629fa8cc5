/** Time as an argument, so that tests can move it: milliseconds since the Unix epoch. */
export type Clock = { nowMs(): number };

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Milliseconds that only grow, even if the clock is set, from a start that all threads of a process share. */
export function steadyMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** A longer interval between two readings does not count as time that passed. */
const MOST_BETWEEN_MS = 10_000;

/**
 * A clock for durations: setting the system's clock does not change it, and time for which the process or machine stood
 * still does not count. It must be read every few seconds.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  #readMs: number;
  #steadyMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#readMs = clock.nowMs();
    this.#steadyMs = this.#readMs;
  }

  nowMs(): number {
    const nowMs = this.#clock.nowMs();
    const passedMs = nowMs - this.#readMs;
    this.#readMs = nowMs;
    if (passedMs > 0 && passedMs <= MOST_BETWEEN_MS) this.#steadyMs += passedMs;
    return this.#steadyMs;
  }
}
