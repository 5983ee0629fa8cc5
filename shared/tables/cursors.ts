/** The last projected row of each journal, and its chain value (engine/journal/row.ts). */
import { INTEGER, INTEGER_KEY, table } from './table.ts';

export const CURSORS = table('cursors', {
  shard: INTEGER_KEY,
  sequence: INTEGER,
  chain_low: INTEGER,
  chain_high: INTEGER,
  /** The time of that record: no later record has an earlier time. */
  time_ms: INTEGER,
});
