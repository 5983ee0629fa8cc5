/**
 * The worth of a Yes token, in millionths of a USDC, as trades and decisions show it (RULES.md 13.7). Runs in the query
 * pool.
 */
import type Database from 'better-sqlite3';
import { isDecided } from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import { DAY_MS, HOUR_MS } from '../../shared/tables/buckets.ts';

/** Windows start with an hour or with a day. */
export type Span = 'hours' | 'days';

type MarketRow = {
  readonly status: number;
  readonly payout_yes_ppm: number;
  readonly resolved_ms: number;
  readonly last_yes_ticks: number;
  readonly ticks_per_unit: number;
};
type LastClose = Database.Statement<[number, number], number>;

/** The mark of a market without trades. */
const NO_TRADE_PPM = PPM / 2;
/** The most windows whose marks are kept: the four of the leaderboard, and those of the hour before. */
const MOST_WINDOWS = 8;

export class Marks {
  readonly #market: Database.Statement<[number], MarketRow>;
  readonly #closes: Readonly<Record<Span, LastClose>>;
  /** Marks at the start of a window never change: by that start, then by market. */
  readonly #then = new Map<number, Map<number, number>>();

  constructor(db: Database.Database) {
    this.#market = db.prepare(
      `SELECT market_stats.status, payout_yes_ppm, resolved_ms, last_yes_ticks, ticks_per_unit
       FROM market_stats JOIN markets USING (market) WHERE market_stats.market = ?`,
    );
    this.#closes = { hours: lastClose(db, HOUR_MS), days: lastClose(db, DAY_MS) };
  }

  /** The payout of a decided market, or the last trade of an undecided one. */
  last(market: number): number {
    const state = this.#market.get(market);
    if (state === undefined) return NO_TRADE_PPM;
    if (isDecided(state.status)) return state.payout_yes_ppm;
    return state.last_yes_ticks === 0 ? NO_TRADE_PPM : ppmOf(state.last_yes_ticks, state.ticks_per_unit);
  }

  /** The last trade before a window, or the payout if the market was decided by then. */
  at(market: number, sinceMs: number, by: Span): number {
    let marks = this.#then.get(sinceMs);
    if (marks === undefined) {
      if (this.#then.size >= MOST_WINDOWS) this.#then.delete(this.#then.keys().next().value!);
      marks = new Map();
      this.#then.set(sinceMs, marks);
    }
    let mark = marks.get(market);
    if (mark === undefined) {
      mark = this.#readAt(market, sinceMs, by);
      marks.set(market, mark);
    }
    return mark;
  }

  #readAt(market: number, sinceMs: number, by: Span): number {
    const state = this.#market.get(market);
    if (state === undefined) return NO_TRADE_PPM;
    if (state.resolved_ms !== 0 && state.resolved_ms < sinceMs) return state.payout_yes_ppm;
    const ticks = this.#closes[by].get(market, sinceMs);
    return ticks === undefined ? NO_TRADE_PPM : ppmOf(ticks, state.ticks_per_unit);
  }
}

/** A tick is a whole number of millionths. */
function ppmOf(ticks: number, ticksPerUnit: number): number {
  return ticks * (PPM / ticksPerUnit);
}

function lastClose(db: Database.Database, spanMs: number): LastClose {
  return db
    .prepare<[number, number], number>(
      `SELECT close_ticks FROM candles WHERE market = ? AND span_ms = ${spanMs} AND start_ms < ?
       ORDER BY start_ms DESC LIMIT 1`,
    )
    .pluck();
}
