/** Orders: one row each, from acceptance on and for ever. */
import { BLOB, BLOB_KEY, column, INTEGER, NULLABLE_INTEGER, NULLABLE_TEXT, table } from './table.ts';

export const ORDERS = table(
  'orders',
  {
    id: BLOB_KEY,
    /** Found by order_hashes. */
    hash: BLOB,
    account: INTEGER,
    market: column<number>('INTEGER NOT NULL REFERENCES markets'),
    shard: INTEGER,
    /** The order's slot in its shard while it is open, null afterwards. */
    slot: NULLABLE_INTEGER,
    side: INTEGER,
    outcome: INTEGER,
    /** Of the order's own outcome. */
    limit_ticks: INTEGER,
    maker_amount: INTEGER,
    taker_amount: INTEGER,
    lots: INTEGER,
    remaining_lots: INTEGER,
    /** Of the order's own outcome. */
    filled_notional_micro: INTEGER,
    time_in_force: INTEGER,
    post_only: INTEGER,
    fee_bps: INTEGER,
    expiration_sec: INTEGER,
    status: INTEGER,
    /** Why it is closed, null while it is open. */
    reason: NULLABLE_INTEGER,
    client_order_id: NULLABLE_TEXT,
    /** The index of the group, 0 for none. The names of groups are in control.db. */
    order_group: column<number>('INTEGER NOT NULL DEFAULT 0'),
    order_sequence: INTEGER,
    /** The record that changed the order last. */
    shard_sequence: INTEGER,
    created_ms: INTEGER,
    updated_ms: INTEGER,
  },
  {
    withoutRowid: true,
    indexes: [
      'UNIQUE INDEX orders_open ON orders (shard, slot) WHERE slot IS NOT NULL',
      'INDEX orders_created ON orders (account, id)',
      // All other orders were changed last when they were created, and their ids are in that order.
      'INDEX orders_updated ON orders (account, updated_ms, id) WHERE updated_ms <> created_ms',
    ],
  },
);
