/**
 * Projection of the orders: one row each, from acceptance on; orderArchive.ts takes rows of orders that have closed.
 * Owner: the projector thread.
 *
 * Events name an open order by its slot in the shard's pool, so open orders are also kept in memory, by slot. The shard
 * uses a slot again after its order closed; a closed order is in its row only (orderPool.ts).
 *
 * Invariants:
 *   ORDERROWS-1  An order is in memory exactly while its row has a slot.
 *   ORDERROWS-2  After `flush` every row agrees with memory. Between flushes new orders and the fills of open ones wait
 *                in memory, so an order is written once, however often it is filled in a batch, also when it closes in
 *                it.
 *   ORDERROWS-3  remaining_lots = lots - lots of all its fills; it is what CLOSED says is left.
 *   ORDERROWS-4  An order without remaining lots is closed in the same record.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { closedStatus, ORDER_STATUS, statusOfFills } from '../../shared/base/codes.ts';
import { HASH_BYTES } from '../../shared/base/hex.ts';
import { ID_KIND, writeTimeOrderedId } from '../../shared/base/ids.ts';
import { addSafe, mulSafe } from '../../shared/base/int.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { insert, type RowOf, type SelectedBy, select } from '../../shared/tables/table.ts';
import { readClientId } from '../../shared/wire/clientId.ts';
import {
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  PLACE_BIT_POST_ONLY,
  packKind,
} from '../../shared/wire/commands.ts';
import { ANY_EVENT, closeReasonAt, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { OrderHashes } from './orderHashes.ts';
import { type OpenOrder, OrderPool } from './orderPool.ts';
import { RowInserter } from './rowInserter.ts';

/** The record whose events are being applied. */
export type RecordContext = { shard: number; shardSequence: number; timeMs: number };

/** The rows of open orders, read when a projector starts. */
const OPEN_ORDER = select(
  ORDERS,
  'id',
  'hash',
  'account',
  'market',
  'shard',
  'slot',
  'side',
  'outcome',
  'time_in_force',
  'maker_amount',
  'taker_amount',
  'lots',
  'remaining_lots',
  'filled_notional_micro',
  'order_sequence',
  'shard_sequence',
  'created_ms',
  'updated_ms',
  'client_order_id',
  'order_group',
);
const UNITS = select(MARKETS, 'ticks_per_unit');
type OpenOrderRow = SelectedBy<typeof OPEN_ORDER> & SelectedBy<typeof UNITS>;

const HASH_WORDS = HASH_BYTES / 4;

export class OrderProjection {
  readonly #pool = new OrderPool();
  /** By shard, then by slot: null where no order is open. */
  readonly #open: readonly (OpenOrder | null)[][];
  /** Open orders whose fills are not in their rows yet. */
  readonly #filled = new Set<OpenOrder>();
  /** Orders that have no row yet, open or closed, oldest first. */
  readonly #placed: OpenOrder[] = [];
  readonly #insert: RowInserter<typeof ORDERS>;
  readonly #insertOnce: Database.Statement<[RowOf<typeof ORDERS>]>;
  readonly #hashes: OrderHashes;
  readonly #fill: Database.Statement;
  readonly #close: Database.Statement;

  constructor(db: Database.Database, shards: number) {
    this.#insert = new RowInserter(db, ORDERS);
    this.#insertOnce = db.prepare(insert(ORDERS, 'OR IGNORE'));
    this.#hashes = new OrderHashes(db);
    this.#fill = db.prepare(`
      UPDATE orders SET status = ?, remaining_lots = ?, filled_notional_micro = ?, shard_sequence = ?, updated_ms = ?
      WHERE id = ?`);
    this.#close = db.prepare(`
      UPDATE orders SET slot = NULL, reason = ?,
        status = ?, remaining_lots = ?, filled_notional_micro = ?, shard_sequence = ?, updated_ms = ?
      WHERE id = ?`);
    this.#open = Array.from({ length: shards }, () => []);
    this.#restore(db);
  }

  /** The open order in a slot. */
  at(shard: number, slot: number): OpenOrder {
    const order = this.#open[shard][slot];
    assert(order !== undefined && order !== null, 'ORDERROWS-1: an event names an open order');
    return order;
  }

  /**
   * Applies an ORDER event: a new open order. An ORDER_STATE event has the same words and describes an order that was
   * open when history begins: the time of its last fill is unknown, but not later than that.
   */
  place(words: Uint32Array, word: number, ticksPerUnit: number, record: RecordContext): OpenOrder {
    const slot = words[word + ANY_EVENT.slot];
    const kind = words[word + EVENT.ORDER.kind];
    const createdMs = readSafe(words, word + EVENT.ORDER.createdMs);
    const quantityLots = readSafe(words, word + EVENT.ORDER.quantityLots);
    const remainingLots = readSafe(words, word + EVENT.ORDER.remainingLots);
    const isFilled = remainingLots < quantityLots;
    const order = this.#pool.take();
    order.orderSequence = readSafe(words, word + EVENT.ORDER.sequence);
    // An ORDER has 0 there.
    const origin = words[word + EVENT.ORDER_STATE.origin];
    const idShard = origin === 0 ? record.shard : origin - 1;
    writeTimeOrderedId(order.id, 0, createdMs, idShard, ID_KIND.ORDER, order.orderSequence);
    for (let i = 0; i < HASH_WORDS; i++) order.hash[order.hashWord + i] = words[word + EVENT.ORDER.hash + i];
    order.account = words[word + ANY_EVENT.account];
    order.side = kindSide(kind);
    order.outcome = kindOutcome(kind);
    order.market = words[word + ANY_EVENT.market];
    order.kind = kind;
    order.createdMs = createdMs;
    order.ticksPerUnit = ticksPerUnit;
    order.makerAmount = readSafe(words, word + EVENT.ORDER.makerAmount);
    order.takerAmount = readSafe(words, word + EVENT.ORDER.takerAmount);
    order.quantityLots = quantityLots;
    order.remainingLots = remainingLots;
    order.filledNotionalMicro = readSafe(words, word + EVENT.ORDER.filledNotionalMicro);
    order.shardSequence = record.shardSequence;
    order.updatedMs = isFilled ? record.timeMs : createdMs;
    order.isWritten = false;
    order.shard = record.shard;
    order.limitTicks = words[word + EVENT.ORDER.limitTicks];
    order.feeBps = words[word + EVENT.ORDER.feeBps];
    order.expirationSec = readSafe(words, word + EVENT.ORDER.expirationSec);
    order.slot = slot;
    order.status = statusOfFills(quantityLots, remainingLots);
    order.reason = null;
    this.#placed.push(order);
    this.#occupy(slot, order);
    return order;
  }

  /** Applies the ORDER_TAG event right after the ORDER event of this order. */
  tag(order: OpenOrder, words: Uint32Array, word: number): void {
    order.clientId = readClientId(words, word);
    order.group = words[word + EVENT.ORDER_TAG.group];
  }

  /** Applies one party's side of a FILL event, at the price of the order's own outcome. */
  fill(order: OpenOrder, lots: number, remainingLots: number, ownTicks: number, record: RecordContext): void {
    assert(lots > 0 && remainingLots >= 0, 'ORDERROWS-3: a fill is of at least one lot');
    assert(order.remainingLots - lots === remainingLots, 'ORDERROWS-3: a fill reduces the remaining lots by its lots');
    order.remainingLots = remainingLots;
    order.filledNotionalMicro = addSafe(order.filledNotionalMicro, mulSafe(lots, ownTicks));
    order.shardSequence = record.shardSequence;
    order.updatedMs = record.timeMs;
    if (order.isWritten) this.#filled.add(order);
    else order.status = ORDER_STATUS.PARTIALLY_FILLED;
  }

  /** Applies a CLOSED event. The row is updated at once, because the slot may be reused in the same batch. */
  close(words: Uint32Array, word: number, record: RecordContext): OpenOrder {
    const slot = words[word + ANY_EVENT.slot];
    const reason = closeReasonAt(words, word);
    const order = this.at(record.shard, slot);
    const remainingLots = readSafe(words, word + EVENT.CLOSED.remainingLots);
    assert(order.remainingLots === remainingLots, 'ORDERROWS-3: an order closes with the lots that remained');
    const { shardSequence, timeMs } = record;
    const status = closedStatus(reason);
    this.#open[record.shard][slot] = null;
    this.#pool.giveBack(order);
    if (order.isWritten) {
      this.#close.run(reason, status, remainingLots, order.filledNotionalMicro, shardSequence, timeMs, order.id);
      this.#filled.delete(order);
    } else {
      order.slot = null;
      order.reason = reason;
      order.status = status;
      order.shardSequence = shardSequence;
      order.updatedMs = timeMs;
    }
    return order;
  }

  /** Writes the row of an order that had ended before history begins. */
  takeBack(row: RowOf<typeof ORDERS>): void {
    // Of two files that are not listed, one may have been copied to the other.
    if (this.#insertOnce.run(row).changes === 0) return;
    this.#hashes.add(row.hash, row.id);
    if (this.#hashes.isFull) this.#hashes.flush();
  }

  flush(): void {
    for (const order of this.#placed) this.#write(order);
    this.#placed.length = 0;
    this.#insert.flush();
    this.#hashes.flush();
    for (const order of this.#filled) {
      const { remainingLots, filledNotionalMicro, shardSequence, updatedMs, id } = order;
      assert(remainingLots > 0, 'ORDERROWS-4: a filled order is closed in the record that filled it');
      this.#fill.run(ORDER_STATUS.PARTIALLY_FILLED, remainingLots, filledNotionalMicro, shardSequence, updatedMs, id);
    }
    this.#filled.clear();
  }

  /** Every projection has written its rows of the batch. */
  endBatch(): void {
    this.#pool.endBatch();
  }

  #write(order: OpenOrder): void {
    assert(
      (order.slot === null) === (order.reason !== null),
      'ORDERROWS-1: a row without a slot says why it is closed',
    );
    const { kind, hashBytes } = order;
    this.#hashes.add(hashBytes, order.id);
    this.#insert.add({
      id: order.id,
      hash: hashBytes,
      account: order.account,
      market: order.market,
      shard: order.shard,
      slot: order.slot,
      side: order.side,
      outcome: order.outcome,
      limit_ticks: order.limitTicks,
      maker_amount: order.makerAmount,
      taker_amount: order.takerAmount,
      lots: order.quantityLots,
      remaining_lots: order.remainingLots,
      filled_notional_micro: order.filledNotionalMicro,
      time_in_force: kindTimeInForce(kind),
      post_only: (kindBits(kind) & PLACE_BIT_POST_ONLY) === 0 ? 0 : 1,
      fee_bps: order.feeBps,
      expiration_sec: order.expirationSec,
      status: order.status,
      reason: order.reason,
      client_order_id: order.clientId,
      order_group: order.group,
      order_sequence: order.orderSequence,
      shard_sequence: order.shardSequence,
      created_ms: order.createdMs,
      updated_ms: order.updatedMs,
    });
    order.isWritten = true;
  }

  #restore(db: Database.Database): void {
    const rows = db.prepare<[], OpenOrderRow>(`
      SELECT ${OPEN_ORDER.sql}, ${UNITS.sql} FROM orders JOIN markets USING (market) WHERE slot IS NOT NULL`);
    for (const row of rows.iterate()) {
      assert(row.shard < this.#open.length, 'ORDERROWS-1: an open order is of a shard that there is');
      assert(row.remaining_lots > 0 && row.remaining_lots <= row.lots, 'ORDERROWS-3: an open order has lots to fill');
      const order = this.#pool.take();
      order.id.set(row.id);
      new Uint8Array(order.hash.buffer).set(row.hash, order.hashWord * 4);
      order.account = row.account;
      order.side = row.side;
      order.outcome = row.outcome;
      order.market = row.market;
      order.kind = packKind(row.side, row.outcome, row.time_in_force, 0);
      order.createdMs = row.created_ms;
      order.orderSequence = row.order_sequence;
      order.clientId = row.client_order_id;
      order.group = row.order_group;
      order.ticksPerUnit = row.ticks_per_unit;
      order.makerAmount = row.maker_amount;
      order.takerAmount = row.taker_amount;
      order.quantityLots = row.lots;
      order.remainingLots = row.remaining_lots;
      order.filledNotionalMicro = row.filled_notional_micro;
      order.shardSequence = row.shard_sequence;
      order.updatedMs = row.updated_ms;
      order.isWritten = true;
      order.shard = row.shard;
      this.#occupy(row.slot!, order);
    }
  }

  #occupy(slot: number, order: OpenOrder): void {
    const slots = this.#open[order.shard];
    while (slots.length <= slot) slots.push(null);
    assert(slots[slot] === null, 'ORDERROWS-1: a slot is used again only after its order closed');
    slots[slot] = order;
  }
}
