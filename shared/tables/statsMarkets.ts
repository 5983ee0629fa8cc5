/** State of markets and their last trade, whose price is in Yes terms. */
import { column, INTEGER, INTEGER_KEY, table } from './table.ts';

export const MARKET_STATS = table('market_stats', {
  market: INTEGER_KEY,
  shard: INTEGER,
  status: INTEGER,
  /** The payout of a Yes token once the market is decided (shared/base/payout.ts). */
  payout_yes_ppm: INTEGER,
  /** 0 until the market is decided. */
  resolved_ms: INTEGER,
  /** The record that decided the market; 0 until then. */
  decided_sequence: INTEGER,
  /** The full sets that exist, in atomic units. */
  open_interest_atomic: INTEGER,
  /** The accounts that hold tokens of it, of either outcome. */
  holders: column<number>('INTEGER NOT NULL DEFAULT 0'),
  /** The price of the last trade; 0 before the first. */
  last_yes_ticks: INTEGER,
  last_trade_ms: INTEGER,
  /** The time of the last fill (shared/base/fillTimes.ts), even of a fill before history began; 0 before the first. */
  last_fill_us: INTEGER,
});
