/** Statistics of the exchange as a whole. */
import { BIG_INTEGER, INTEGER, INTEGER_KEY, table } from './table.ts';

export const EXCHANGE_HOURS = table(
  'exchange_hours',
  {
    hour_ms: INTEGER,
    shard: INTEGER,
    /** At the taker's prices. */
    volume_micro: BIG_INTEGER,
    trades: INTEGER,
    /** Payouts for the tokens of decided markets. */
    settled_micro: BIG_INTEGER,
    /** The number of the shard's active markets when the hour started. */
    active_markets: INTEGER,
  },
  { primaryKey: 'hour_ms, shard', withoutRowid: true },
);

/** Each shard's part of the present statistics of the exchange. */
export const EXCHANGE_SHARDS = table('exchange_shards', {
  shard: INTEGER_KEY,
  active_markets: INTEGER,
  /** The tokens of all trades whose volume is counted. */
  counted_atomic: BIG_INTEGER,
});

/**
 * Volumes count trades of up to this many tokens in all shards together (RULES.md 13.10). A trade's volume is at most
 * its tokens, and counts for two accounts, so every sum of volumes stays below the 64 bits of an INTEGER.
 */
export const MOST_COUNTED_ATOMIC = 2n ** 61n;

/** The spans by which large trades are found, largest first: each span is a multiple of the next. */
export const MAXIMA_SPANS_MS = [86_400_000, 3_600_000, 60_000, 1000] as const;

/**
 * The largest trade of every day, hour, minute and second with trades. Scans, newest first, over trades of a least size
 * skip the spans that have none.
 */
export const TRADE_MAXIMA = table(
  'trade_maxima',
  { span_ms: INTEGER, start_ms: INTEGER, notional_micro: INTEGER },
  { primaryKey: 'span_ms, start_ms', withoutRowid: true },
);
