/** The SQL of the order queries, and their rows as clients see them. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { bytesToUuid } from '../../shared/base/hex.ts';
import {
  type OrderFacts,
  type OrderRecord,
  type OrderRecordV2,
  orderRecord,
  orderRecordV2,
} from '../../shared/base/orderMath.ts';
import { ENTRY_BYTES, idsIn, PREFIX_BYTES } from '../../shared/tables/orderHashes.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { MARKET } from './markets.ts';
import { firstIdAfter, MAX_COUNTED, type Page, pageOf } from './page.ts';

/** The three masks have bit n set when code n (shared/base/codes.ts) is wanted. */
export type OrderFilters = Readonly<{
  statuses: number;
  sides: number;
  outcomes: number;
  /** Only orders whose timestamp, the one they are sorted by, is after this. */
  sinceMs: number;
  sort: 'created_at' | 'updated_at';
  limit: number;
  offset: number;
}>;

/** The name of a group is known to the gateway only. */
export type StoredOrder<R> = { readonly record: R; readonly group: number };

const ORDER = select(
  ORDERS,
  'id',
  'hash',
  'side',
  'outcome',
  'limit_ticks',
  'maker_amount',
  'taker_amount',
  'lots',
  'remaining_lots',
  'filled_notional_micro',
  'time_in_force',
  'post_only',
  'status',
  'client_order_id',
  'order_group',
  'order_sequence',
  'shard_sequence',
  'created_ms',
);
export const SELECT_ORDER = `
  SELECT ${ORDER.sql}, ${MARKET.sql} FROM orders JOIN markets USING (market)`;
export type OrderRow = SelectedBy<typeof ORDER> & SelectedBy<typeof MARKET>;

type ListParameters = Omit<OrderFilters, 'sort'> & { readonly account: number; readonly firstId: Uint8Array };

const FILTER = `
  account = @account AND (@statuses >> orders.status) & 1 AND (@sides >> side) & 1 AND (@outcomes >> outcome) & 1`;
const CREATED = `${FILTER} AND id >= @firstId`;
const PAGE = 'LIMIT @limit OFFSET @offset';

/**
 * Two walks, newest first: of those that were changed since they were placed, by the index that has only them, and of
 * the others, whose ids are in the order of their last change.
 */
const CHANGED = `${FILTER} AND updated_ms <> created_ms AND updated_ms > @sinceMs`;
const UNCHANGED = `${CREATED} AND updated_ms = created_ms`;
const UPDATED_PAGE = `
  ${SELECT_ORDER} WHERE id IN (
    SELECT id FROM (
      SELECT id FROM orders WHERE ${CHANGED} ORDER BY updated_ms DESC, id DESC LIMIT @limit + @offset)
    UNION ALL SELECT id FROM (
      SELECT id FROM orders WHERE ${UNCHANGED} ORDER BY id DESC LIMIT @limit + @offset))
  ORDER BY updated_ms DESC, id DESC ${PAGE}`;

export class OrderQueries {
  readonly #byId: Database.Statement<[Uint8Array, number, Uint8Array], OrderRow>;
  readonly #entries: Database.Statement<[Uint8Array, Uint8Array], Uint8Array>;
  readonly #tail: Database.Statement<[], Uint8Array>;
  readonly #find: (account: number, hash: Uint8Array) => OrderRow | null;
  readonly #list: Readonly<Record<OrderFilters['sort'], Database.Statement<[ListParameters], OrderRow>>>;
  readonly #count: Readonly<Record<OrderFilters['sort'], Database.Statement<[ListParameters], number>>>;
  readonly #readPage: (parameters: ListParameters, sort: OrderFilters['sort']) => { rows: OrderRow[]; total: number };

  constructor(db: Database.Database) {
    this.#byId = db.prepare(`${SELECT_ORDER} WHERE id = ? AND account = ? AND hash = ?`);
    this.#entries = db
      .prepare<[Uint8Array, Uint8Array], Uint8Array>('SELECT entry FROM order_hashes WHERE entry BETWEEN ? AND ?')
      .pluck();
    this.#tail = db.prepare<[], Uint8Array>('SELECT entries FROM order_hash_tail').pluck();
    // One transaction, so that an entry that moves from the tail into the index is seen in one of them.
    this.#find = db.transaction((account: number, hash: Uint8Array) => {
      const last = new Uint8Array(ENTRY_BYTES).fill(0xff);
      last.set(hash.subarray(0, PREFIX_BYTES));
      for (const entries of [this.#entries.all(hash.subarray(0, PREFIX_BYTES), last), this.#tail.all()].flat()) {
        for (const id of idsIn(entries, hash)) {
          const row = this.#byId.get(id, account, hash);
          if (row !== undefined) return row;
        }
      }
      return null;
    });
    this.#list = {
      created_at: db.prepare(`${SELECT_ORDER} WHERE ${CREATED} ORDER BY id DESC ${PAGE}`),
      updated_at: db.prepare(UPDATED_PAGE),
    };
    this.#count = {
      created_at: db.prepare<[ListParameters], number>(counted(CREATED)).pluck(),
      updated_at: db.prepare<[ListParameters], number>(counted(CHANGED, UNCHANGED)).pluck(),
    };
    // One transaction, so that total and rows are of the same moment.
    this.#readPage = db.transaction((parameters: ListParameters, sort: OrderFilters['sort']) => ({
      rows: this.#list[sort].all(parameters),
      total: this.#count[sort].get(parameters)!,
    }));
  }

  /** Null when the account has no such order; whether another has one stays unknown to it. */
  byHash(account: number, hash: Uint8Array): StoredOrder<OrderRecord> | null {
    const row = this.#find(account, hash);
    return row === null ? null : { record: orderRecord(orderFacts(row)), group: row.order_group };
  }

  list(account: number, { sort, ...filters }: OrderFilters): Page<StoredOrder<OrderRecordV2>> {
    const page = this.#readPage({ account, firstId: firstIdAfter(filters.sinceMs), ...filters }, sort);
    const rows = page.rows.map((row) => ({ record: orderRecordV2(orderFacts(row)), group: row.order_group }));
    return pageOf(rows, page.total, filters.offset);
  }
}

/** Counts the orders of these walks together, at most one more than MAX_COUNTED. */
function counted(...walks: string[]): string {
  const found = walks.map((walk) => `SELECT 1 FROM orders WHERE ${walk}`).join(' UNION ALL ');
  return `SELECT count(*) FROM (${found} LIMIT ${MAX_COUNTED + 1})`;
}

export function orderFacts(row: OrderRow): OrderFacts {
  return {
    id: bytesToUuid(row.id),
    hash: row.hash,
    marketId: bytesToUuid(row.uuid),
    ticksPerUnit: row.ticks_per_unit,
    side: row.side,
    outcome: row.outcome,
    timeInForce: row.time_in_force,
    postOnly: row.post_only === 1,
    limitTicks: row.limit_ticks,
    makerAmount: row.maker_amount,
    takerAmount: row.taker_amount,
    quantityLots: row.lots,
    remainingLots: row.remaining_lots,
    filledNotionalMicro: row.filled_notional_micro,
    status: row.status,
    createdMs: row.created_ms,
    orderSequence: row.order_sequence,
    clientOrderId: row.client_order_id,
  };
}
