/**
 * The SQL of the pulse and of the category spotlight, and of trading in a window by market. All numbers are read from
 * hourly or daily sums, in ranges of fixed length. Runs in the query pool.
 */
import type Database from 'better-sqlite3';
import { bucketOf, DAY_MS, HOUR_MS } from '../../shared/tables/buckets.ts';

export type PulseTask = { readonly nowMs: number };
/** The present hour counts as a whole one: a window of 24 hours is that one and the 23 before it. */
export type PulseSums = {
  /** By hour, oldest first; hours without trades too. */
  readonly hours: readonly { readonly startMs: number; readonly volumeMicro: bigint }[];
  readonly volumeMicro: bigint;
  /** The volume of the 24 hours before those. */
  readonly volumeBeforeMicro: bigint;
  readonly settledTodayMicro: bigint;
  readonly activeTraders: number;
  readonly activeMarkets: number;
  /** The number of active markets at the start of the window. */
  readonly activeMarketsBefore: number;
};

export type CategorySums = {
  readonly category: string;
  readonly volumeMicro: bigint;
  readonly volumeBeforeMicro: bigint;
  readonly markets: number;
};

export type WindowTask = { readonly fromMs: number; readonly toMs: number };

const HOURS = 24;
const WEEK_DAYS = 7;
const MOST_CATEGORIES = 10;

type HourRow = { readonly hour_ms: bigint; readonly volume_micro: bigint; readonly settled_micro: bigint };
type ShardRow = { readonly now: bigint; readonly before: bigint | null };
type CategoryRow = {
  readonly category: string;
  readonly volume_micro: bigint;
  readonly before_micro: bigint;
  readonly market_count: bigint;
};
type MarketRow = { readonly market: bigint; readonly volume_micro: bigint };

export class ExchangeQueries {
  readonly #hours: Database.Statement<[number], HourRow>;
  readonly #traders: Database.Statement<[number], bigint>;
  readonly #shards: Database.Statement<[number], ShardRow>;
  readonly #categories: Database.Statement<{ from: number; before: number }, CategoryRow>;
  readonly #volumes: Database.Statement<[number, number], MarketRow>;

  constructor(db: Database.Database) {
    this.#hours = db
      .prepare<[number], HourRow>(
        `SELECT hour_ms, sum(volume_micro) AS volume_micro, sum(settled_micro) AS settled_micro
         FROM exchange_hours WHERE hour_ms >= ? GROUP BY hour_ms`,
      )
      .safeIntegers();
    this.#traders = db
      .prepare<[number], bigint>('SELECT coalesce(sum(accounts), 0) FROM trader_hours WHERE hour_ms >= ?')
      .pluck()
      .safeIntegers();
    this.#shards = db
      .prepare<[number], ShardRow>(
        `SELECT active_markets AS now,
           (SELECT active_markets FROM exchange_hours WHERE hour_ms >= ? AND shard = exchange_shards.shard
            ORDER BY hour_ms LIMIT 1) AS before
         FROM exchange_shards`,
      )
      .safeIntegers();
    this.#categories = db
      .prepare<{ from: number; before: number }, CategoryRow>(
        `SELECT category, sum(iif(day_ms >= $from, volume_micro, 0)) AS volume_micro,
           sum(iif(day_ms < $from, volume_micro, 0)) AS before_micro,
           sum(iif(day_ms >= $from, markets, 0)) AS market_count
         FROM category_days WHERE day_ms >= $before
         GROUP BY category HAVING market_count > 0 ORDER BY 2 DESC, category LIMIT ${MOST_CATEGORIES}`,
      )
      .safeIntegers();
    this.#volumes = db
      .prepare<[number, number], MarketRow>(
        `SELECT market, sum(volume_micro) AS volume_micro FROM candles
         WHERE span_ms = ${HOUR_MS} AND start_ms >= ? AND start_ms < ? GROUP BY market`,
      )
      .safeIntegers();
  }

  /** By volume, largest first. */
  spotlight({ nowMs }: PulseTask): CategorySums[] {
    const from = bucketOf(nowMs, DAY_MS) - (WEEK_DAYS - 1) * DAY_MS;
    return this.#categories.all({ from, before: from - WEEK_DAYS * DAY_MS }).map((row) => ({
      category: row.category,
      volumeMicro: row.volume_micro,
      volumeBeforeMicro: row.before_micro,
      markets: Number(row.market_count),
    }));
  }

  /** One typed array, by market index. */
  volumesBetween({ fromMs, toMs }: WindowTask): BigInt64Array {
    const rows = this.#volumes.all(fromMs, toMs);
    const last = rows.reduce((highest, { market }) => Math.max(highest, Number(market)), -1);
    const byMarket = new BigInt64Array(last + 1);
    for (const { market, volume_micro } of rows) byMarket[Number(market)] = volume_micro;
    return byMarket;
  }

  pulse({ nowMs }: PulseTask): PulseSums {
    const hour = bucketOf(nowMs, HOUR_MS);
    const from = hour - (HOURS - 1) * HOUR_MS;
    const today = BigInt(bucketOf(nowMs, DAY_MS));
    const rows = this.#hours.all(from - HOURS * HOUR_MS);
    const volumes = new Map(rows.map(({ hour_ms, volume_micro }) => [Number(hour_ms), volume_micro]));
    const hours = Array.from({ length: HOURS }, (_, i) => {
      const startMs = from + i * HOUR_MS;
      return { startMs, volumeMicro: volumes.get(startMs) ?? 0n };
    });
    const before = rows.filter(({ hour_ms }) => hour_ms < BigInt(from));
    const shards = this.#shards.all(from);
    return {
      hours,
      volumeMicro: sum(hours.map(({ volumeMicro }) => volumeMicro)),
      volumeBeforeMicro: sum(before.map(({ volume_micro }) => volume_micro)),
      settledTodayMicro: sum(rows.filter(({ hour_ms }) => hour_ms >= today).map((row) => row.settled_micro)),
      activeTraders: Number(this.#traders.get(from)!),
      activeMarkets: Number(sum(shards.map(({ now }) => now))),
      activeMarketsBefore: Number(sum(shards.map((shard) => shard.before ?? shard.now))),
    };
  }
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => a + b, 0n);
}
