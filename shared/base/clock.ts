/** Time as an argument, so that tests can move it: milliseconds since the Unix epoch. */
export type Clock = { nowMs(): number };

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Milliseconds that only grow, whatever is set, from a start that all threads of a process share. */
export function steadyMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** More than this between two readings is no time that passed. */
const MOST_BETWEEN_MS = 10_000;

/**
 * Time that only passes, for what is measured in time: a clock that is set does not move it, and neither does the time
 * for which the process or its machine stood still. It has to be read every few seconds.
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
