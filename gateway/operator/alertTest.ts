/**
 * A test of the way from a metric to the person on call: for a while a metric says 1, and the alert TestAlert of
 * data/deploy rings (RULES.md 9.61). A restart ends it.
 * Owner: the gateway thread.
 */

/** Long enough for a scrape, an evaluation and the wait of a group. */
const RINGS_MS = 120_000;

export class AlertTest {
  #untilMs = 0;

  /** @returns when it ends */
  begin(nowMs: number): number {
    this.#untilMs = nowMs + RINGS_MS;
    return this.#untilMs;
  }

  isUnderWay(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }
}
