/**
 * The numbers by which a page of `browse` is sorted (RULES.md 12.34), as the function `event_rank` in SQL: the highest
 * comes first. They are sums over the markets of an event. Runs in a thread of the query pool.
 *
 * Invariant:
 *   EVENTRANKS-1  The catalogue is read once in KEPT_MS for each order at most, however often pages are asked for.
 */
import type Database from 'better-sqlite3';
import type { BrowseSort } from '../../shared/api/browse.ts';
import { MARKET_STATUS, MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';

/** As old as the volumes that lists of markets are sorted by. */
export const KEPT_MS = 30_000;
/** The present hour counts as a whole one. */
const HOURS = 24;
/** A time that is before every other one has the highest rank. */
const LATEST_MS = 2 ** 48;

const LIVE = [MARKET_STATUS.ACTIVE, MARKET_STATUS.LOCKED, MARKET_STATUS.RESOLVING];
const LIVE_NAMES = LIVE.map((status) => `'${MARKET_STATUS_NAMES[status]}'`).join(', ');

type Row = { readonly event: bigint; readonly rank: bigint };
type Ranks = ReadonlyMap<number, bigint>;
type Ranked = Exclude<BrowseSort, 'start' | 'new'>;

/** `$sinceMs` is the start of the first of the 24 hours. */
const SQL: Readonly<Record<Ranked, string>> = {
  trending: `
    SELECT event, sum(candles.volume_micro) AS rank
    FROM candles CROSS JOIN catalog_markets ON catalog_markets.market = candles.market
    WHERE span_ms = ${HOUR_MS} AND candles.start_ms >= $sinceMs AND event IS NOT NULL GROUP BY event`,
  volume: `
    SELECT event, sum(volume_micro) AS rank FROM catalog_markets
    WHERE event IS NOT NULL GROUP BY event`,
  ending: `
    SELECT event, ${LATEST_MS} - min(end_ms) AS rank FROM catalog_markets
    WHERE event IS NOT NULL AND status IN (${LIVE_NAMES}) GROUP BY event`,
};
const NONE: Ranks = new Map();

export class EventRanks {
  readonly #statements: Readonly<Record<Ranked, Database.Statement<{ sinceMs: number }, Row>>>;
  readonly #kept = new Map<Ranked, { readonly readMs: number; readonly ranks: Ranks }>();
  #taken = NONE;

  constructor(db: Database.Database) {
    const prepared = (sort: Ranked) => db.prepare<{ sinceMs: number }, Row>(SQL[sort]).safeIntegers();
    this.#statements = { trending: prepared('trending'), volume: prepared('volume'), ending: prepared('ending') };
    db.function('event_rank', (event) => this.#taken.get(Number(event)) ?? 0n);
  }

  /** The next statement sorts by these ranks. EVENTRANKS-1 */
  take(sort: BrowseSort, nowMs: number): void {
    if (sort === 'start' || sort === 'new') return;
    const kept = this.#kept.get(sort);
    const isFresh = kept !== undefined && nowMs >= kept.readMs && nowMs < kept.readMs + KEPT_MS;
    this.#taken = isFresh ? kept.ranks : this.#read(sort, nowMs);
  }

  #read(sort: Ranked, nowMs: number): Ranks {
    const sinceMs = bucketOf(nowMs, HOUR_MS) - (HOURS - 1) * HOUR_MS;
    const ranks = new Map(this.#statements[sort].all({ sinceMs }).map(({ event, rank }) => [Number(event), rank]));
    this.#kept.set(sort, { readMs: nowMs, ranks });
    return ranks;
  }
}
