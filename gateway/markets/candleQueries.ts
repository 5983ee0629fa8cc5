/** The SQL of candles (RULES.md 13.13): one row a candle, however many trades it has. Runs in the query pool. */
import type Database from 'better-sqlite3';
import { isDecided, OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { bucketOf } from '../../shared/tables/buckets.ts';
import { CANDLE_SPANS_MS, type CandleInterval } from '../../shared/tables/candles.ts';

export type CandlesTask = {
  readonly market: number;
  readonly shard: number;
  readonly outcome: Outcome;
  readonly interval: CandleInterval;
  /** Bounds of the starts of intervals; null without a bound. */
  readonly fromMs: number | null;
  readonly beforeMs: number | null;
  readonly limit: number;
  readonly nowMs: number;
};

/** Prices are null for an interval without a trade. */
type Candle = {
  /** Unix seconds. */
  readonly start: number;
  readonly open: string | null;
  readonly high: string | null;
  readonly low: string | null;
  readonly close: string | null;
  readonly token_quantity_atomic: string;
  readonly notional_usdc_micro: string;
  readonly volume_usdc_micro: string;
  readonly trades: number;
  readonly is_open: boolean;
};

/** For the stream: the candles from an interval on, or without one the newest two. */
export type NewestTask = Pick<CandlesTask, 'market' | 'shard' | 'outcome' | 'interval' | 'fromMs'>;
/** A candle as JSON, with its start in Unix seconds. */
export type CandleText = { readonly start: number; readonly isOpen: boolean; readonly json: string };

/** Oldest first. */
type CandlePage = {
  readonly candles: readonly Candle[];
  /** The next page has the intervals before this time; null if there are none. */
  readonly nextMs: number | null;
};

type Facts = {
  readonly ticks_per_unit: number;
  readonly opened_ms: number;
  readonly status: number;
  readonly resolved_ms: number;
  readonly last_trade_ms: number;
  /** The time at which the history of its shard begins, if not with its first record. */
  readonly history_ms: number | null;
  readonly sequence: number;
  readonly time_ms: number;
};
/** The trading of an interval, as read.db has it. */
export type CandleRow = Readonly<
  Record<
    | 'trades'
    | 'tokens_atomic'
    | 'notional_micro'
    | 'volume_micro'
    | 'open_ticks'
    | 'high_ticks'
    | 'low_ticks'
    | 'close_ticks',
    bigint
  >
>;
type Row = CandleRow & { readonly start_ms: bigint };

/**
 * For this long after its end an interval may still receive trades: their orders came before, and wait for their shard.
 */
const LATE_MS = 5000;
const MOST_NEWEST = 1000;
const NOTHING: CandlePage = { candles: [], nextMs: null };

export class CandleQueries {
  readonly #facts: Database.Statement<[{ market: number; shard: number }], Facts>;
  readonly #rows: Database.Statement<[number, number, number, number], Row>;

  constructor(db: Database.Database) {
    this.#facts = db.prepare(`
      SELECT ticks_per_unit, opened_ms, market_stats.status, resolved_ms, last_trade_ms, sequence, cursors.time_ms,
        (SELECT time_ms FROM history_starts WHERE shard = @shard) AS history_ms
      FROM markets JOIN market_stats USING (market) JOIN cursors ON cursors.shard = @shard WHERE market = @market`);
    this.#rows = db
      .prepare<[number, number, number, number], Row>(
        `SELECT start_ms, trades, tokens_atomic, notional_micro, volume_micro, open_ticks, high_ticks, low_ticks,
           close_ticks
         FROM candles WHERE market = ? AND span_ms = ? AND start_ms >= ? AND start_ms <= ? ORDER BY start_ms`,
      )
      .safeIntegers();
  }

  newest(task: NewestTask, nowMs: number, committed: number): CandleText[] {
    const limit = task.fromMs === null ? 2 : MOST_NEWEST;
    const { candles } = this.page({ ...task, beforeMs: null, limit, nowMs }, committed);
    return candles.map((candle) => {
      return { start: candle.start, isOpen: candle.is_open, json: JSON.stringify(candle) };
    });
  }

  /** @param committed the number of records that the shard had committed before */
  page(task: CandlesTask, committed: number): CandlePage {
    const facts = this.#facts.get(task);
    if (facts === undefined) return NOTHING;
    const spanMs = CANDLE_SPANS_MS[task.interval];
    const firstMs = Math.max(firstOf(facts, spanMs), roundedUp(task.fromMs ?? 0, spanMs));
    const lastMs = Math.min(lastOf(facts, spanMs, task.nowMs), roundedUp(task.beforeMs ?? Infinity, spanMs) - spanMs);
    if (lastMs < firstMs) return NOTHING;
    const startMs = Math.max(firstMs, lastMs - (task.limit - 1) * spanMs);
    const traded = new Map<number, Row>();
    for (const row of this.#rows.all(task.market, spanMs, startMs, lastMs)) traded.set(Number(row.start_ms), row);
    const candles: Candle[] = [];
    for (let ms = startMs; ms <= lastMs; ms += spanMs) {
      const isOpen = !isOver(ms + spanMs, facts, task.nowMs, committed);
      candles.push(candleOf(ms, traded.get(ms), task.outcome, facts.ticks_per_unit, isOpen));
    }
    return { candles, nextMs: startMs > firstMs ? startMs : null };
  }
}

/** The interval in which the market opened, or the first whose trades are all in the history. */
function firstOf({ opened_ms, history_ms }: Facts, spanMs: number): number {
  return opened_ms > 0 ? bucketOf(opened_ms, spanMs) : roundedUp(history_ms ?? 0, spanMs);
}

/** The present interval, or the one in which the market was decided. */
function lastOf({ status, resolved_ms, last_trade_ms }: Facts, spanMs: number, nowMs: number): number {
  // A clock that was set back is earlier than the last trade.
  return bucketOf(Math.max(last_trade_ms, isDecided(status) ? resolved_ms : nowMs), spanMs);
}

/** Returns true if no trade can still fall into an interval that ended then: records are in order of time. */
function isOver(endMs: number, { status, sequence, time_ms }: Facts, nowMs: number, committed: number): boolean {
  return isDecided(status) || time_ms >= endMs || (sequence >= committed && nowMs >= endMs + LATE_MS);
}

function roundedUp(timeMs: number, spanMs: number): number {
  return Math.ceil(timeMs / spanMs) * spanMs;
}

function candleOf(ms: number, row: Row | undefined, outcome: Outcome, ticksPerUnit: number, is_open: boolean): Candle {
  const start = ms / 1000;
  if (row === undefined) {
    const prices = { open: null, high: null, low: null, close: null };
    const volumes = { token_quantity_atomic: '0', notional_usdc_micro: '0', volume_usdc_micro: '0' };
    return { start, ...prices, ...volumes, trades: 0, is_open };
  }
  const isYes = outcome === OUTCOME.YES;
  const price = (yesTicks: bigint): string =>
    tickToPrice(isYes ? Number(yesTicks) : ticksPerUnit - Number(yesTicks), ticksPerUnit);
  return {
    start,
    open: price(row.open_ticks),
    // The lowest price of Yes is the highest of No.
    high: price(isYes ? row.high_ticks : row.low_ticks),
    low: price(isYes ? row.low_ticks : row.high_ticks),
    close: price(row.close_ticks),
    token_quantity_atomic: String(row.tokens_atomic),
    notional_usdc_micro: String(isYes ? row.notional_micro : row.tokens_atomic - row.notional_micro),
    volume_usdc_micro: String(row.volume_micro),
    trades: Number(row.trades),
    is_open,
  };
}
