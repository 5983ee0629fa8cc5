/**
 * The SQL of the history of a market: its prices by interval, its newest trades, and who holds its tokens. Runs in the
 * query pool.
 */
import type Database from 'better-sqlite3';
import { OUTCOME, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { CANDLE_SPANS_MS, type CandleInterval } from '../../shared/tables/candles.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';

/** A market by its index. */
export type HistoryTask = { readonly market: number; readonly interval: CandleInterval };
type PricePoint = { readonly timestamp: number; readonly price: string };
type MarketTrade = Readonly<{ id: string; price: string; amount: string; side: string; timestamp: number }>;

const MOST_TRADES = 100;
/** The most points of a history. */
const MOST_POINTS = 1000;
const UNITS = select(MARKETS, 'ticks_per_unit');
const TRADE = select(TRADES, 'id', 'yes_ticks', 'lots', 'taker_side', 'taker_outcome', 'matched_ms');

type Point = { readonly start_ms: number; readonly close_ticks: number };

export class MarketHistoryQueries {
  readonly #units: Database.Statement<[number], SelectedBy<typeof UNITS>>;
  readonly #points: Database.Statement<[number, number], Point>;
  readonly #trades: Database.Statement<[number], SelectedBy<typeof TRADE>>;
  readonly #holders: Database.Statement<[number], number>;

  constructor(db: Database.Database) {
    this.#units = db.prepare(`SELECT ${UNITS.sql} FROM markets WHERE market = ?`);
    this.#points = db.prepare(
      `SELECT start_ms, close_ticks FROM candles WHERE market = ? AND span_ms = ?
       ORDER BY start_ms DESC LIMIT ${MOST_POINTS}`,
    );
    this.#trades = db.prepare(`SELECT ${TRADE.sql} FROM trades WHERE market = ? ORDER BY id DESC LIMIT ${MOST_TRADES}`);
    this.#holders = db.prepare<[number], number>('SELECT holders FROM market_stats WHERE market = ?').pluck();
  }

  holders(market: number): number {
    return this.#holders.get(market) ?? 0;
  }

  /** Oldest first. */
  history({ market, interval }: HistoryTask): PricePoint[] {
    const ticksPerUnit = this.#units.get(market)?.ticks_per_unit;
    if (ticksPerUnit === undefined) return [];
    const points = this.#points.all(market, CANDLE_SPANS_MS[interval]).reverse();
    return points.map(({ start_ms, close_ticks }) => ({
      timestamp: start_ms / 1000,
      price: tickToPrice(close_ticks, ticksPerUnit),
    }));
  }

  /** Newest first, in terms of Yes. */
  trades(market: number): MarketTrade[] {
    const ticksPerUnit = this.#units.get(market)?.ticks_per_unit;
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
}
