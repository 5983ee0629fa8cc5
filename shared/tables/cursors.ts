/** The last projected row of each journal, and its chain value (engine/journal/row.ts). */
import { INTEGER, INTEGER_KEY, table } from './table.ts';

export const CURSORS = table('cursors', {
  shard: INTEGER_KEY,
  sequence: INTEGER,
  chain_low: INTEGER,
  chain_high: INTEGER,
  /** Time of that record: none that is still to come is of an earlier one. */
  time_ms: INTEGER,
});
