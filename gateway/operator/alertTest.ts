/**
 * Tests the way from a metric to the person on call: for a while a metric says 1, and the alert TestAlert of
 * data/deploy rings (RULES.md 9.61). A restart ends the test.
 * Owner: the gateway thread.
 */

/** Long enough for a scrape, an evaluation and the wait of a group. */
const RINGS_MS = 120_000;

export class AlertTest {
  #untilMs = 0;

  /** @returns the time at which the test ends */
  begin(nowMs: number): number {
    this.#untilMs = nowMs + RINGS_MS;
    return this.#untilMs;
  }

  isUnderWay(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }
}
