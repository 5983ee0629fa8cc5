/**
 * Measures how long requests block the gateway thread at a time. A request has one such turn when it arrives, one when
 * its body is complete, and one for each piece of a long answer.
 * Owner: the gateway thread. A turn costs a reading of the clock and a lookup.
 */
import { microsecondsOf, nowPreciseMs, secondsBetween } from '../../shared/base/stopwatch.ts';
import type { RouteSpec } from './spec.ts';

/** Upper bounds of the buckets. No request may block the thread longer than two milliseconds. */
export const TURN_BOUNDS_MS: readonly number[] = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 250, 1000];

/** The longest turn of a route is reported for at least this long, so that no scrape misses it. */
const WINDOW_MS = 60_000;

type Worst = Map<RouteSpec | null, number>;

export class TurnTimes {
  /** Turns by bucket; turns above all bounds are in the last cell. */
  readonly counts = new Float64Array(TURN_BOUNDS_MS.length + 1);
  totalMs = 0;
  /** The longest turn of each route in this window and in the one before. */
  #worst: Worst = new Map();
  #worstBefore: Worst = new Map();
  #windowEndMs = 0;

  /** @param startedUs when the turn began, by nowUs */
  end(route: RouteSpec | null, startedUs: number): void {
    const nowMs = nowPreciseMs();
    const tookMs = secondsBetween(startedUs, microsecondsOf(nowMs)) * 1000;
    let bucket = 0;
    while (bucket < TURN_BOUNDS_MS.length && tookMs > TURN_BOUNDS_MS[bucket]) bucket++;
    this.counts[bucket]++;
    this.totalMs += tookMs;
    this.note(route, tookMs, nowMs);
  }

  /** Records a turn that took this long. */
  note(route: RouteSpec | null, tookMs: number, nowMs = nowPreciseMs()): void {
    if (nowMs >= this.#windowEndMs) this.#startWindow(nowMs);
    if (tookMs > (this.#worst.get(route) ?? 0)) this.#worst.set(route, tookMs);
  }

  /** The longest turn of each route in the last minute or two. */
  forEachWorst(report: (route: RouteSpec | null, tookMs: number) => void): void {
    this.#startWindowIfDue();
    for (const route of new Set([...this.#worst.keys(), ...this.#worstBefore.keys()])) {
      report(route, Math.max(this.#worst.get(route) ?? 0, this.#worstBefore.get(route) ?? 0));
    }
  }

  #startWindowIfDue(): void {
    const nowMs = nowPreciseMs();
    if (nowMs >= this.#windowEndMs) this.#startWindow(nowMs);
  }

  #startWindow(nowMs: number): void {
    const isNext = nowMs < this.#windowEndMs + WINDOW_MS;
    this.#worstBefore = isNext ? this.#worst : new Map();
    this.#worst = new Map();
    this.#windowEndMs = nowMs + WINDOW_MS;
  }
}
