/** Orders: one row each, from acceptance on; those that never filled move to the archive (orderArchive.ts). */
import { CLOSE_REASON, type CloseReason, closedStatus, ORDER_STATUS } from '../base/codes.ts';
import { BLOB, BLOB_KEY, column, INTEGER, NULLABLE_INTEGER, NULLABLE_TEXT, table } from './table.ts';

/** The conditions of the partial indexes; a query has to repeat one to use its index. */
export const OPEN = 'slot IS NOT NULL';
export const CLOSED = 'slot IS NULL';
/** Orders that ended without a fill. */
export const NEVER_FILLED = `${CLOSED} AND remaining_lots = lots`;
/** Orders that were not cancelled by their account. */
export const CANCELLED_UNASKED = `reason IN (${cancelledUnasked().join(', ')})`;

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
    /** In terms of the order's own outcome. */
    limit_ticks: INTEGER,
    maker_amount: INTEGER,
    taker_amount: INTEGER,
    lots: INTEGER,
    remaining_lots: INTEGER,
    /** At the prices of the order's own outcome. */
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
    /** The record that last changed the order. */
    shard_sequence: INTEGER,
    created_ms: INTEGER,
    updated_ms: INTEGER,
  },
  {
    withoutRowid: true,
    indexes: [
      // The columns by which lists filter follow the key, so that rows that a list skips are not read.
      'INDEX orders_created ON orders (account, id, market, side, outcome)',
      `INDEX orders_open ON orders (account, updated_ms, id, status, market, side, outcome, slot) WHERE ${OPEN}`,
      `INDEX orders_closed ON orders (account, status, updated_ms, id, market, side, outcome, slot) WHERE ${CLOSED}`,
      `INDEX orders_cancelled_unasked ON orders (account, updated_ms, id) WHERE ${CANCELLED_UNASKED}`,
    ],
  },
);

/** The owner of the wallet raises a nonce floor, so orders that it closes count as cancelled by their account. */
function cancelledUnasked(): CloseReason[] {
  const asked: readonly CloseReason[] = [CLOSE_REASON.USER, CLOSE_REASON.NONCE_FLOOR];
  return Object.values(CLOSE_REASON).filter(
    (reason) => closedStatus(reason) === ORDER_STATUS.CANCELLED && !asked.includes(reason),
  );
}
