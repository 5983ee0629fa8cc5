/**
 * Time as an argument: the system clock in production, a hand-moved one in tests. Milliseconds since the Unix epoch.
 */
export type Clock = { nowMs(): number };

export const systemClock: Clock = { nowMs: () => Date.now() };

export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advance(byMs: number): void {
    this.#nowMs += byMs;
  }
}
