/**
 * Private frames that the gateway may still have to send (shared/wire/privateRecord.ts): the frames of each record,
 * back to back. A row is deleted once the gateway has its frames in its own durable log, so the table covers seconds,
 * not history.
 */
import { BLOB, INTEGER, INTEGER_KEY, table } from './table.ts';

export const PRIVATE_TAIL = table(
  'private_tail',
  {
    shard: INTEGER,
    shard_sequence: INTEGER,
    frames: BLOB,
  },
  { primaryKey: 'shard, shard_sequence', withoutRowid: true },
);

/** The first record of a shard from which on private_tail is complete; 1 without a row. */
export const PRIVATE_TAIL_STARTS = table('private_tail_starts', {
  shard: INTEGER_KEY,
  shard_sequence: INTEGER,
});
