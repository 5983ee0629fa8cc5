/** Markets: the UUID of a market index, the units its orders count in, and the volume it has traded. */
import { BIG_INTEGER, column, INTEGER, INTEGER_KEY, table } from './table.ts';

export const MARKETS = table('markets', {
  market: INTEGER_KEY,
  uuid: column<Uint8Array>('BLOB NOT NULL UNIQUE'),
  ticks_per_unit: INTEGER,
  /** Of all trades of the market, at the taker's prices. */
  volume_micro: BIG_INTEGER,
});
