/**
 * Projection of the orders: one row each, from acceptance on and for ever.
 * Owner: the projector thread.
 *
 * Events name an open order by its slot in the shard's pool, so the open ones are also kept in memory, by slot. A slot
 * is given away again after its order closed; what matters of a closed order is in its row.
 *
 * Invariants:
 *   P1  An order is in memory exactly while its row has a slot.
 *   P2  After `flush` every row says what memory says. Between flushes new orders and the fills of open ones wait in
 *       memory, so an order is written once, however often it is filled in a batch, or when it also closes in it.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';
import { type CloseReason, closedStatus, ORDER_STATUS } from '../../shared/codes.ts';
import {
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  NO_GROUP,
  PLACE_BIT_POST_ONLY,
  packKind,
} from '../../shared/commands.ts';
import {
  CLOSED_REMAINING_LOTS,
  EV_ACCOUNT,
  EV_FLAGS,
  EV_MARKET,
  EV_SLOT,
  ORDER_CREATED_MS,
  ORDER_EXPIRATION_SEC,
  ORDER_FEE_BPS,
  ORDER_FILLED_NOTIONAL,
  ORDER_HASH,
  ORDER_LIMIT_TICKS,
  ORDER_LOTS,
  ORDER_MAKER_AMOUNT,
  ORDER_REMAINING_LOTS,
  ORDER_SEQUENCE,
  ORDER_TAKER_AMOUNT,
} from '../../shared/events.ts';
import { HASH_BYTES } from '../../shared/hex.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../shared/ids.ts';
import { addSafe, mulSafe } from '../../shared/int.ts';
import type { PrivateOrder } from '../../shared/privateRecord.ts';
import { readSafe } from '../../shared/record.ts';
import { readClientId } from '../../shared/tag.ts';
import { OrderHashes } from './orderHashes.ts';
import { RowInserter } from './rowInserter.ts';

/** The record whose events are being applied. */
export type RecordContext = { shard: number; shardSequence: number; timeMs: number };

export type OpenOrder = PrivateOrder & {
  readonly id: Uint8Array;
  readonly account: number;
  readonly side: number;
  readonly outcome: number;
  clientId: string | null;
  group: number;
  remainingLots: number;
  filledNotionalMicro: number;
  shardSequence: number;
  updatedMs: number;
  /** Null once it has a row. */
  unwritten: Unwritten | null;
};

/** What a new row needs beside the order. */
type Unwritten = {
  readonly shard: number;
  readonly limitTicks: number;
  readonly feeBps: number;
  readonly expirationSec: number;
  slot: number | null;
  status: number;
  reason: number | null;
};

type OpenRow = {
  readonly id: Uint8Array;
  readonly hash: Uint8Array;
  readonly account: number;
  readonly market: number;
  readonly ticks_per_unit: number;
  readonly shard: number;
  readonly slot: number;
  readonly side: number;
  readonly outcome: number;
  readonly time_in_force: number;
  readonly maker_amount: number;
  readonly taker_amount: number;
  readonly lots: number;
  readonly remaining_lots: number;
  readonly filled_notional_micro: number;
  readonly order_sequence: number;
  readonly shard_sequence: number;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly client_order_id: string | null;
  readonly order_group: number;
};

/** In the order of the values of a row. */
const COLUMNS = [
  'id',
  'hash',
  'account',
  'market',
  'shard',
  'slot',
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
  'fee_bps',
  'expiration_sec',
  'status',
  'reason',
  'client_order_id',
  'order_group',
  'order_sequence',
  'shard_sequence',
  'created_ms',
  'updated_ms',
];

export class OrderProjection {
  /** By shard, then by slot. */
  readonly #open: readonly Map<number, OpenOrder>[];
  /** Open orders whose fills are not in their rows yet. */
  readonly #filled = new Set<OpenOrder>();
  /** Orders without a row so far, open or closed again, by their age. */
  readonly #placed: OpenOrder[] = [];
  readonly #insert: RowInserter;
  readonly #hashes: OrderHashes;
  readonly #fill: Database.Statement;
  readonly #close: Database.Statement;

  constructor(db: Database.Database, shards: number) {
    this.#insert = new RowInserter(db, 'orders', COLUMNS);
    this.#hashes = new OrderHashes(db);
    this.#fill = db.prepare(`
      UPDATE orders SET status = ?, remaining_lots = ?, filled_notional_micro = ?, shard_sequence = ?, updated_ms = ?
      WHERE id = ?`);
    this.#close = db.prepare(`
      UPDATE orders SET slot = NULL, reason = ?,
        status = ?, remaining_lots = ?, filled_notional_micro = ?, shard_sequence = ?, updated_ms = ?
      WHERE id = ?`);
    this.#open = Array.from({ length: shards }, () => new Map<number, OpenOrder>());
    this.#restore(db);
  }

  /** The open order in a slot. */
  at(shard: number, slot: number): OpenOrder {
    const order = this.#open[shard]!.get(slot);
    assert(order !== undefined, 'P1: an event names an open order');
    return order;
  }

  /** An ORDER event. */
  place(words: Uint32Array, word: number, ticksPerUnit: number, record: RecordContext): OpenOrder {
    const slots = this.#open[record.shard]!;
    const slot = words[word + EV_SLOT]!;
    assert(!slots.has(slot), 'P1: a slot is given away only after its order closed');
    const kind = words[word + EV_FLAGS]!;
    const createdMs = readSafe(words, word + ORDER_CREATED_MS);
    const orderSequence = readSafe(words, word + ORDER_SEQUENCE);
    const order: OpenOrder = {
      id: timeOrderedIdBytes(createdMs, record.shard, ID_KIND.ORDER, orderSequence),
      account: words[word + EV_ACCOUNT]!,
      side: kindSide(kind),
      outcome: kindOutcome(kind),
      market: words[word + EV_MARKET]!,
      kind,
      hash: words.slice(word + ORDER_HASH, word + ORDER_HASH + HASH_BYTES / 4),
      hashWord: 0,
      createdMs,
      orderSequence,
      clientId: null,
      group: NO_GROUP,
      ticksPerUnit,
      makerAmount: readSafe(words, word + ORDER_MAKER_AMOUNT),
      takerAmount: readSafe(words, word + ORDER_TAKER_AMOUNT),
      quantityLots: readSafe(words, word + ORDER_LOTS),
      remainingLots: readSafe(words, word + ORDER_REMAINING_LOTS),
      filledNotionalMicro: readSafe(words, word + ORDER_FILLED_NOTIONAL),
      shardSequence: record.shardSequence,
      updatedMs: record.timeMs,
      unwritten: {
        shard: record.shard,
        limitTicks: words[word + ORDER_LIMIT_TICKS]!,
        feeBps: words[word + ORDER_FEE_BPS]!,
        expirationSec: readSafe(words, word + ORDER_EXPIRATION_SEC),
        slot,
        status: ORDER_STATUS.OPEN,
        reason: null,
      },
    };
    this.#placed.push(order);
    slots.set(slot, order);
    return order;
  }

  /** An ORDER_TAG event, right behind the ORDER of this order. */
  tag(order: OpenOrder, words: Uint32Array, word: number): void {
    order.clientId = readClientId(words, word);
    order.group = words[word + EV_FLAGS]!;
  }

  /** One party's side of a FILL event, at the price of the order's own outcome. */
  fill(order: OpenOrder, lots: number, remainingLots: number, ownTicks: number, record: RecordContext): void {
    assert(order.remainingLots - lots === remainingLots, 'projector: a fill takes its lots from what remains');
    order.remainingLots = remainingLots;
    order.filledNotionalMicro = addSafe(order.filledNotionalMicro, mulSafe(lots, ownTicks));
    order.shardSequence = record.shardSequence;
    order.updatedMs = record.timeMs;
    if (order.unwritten === null) this.#filled.add(order);
    else order.unwritten.status = ORDER_STATUS.PARTIALLY_FILLED;
  }

  /** A CLOSED event. What has a row is written at once, because the slot may be given away in the same batch. */
  close(words: Uint32Array, word: number, record: RecordContext): OpenOrder {
    const slot = words[word + EV_SLOT]!;
    const reason = words[word + EV_FLAGS]! as CloseReason;
    const order = this.at(record.shard, slot);
    const remainingLots = readSafe(words, word + CLOSED_REMAINING_LOTS);
    assert(order.remainingLots === remainingLots, 'projector: what is left at the close is what remained');
    const { shardSequence, timeMs } = record;
    const status = closedStatus(reason);
    this.#open[record.shard]!.delete(slot);
    const { unwritten } = order;
    if (unwritten === null) {
      this.#close.run(reason, status, remainingLots, order.filledNotionalMicro, shardSequence, timeMs, order.id);
      this.#filled.delete(order);
    } else {
      unwritten.slot = null;
      unwritten.reason = reason;
      unwritten.status = status;
      order.shardSequence = shardSequence;
      order.updatedMs = timeMs;
    }
    return order;
  }

  flush(): void {
    for (const order of this.#placed) this.#write(order, order.unwritten!);
    this.#placed.length = 0;
    this.#insert.flush();
    this.#hashes.flush();
    for (const order of this.#filled) {
      const { remainingLots, filledNotionalMicro, shardSequence, updatedMs, id } = order;
      assert(remainingLots > 0, 'projector: a filled order is closed in the record that filled it');
      this.#fill.run(ORDER_STATUS.PARTIALLY_FILLED, remainingLots, filledNotionalMicro, shardSequence, updatedMs, id);
    }
    this.#filled.clear();
  }

  #write(order: OpenOrder, row: Unwritten): void {
    const { kind, hash } = order;
    const hashBytes = new Uint8Array(hash.buffer, hash.byteOffset + order.hashWord * 4, HASH_BYTES);
    this.#hashes.add(hashBytes, order.id);
    this.#insert.add(
      order.id,
      hashBytes,
      order.account,
      order.market,
      row.shard,
      row.slot,
      order.side,
      order.outcome,
      row.limitTicks,
      order.makerAmount,
      order.takerAmount,
      order.quantityLots,
      order.remainingLots,
      order.filledNotionalMicro,
      kindTimeInForce(kind),
      (kindBits(kind) & PLACE_BIT_POST_ONLY) === 0 ? 0 : 1,
      row.feeBps,
      row.expirationSec,
      row.status,
      row.reason,
      order.clientId,
      order.group,
      order.orderSequence,
      order.shardSequence,
      order.createdMs,
      order.updatedMs,
    );
    order.unwritten = null;
  }

  #restore(db: Database.Database): void {
    const rows = db.prepare<[], OpenRow>(`
      SELECT id, hash, account, market, ticks_per_unit, shard, slot, side, outcome, time_in_force, maker_amount,
        taker_amount, lots, remaining_lots, filled_notional_micro, order_sequence, shard_sequence, created_ms,
        updated_ms, client_order_id, order_group
      FROM orders JOIN markets USING (market) WHERE slot IS NOT NULL`);
    for (const row of rows.iterate()) {
      this.#open[row.shard]!.set(row.slot, {
        id: row.id,
        account: row.account,
        side: row.side,
        outcome: row.outcome,
        market: row.market,
        kind: packKind(row.side, row.outcome, row.time_in_force, 0),
        hash: new Uint32Array(new Uint8Array(row.hash).buffer),
        hashWord: 0,
        createdMs: row.created_ms,
        orderSequence: row.order_sequence,
        clientId: row.client_order_id,
        group: row.order_group,
        ticksPerUnit: row.ticks_per_unit,
        makerAmount: row.maker_amount,
        takerAmount: row.taker_amount,
        quantityLots: row.lots,
        remainingLots: row.remaining_lots,
        filledNotionalMicro: row.filled_notional_micro,
        shardSequence: row.shard_sequence,
        updatedMs: row.updated_ms,
        unwritten: null,
      });
    }
  }
}
