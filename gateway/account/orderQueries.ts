/** One order of an account, and the row that all order queries read. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { type OrderFacts, type OrderRecord, orderRecord } from '../../shared/base/orderMath.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { ENTRY_BYTES, idsIn, PREFIX_BYTES } from '../../shared/tables/orderHashes.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { MARKET } from '../markets/volumeQueries.ts';
import { ArchivedOrders } from './archivedOrdersQueries.ts';

/** Only the gateway knows the name of a group. */
export type StoredOrder<R> = { readonly record: R; readonly group: number };

export const ORDER = select(
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
  'updated_ms',
);
export const ORDER_COLUMNS = `${ORDER.sql}, ${MARKET.sql}`;
export const SELECT_ORDER = `SELECT ${ORDER_COLUMNS} FROM orders JOIN markets USING (market)`;
export type OwnRow = SelectedBy<typeof ORDER>;
export type MarketOfOrder = SelectedBy<typeof MARKET>;
export type OrderRow = OwnRow & MarketOfOrder;

const OWNER = 'SELECT account, hash, status FROM orders WHERE id = ?';
/** Newest orders first. */
const FIND_ENTRIES = `
  WITH RECURSIVE generations (number) AS (
    SELECT max(generation) FROM order_hashes UNION ALL SELECT number - 1 FROM generations WHERE number > 0)
  SELECT entry FROM generations CROSS JOIN order_hashes ON generation = number AND entry BETWEEN ? AND ?`;

type Owner = { readonly account: number; readonly hash: Uint8Array; readonly status: number };

export class OrderQueries {
  readonly #archive: ArchivedOrders;
  readonly #byId: Database.Statement<[Uint8Array, number, Uint8Array], OrderRow>;
  readonly #owner: Database.Statement<[Uint8Array], Owner>;
  readonly #entries: Database.Statement<[Uint8Array, Uint8Array], Uint8Array>;
  readonly #tail: Database.Statement<[], Uint8Array>;

  constructor(db: Database.Database) {
    this.#archive = ArchivedOrders.of(db);
    this.#byId = db.prepare(`${SELECT_ORDER} WHERE id = ? AND account = ? AND hash = ?`);
    this.#owner = db.prepare(OWNER);
    this.#entries = db.prepare<[Uint8Array, Uint8Array], Uint8Array>(FIND_ENTRIES).pluck();
    this.#tail = db.prepare<[], Uint8Array>('SELECT entries FROM order_hash_tail').pluck();
  }

  #find(account: number, hash: Uint8Array): OrderRow | null {
    for (const id of this.#candidates(hash)) {
      const row = this.#byId.get(id, account, hash) ?? this.#archived(account, id, hash);
      if (row !== null) return row;
    }
    return null;
  }

  #archived(account: number, id: Uint8Array, hash: Uint8Array): OrderRow | null {
    const part = this.#archive.partWith(account, id);
    if (part === undefined) return null;
    const row = this.#archive.order<OwnRow, MarketOfOrder>(part, ORDER.sql, MARKET.sql, id);
    return Buffer.compare(row.hash, hash) === 0 ? row : null;
  }

  /** Null if it may be in a file that is missing. */
  #ownerOf(id: Uint8Array): Owner | null | undefined {
    const live = this.#owner.get(id);
    if (live !== undefined) return live;
    let isMissing = false;
    for (const place of this.#archive.placesOf(id)) {
      const found = this.#archive.read(place, (db) => ({ owner: prepared<[Uint8Array], Owner>(db, OWNER).get(id) }));
      if (found?.owner !== undefined) return found.owner;
      isMissing ||= found === null;
    }
    return isMissing ? null : undefined;
  }

  /** An entry that moves from the tail into the index is seen in exactly one of them: both reads are of one moment. */
  #candidates(hash: Uint8Array): Uint8Array[] {
    const last = new Uint8Array(ENTRY_BYTES).fill(0xff);
    last.set(hash.subarray(0, PREFIX_BYTES));
    const all = [...this.#entries.all(hash.subarray(0, PREFIX_BYTES), last), ...this.#tail.all()];
    return all.flatMap((entries) => idsIn(entries, hash));
  }

  /**
   * True if an order whose hash starts with these bytes was accepted; null if it may be in a file of the archive, and
   * that is missing.
   * @param account whose it is, null for any
   */
  wasAccepted(start: Uint8Array, account: number | null): boolean | null {
    let isUnknown = false;
    for (const id of this.#candidates(start)) {
      const row = this.#ownerOf(id);
      isUnknown ||= row === null;
      if (row === undefined || row === null) continue;
      // One that is open was placed after the shard had looked for it.
      if (account !== null && (row.account !== account || row.status < ORDER_STATUS.FILLED)) continue;
      if (start.every((byte, at) => row.hash[at] === byte)) return true;
    }
    return isUnknown ? null : false;
  }

  /** Null if the account has no such order; the answer does not reveal whether another account has it. */
  byHash(account: number, hash: Uint8Array): StoredOrder<OrderRecord> | null {
    const row = this.#find(account, hash);
    return row === null ? null : { record: orderRecord(orderFacts(row)), group: row.order_group };
  }
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
