/**
 * The shards of which read.db does not begin with the first record (RULES.md 10.17), because their journals were
 * trimmed when it was made: it begins with the state after this record. A shard without a row is complete.
 */
import { INTEGER, INTEGER_KEY, table } from './table.ts';

export const HISTORY_STARTS = table('history_starts', {
  shard: INTEGER_KEY,
  sequence: INTEGER,
  /** The time of that record. */
  time_ms: INTEGER,
});
