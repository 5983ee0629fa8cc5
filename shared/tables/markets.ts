/**
 * Markets, as their shards opened them: the UUID of a market index, the units of its orders, its status and trading
 * times, and its traded volume. Their descriptions are in catalogMarkets.ts.
 */
import { BIG_INTEGER, column, INTEGER, INTEGER_KEY, table } from './table.ts';

export const MARKETS = table('markets', {
  market: INTEGER_KEY,
  uuid: column<Uint8Array>('BLOB NOT NULL UNIQUE'),
  ticks_per_unit: INTEGER,
  /** MARKET_STATUS in shared/base/codes.ts. */
  status: INTEGER,
  start_ms: INTEGER,
  end_ms: INTEGER,
  /** The time of the record that opened it: no order of the market is older. 0 if the journal begins later. */
  opened_ms: INTEGER,
  /** The volume of all trades of the market, at the takers' prices. */
  volume_micro: BIG_INTEGER,
});
