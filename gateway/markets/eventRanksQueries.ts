/**
 * The volumes of 24 hours by which a page of `browse` is sorted (RULES.md 12.34), as the function `event_rank` in SQL;
 * `ranked_events` has the events with any, as JSON. They are sums over the markets of an event. Runs in a thread of the
 * query pool.
 *
 * Invariant:
 *   EVENTRANKS-1  The trading of a day is read once in KEPT_MS at most, however often pages are asked for, and nothing
 *                 of markets without any.
 */
import type Database from 'better-sqlite3';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';

/** As old as the volumes that lists of markets are sorted by. */
export const KEPT_MS = 30_000;
/** The present hour counts as a whole one. */
const HOURS = 24;

type Row = { readonly event: bigint; readonly rank: bigint };
type Ranks = ReadonlyMap<number, bigint>;

/** `$sinceMs` is the start of the first of the 24 hours. */
export const TRENDING_SQL = `
  SELECT event, sum(candles.volume_micro) AS rank
  FROM candles CROSS JOIN catalog_markets ON catalog_markets.market = candles.market
  WHERE span_ms = ${HOUR_MS} AND candles.start_ms >= $sinceMs AND event IS NOT NULL GROUP BY event`;

export class EventRanks {
  readonly #read: Database.Statement<{ sinceMs: number }, Row>;
  #readMs = Number.NEGATIVE_INFINITY;
  #ranks: Ranks = new Map();
  #ranked = '[]';

  constructor(db: Database.Database) {
    this.#read = db.prepare<{ sinceMs: number }, Row>(TRENDING_SQL).safeIntegers();
    db.function('event_rank', (event) => this.#ranks.get(Number(event)) ?? 0n);
    db.function('ranked_events', () => this.#ranked);
  }

  /** The next statement sorts by the ranks of this time. EVENTRANKS-1 */
  take(nowMs: number): void {
    if (nowMs >= this.#readMs && nowMs < this.#readMs + KEPT_MS) return;
    const sinceMs = bucketOf(nowMs, HOUR_MS) - (HOURS - 1) * HOUR_MS;
    this.#ranks = new Map(this.#read.all({ sinceMs }).map(({ event, rank }) => [Number(event), rank]));
    this.#ranked = JSON.stringify([...this.#ranks].filter(([, rank]) => rank > 0n).map(([event]) => event));
    this.#readMs = nowMs;
  }
}
