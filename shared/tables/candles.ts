/**
 * Candles: the trading of a market in each interval in which it traded (RULES.md 13.13). Prices are in Yes terms; a
 * trade counts by the time of its fill, and stays when the chain refuses it, as in the tape and in volumes.
 */
import { DAY_MS, FIFTEEN_MINUTES_MS, FIVE_MINUTES_MS, FOUR_HOURS_MS, HOUR_MS, MINUTE_MS } from './buckets.ts';
import { BIG_INTEGER, INTEGER, table } from './table.ts';

/** The spans of intervals, by their names in the interface. */
export const CANDLE_SPANS_MS = {
  '1m': MINUTE_MS,
  '5m': FIVE_MINUTES_MS,
  '15m': FIFTEEN_MINUTES_MS,
  '1h': HOUR_MS,
  '4h': FOUR_HOURS_MS,
  '1d': DAY_MS,
} as const;
export type CandleInterval = keyof typeof CANDLE_SPANS_MS;

/** Volumes cover only the trades that count (EXCHANGESTATS-3). */
export const CANDLES = table(
  'candles',
  {
    market: INTEGER,
    span_ms: INTEGER,
    start_ms: INTEGER,
    trades: INTEGER,
    tokens_atomic: BIG_INTEGER,
    /** At the prices of Yes; at the prices of No it is the remainder to one USDC per token. */
    notional_micro: BIG_INTEGER,
    /** At the takers' prices, like all volumes. */
    volume_micro: BIG_INTEGER,
    open_ticks: INTEGER,
    high_ticks: INTEGER,
    low_ticks: INTEGER,
    close_ticks: INTEGER,
  },
  {
    primaryKey: 'market, span_ms, start_ms',
    withoutRowid: true,
    indexes: [`INDEX candles_by_hour ON candles (start_ms, market) WHERE span_ms = ${HOUR_MS}`],
  },
);
