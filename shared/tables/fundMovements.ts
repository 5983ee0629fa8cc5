/**
 * Movements of funds: every change of an account's funds, apart from its trades. One row each, by account and place in
 * its history, so that an account with a million trades pages through them as fast as a small one.
 *
 * The journals are the source. For a deposit or withdrawal control.db has the operator's request, its reference and its
 * id; the row here has the hash of the reference, by which the gateway finds them.
 *
 * An account's history is its trades and these rows. It is sorted by time, then by shard; within a shard and
 * millisecond a movement comes right after the trade that its row names.
 */
import { MOVEMENT } from '../base/codes.ts';
import { BLOB, column, INTEGER, INTEGER_KEY, NULLABLE_INTEGER, table } from './table.ts';

/** Deposits and withdrawals. A query has to repeat this to use their index. */
export const PAID_IN_OR_OUT = `kind IN (${MOVEMENT.DEPOSIT}, ${MOVEMENT.WITHDRAWAL})`;

export const FUND_MOVEMENTS = table(
  'fund_movements',
  {
    account: INTEGER,
    /** Time-ordered, and the same in every rebuild of read.db. */
    id: BLOB,
    /** FUND_MOVEMENT. */
    kind: INTEGER,
    /** Null for a deposit or a withdrawal. */
    market: NULLABLE_INTEGER,
    /** Changes: negative if the account has less afterwards. Losing tokens pay 0. */
    usdc_micro: INTEGER,
    yes_atomic: INTEGER,
    no_atomic: INTEGER,
    /** 32 bytes; null except for a deposit or a withdrawal. */
    reference_hash: column<Uint8Array | null>('BLOB'),
    /** The number of the last trade of the shard before it, 0 for none. */
    after_trade: INTEGER,
    moved_ms: INTEGER,
  },
  {
    primaryKey: 'account, id',
    withoutRowid: true,
    indexes: [`INDEX fund_movements_paid ON fund_movements (account, moved_ms, id) WHERE ${PAID_IN_OR_OUT}`],
  },
);

/**
 * The number of the last trade of each shard in read.db: together with its cursor, it says how much a reader has seen.
 */
export const TRADE_HEADS = table('trade_heads', { shard: INTEGER_KEY, trade_sequence: INTEGER });
