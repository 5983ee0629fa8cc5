/**
 * Projection of the trading of categories by day (shared/tables/categoryDays.ts). A market counts for its present
 * category in the catalogue: if that changes, all its days move. Owner: the projector thread.
 *
 * Invariants:
 *   CATEGORYDAYS-1  After `flush` the volume of a category on a day is that of the candles of its markets, and its
 *                   number of markets is that of the markets that traded last on this day.
 *   CATEGORYDAYS-2  A row has a volume or markets.
 */
import type Database from 'better-sqlite3';
import { bucketOf, DAY_MS } from '../../shared/tables/buckets.ts';
import { CATEGORY_DAYS } from '../../shared/tables/categoryDays.ts';
import { insert, type NewRowOf } from '../../shared/tables/table.ts';

type Change = { readonly category: string; readonly day_ms: number; volume_micro: bigint; markets: number };
type MarketDay = { readonly day_ms: bigint; readonly volume_micro: bigint };

export class CategoryDays {
  /** By market, of those that the catalogue describes. */
  readonly #categories = new Map<number, string>();
  /** By market: the day of its last trade. */
  readonly #lastDays = new Map<number, number>();
  /** Since the last flush, by category and day. */
  readonly #changes = new Map<string, Change>();
  readonly #add: Database.Statement<[NewRowOf<typeof CATEGORY_DAYS>]>;
  readonly #drop: Database.Statement<[number, string]>;
  readonly #daysOf: Database.Statement<[number], MarketDay>;

  constructor(db: Database.Database) {
    this.#add = db.prepare(`${insert(CATEGORY_DAYS)}
      ON CONFLICT DO UPDATE SET volume_micro = volume_micro + excluded.volume_micro,
        markets = markets + excluded.markets`);
    this.#drop = db.prepare(
      'DELETE FROM category_days WHERE day_ms = ? AND category = ? AND volume_micro = 0 AND markets = 0',
    );
    this.#daysOf = db
      .prepare<[number], MarketDay>(
        `SELECT start_ms AS day_ms, volume_micro FROM candles WHERE market = ? AND span_ms = ${DAY_MS}`,
      )
      .safeIntegers();
    const described = db.prepare<[], { market: number; category: string }>(
      'SELECT market, category FROM catalog_markets',
    );
    for (const { market, category } of described.iterate()) this.#categories.set(market, category);
    const traded = db.prepare<[], { market: number; last: number }>(
      'SELECT market, last_trade_ms AS last FROM market_stats WHERE last_trade_ms > 0',
    );
    for (const { market, last } of traded.iterate()) this.#lastDays.set(market, bucketOf(last, DAY_MS));
  }

  traded(market: number, volumeMicro: number, timeMs: number): void {
    const day = bucketOf(timeMs, DAY_MS);
    const before = this.#lastDays.get(market);
    this.#lastDays.set(market, day);
    const category = this.#categories.get(market);
    if (category === undefined) return;
    const change = this.#change(category, day);
    change.volume_micro += BigInt(volumeMicro);
    if (before === day) return;
    change.markets++;
    if (before !== undefined) this.#change(category, before).markets--;
  }

  /** The catalogue describes the market so. Called between batches, when candles have all that was followed. */
  describe(market: number, category: string): void {
    const before = this.#categories.get(market);
    if (before === category) return;
    this.#categories.set(market, category);
    const last = this.#lastDays.get(market);
    if (last === undefined) return;
    for (const { day_ms, volume_micro } of this.#daysOf.all(market)) {
      this.#change(category, Number(day_ms)).volume_micro += volume_micro;
      if (before !== undefined) this.#change(before, Number(day_ms)).volume_micro -= volume_micro;
    }
    this.#change(category, last).markets++;
    if (before !== undefined) this.#change(before, last).markets--;
  }

  /** The catalogue begins again, and the table is empty. */
  clear(): void {
    this.#categories.clear();
  }

  flush(): void {
    for (const change of this.#changes.values()) {
      this.#add.run(change);
      if (change.volume_micro <= 0n) this.#drop.run(change.day_ms, change.category);
    }
    this.#changes.clear();
  }

  #change(category: string, day_ms: number): Change {
    const key = `${day_ms}/${category}`;
    let change = this.#changes.get(key);
    if (change === undefined) {
      change = { category, day_ms, volume_micro: 0n, markets: 0 };
      this.#changes.set(key, change);
    }
    return change;
  }
}
