/**
 * Sums over all activity of an account in a shard; an account's totals are the sums over its shards. account_hours has
 * the sums before the first change in an hour: the activity since the start of an hour is the difference between the
 * present sums and the first row from then on.
 *
 * The USDC of an account, available and reserved, is funded + realized - cost at every moment (RULES.md 13.9).
 */
import { BIG_INTEGER, INTEGER, INTEGER_KEY, table } from './table.ts';

const KEY = { account: INTEGER, shard: INTEGER };
const SUMS = {
  /** A trade of an account with itself counts once. */
  trades: INTEGER,
  /** At the prices of the account's own outcome. */
  volume_micro: BIG_INTEGER,
  /** Deposits less withdrawals, plus the USDC that existed when history began (RULES.md 10.17). */
  funded_micro: BIG_INTEGER,
  realized_micro: BIG_INTEGER,
  /** Cost of all positions. */
  cost_micro: BIG_INTEGER,
  /** USDC reserved for open orders. */
  reserved_micro: INTEGER,
};

export const ACCOUNT_STATS = table(
  'account_stats',
  {
    ...KEY,
    ...SUMS,
    /**
     * The shares of the account's fees that a referrer would earn (RULES.md 14.44), and the number of trades with such
     * a share.
     */
    fee_shares_micro: BIG_INTEGER,
    fee_shares: INTEGER,
    /** The hour of the last trade, 0 before the first. */
    trade_hour_ms: INTEGER,
    /** The time of the record that last changed the row. */
    changed_ms: INTEGER,
  },
  {
    primaryKey: 'account, shard',
    withoutRowid: true,
  },
);

/** The number of accounts whose last trade, in any shard, was in this hour. */
export const TRADER_HOURS = table('trader_hours', { hour_ms: INTEGER_KEY, accounts: INTEGER });

export const ACCOUNT_HOURS = table(
  'account_hours',
  { ...KEY, hour_ms: INTEGER, ...SUMS },
  { primaryKey: 'account, shard, hour_ms', withoutRowid: true },
);
