/** Statistics of markets: their last trade, and their trading by hour and by day. Prices are in Yes terms. */
import { BIG_INTEGER, INTEGER, INTEGER_KEY, table } from './table.ts';

export const MARKET_STATS = table('market_stats', {
  market: INTEGER_KEY,
  shard: INTEGER,
  status: INTEGER,
  /** The payout of a Yes token once the market is decided (shared/base/payout.ts). */
  payout_yes_ppm: INTEGER,
  /** 0 until the market is decided. */
  resolved_ms: INTEGER,
  /** The record that decided the market, 0 until then. */
  decided_sequence: INTEGER,
  /** The full sets that exist, in atomic units. */
  open_interest_atomic: INTEGER,
  /** Of the last trade; 0 before the first. */
  last_yes_ticks: INTEGER,
  last_trade_ms: INTEGER,
  /** The number of minutes, and of spans of five, that the market's price points were taken from. */
  minutes: INTEGER,
  five_minutes: INTEGER,
  /** Time of the last fill (shared/base/fillTimes.ts), also of one from before history began; 0 before the first. */
  last_fill_us: INTEGER,
});

const BAR = {
  volume_micro: BIG_INTEGER,
  trades: INTEGER,
  open_ticks: INTEGER,
  high_ticks: INTEGER,
  low_ticks: INTEGER,
  close_ticks: INTEGER,
};

export const MARKET_HOURS = table(
  'market_hours',
  { market: INTEGER, hour_ms: INTEGER, ...BAR },
  {
    primaryKey: 'market, hour_ms',
    withoutRowid: true,
    indexes: ['INDEX market_hours_by_hour ON market_hours (hour_ms, market)'],
  },
);

export const MARKET_DAYS = table(
  'market_days',
  { market: INTEGER, day_ms: INTEGER, ...BAR },
  { primaryKey: 'market, day_ms', withoutRowid: true },
);

/** A history has at most so many points. */
export const MOST_PRICE_POINTS = 1000;

/**
 * The last price of every minute, and of every five, in which a market traded, but for the newest one: that is in
 * market_stats. Points are numbered by market and span; only the last MOST_PRICE_POINTS are kept.
 */
export const PRICE_POINTS = table(
  'price_points',
  { market: INTEGER, span_ms: INTEGER, number: INTEGER, start_ms: INTEGER, yes_ticks: INTEGER },
  { primaryKey: 'market, span_ms, number', withoutRowid: true },
);
