/**
 * Orders that a command with an idempotency key placed or cancelled, and conversions of funds by such a command, for as
 * long as the key is remembered.
 */
import { ASSIGNED_KEY, BLOB, INTEGER, table } from './table.ts';

export const ORDER_KEYS = table(
  'order_keys',
  {
    id: ASSIGNED_KEY,
    /** The time of the record. */
    time_ms: INTEGER,
    account: INTEGER,
    /** EXT_ROUTE in shared/wire/commands.ts. */
    route: INTEGER,
    /** Index of the order in a request with many. */
    row: INTEGER,
    key: BLOB,
    fingerprint: BLOB,
    /** Empty for a split or merge. */
    order_id: BLOB,
    /** The number of the record. */
    shard_sequence: INTEGER,
    /** 1 if the order kept the time priority of the order that it replaced. */
    kept_place: INTEGER,
    /** 1 if its price differs from that of the order that it replaced. */
    changed_price: INTEGER,
  },
  {
    indexes: ['INDEX order_keys_key ON order_keys (key)', 'INDEX order_keys_time ON order_keys (time_ms)'],
  },
);
