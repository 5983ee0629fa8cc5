/** The SQL of the history of a market: its prices by interval, and its newest trades. Runs in the query pool. */
import type Database from 'better-sqlite3';
import { OUTCOME, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { bucketOf, DAY_MS, FIVE_MINUTES_MS, HOUR_MS, MINUTE_MS } from '../../shared/tables/buckets.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { MARKET_STATS, MOST_PRICE_POINTS } from '../../shared/tables/statsMarkets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';

/** A market by its index. */
export type HistoryTask = { readonly market: number; readonly interval: keyof typeof POINTS };
export type PricePoint = { readonly timestamp: number; readonly price: string };
export type MarketTrade = Readonly<{ id: string; price: string; amount: string; side: string; timestamp: number }>;

const MOST_TRADES = 100;
const LAST = select(MARKET_STATS, 'last_yes_ticks', 'last_trade_ms');
const UNITS = select(MARKETS, 'ticks_per_unit');
const TRADE = select(TRADES, 'id', 'yes_ticks', 'lots', 'taker_side', 'taker_outcome', 'matched_ms');

/** The closed intervals of each span, newest first. */
const POINTS = {
  '1m': `SELECT start_ms, yes_ticks FROM price_points WHERE market = ? AND span_ms = ${MINUTE_MS}
    ORDER BY number DESC LIMIT ${MOST_PRICE_POINTS - 1}`,
  '5m': `SELECT start_ms, yes_ticks FROM price_points WHERE market = ? AND span_ms = ${FIVE_MINUTES_MS}
    ORDER BY number DESC LIMIT ${MOST_PRICE_POINTS - 1}`,
  '1h': `SELECT hour_ms AS start_ms, close_ticks AS yes_ticks FROM market_hours WHERE market = ?
    ORDER BY hour_ms DESC LIMIT ${MOST_PRICE_POINTS}`,
  '1d': `SELECT day_ms AS start_ms, close_ticks AS yes_ticks FROM market_days WHERE market = ?
    ORDER BY day_ms DESC LIMIT ${MOST_PRICE_POINTS}`,
} as const;
const SPANS_MS = { '1m': MINUTE_MS, '5m': FIVE_MINUTES_MS, '1h': HOUR_MS, '1d': DAY_MS } as const;

type Point = { readonly start_ms: number; readonly yes_ticks: number };

export class MarketHistoryQueries {
  readonly #last: Database.Statement<[number], SelectedBy<typeof LAST> & SelectedBy<typeof UNITS>>;
  readonly #points: Readonly<Record<keyof typeof POINTS, Database.Statement<[number], Point>>>;
  readonly #trades: Database.Statement<[number], SelectedBy<typeof TRADE>>;
  readonly #read: (task: HistoryTask) => PricePoint[];

  constructor(db: Database.Database) {
    this.#last = db.prepare(
      `SELECT ${LAST.sql}, ${UNITS.sql} FROM market_stats JOIN markets USING (market) WHERE market_stats.market = ?`,
    );
    this.#points = {
      '1m': db.prepare(POINTS['1m']),
      '5m': db.prepare(POINTS['5m']),
      '1h': db.prepare(POINTS['1h']),
      '1d': db.prepare(POINTS['1d']),
    };
    this.#trades = db.prepare(`SELECT ${TRADE.sql} FROM trades WHERE market = ? ORDER BY id DESC LIMIT ${MOST_TRADES}`);
    // One transaction: the newest point and those before it are of the same moment.
    this.#read = db.transaction((task: HistoryTask) => this.#history(task));
  }

  /** Oldest first. */
  history(task: HistoryTask): PricePoint[] {
    return this.#read(task);
  }

  /** Newest first, in terms of Yes. */
  trades(market: number): MarketTrade[] {
    const ticksPerUnit = this.#last.get(market)?.ticks_per_unit;
    if (ticksPerUnit === undefined) return [];
    return this.#trades.all(market).map((row) => {
      // Buying No at q is selling Yes at D - q (RULES.md 2.1).
      const isBuy = (row.taker_side === SIDE.BUY) === (row.taker_outcome === OUTCOME.YES);
      return {
        id: bytesToUuid(row.id),
        price: tickToPrice(row.yes_ticks, ticksPerUnit),
        amount: String(mulSafe(row.lots, ticksPerUnit)),
        side: SIDE_NAMES[isBuy ? SIDE.BUY : SIDE.SELL],
        timestamp: Math.floor(row.matched_ms / 1000),
      };
    });
  }

  #history({ market, interval }: HistoryTask): PricePoint[] {
    const last = this.#last.get(market);
    if (last === undefined || last.last_trade_ms === 0) return [];
    const points = this.#points[interval].all(market);
    const newestMs = bucketOf(last.last_trade_ms, SPANS_MS[interval]);
    // Minutes have a point once they are over; hours and days from their first trade on.
    if (points[0]?.start_ms !== newestMs) points.unshift({ start_ms: newestMs, yes_ticks: last.last_yes_ticks });
    return points.reverse().map(({ start_ms, yes_ticks }) => ({
      timestamp: start_ms / 1000,
      price: tickToPrice(yes_ticks, last.ticks_per_unit),
    }));
  }
}
