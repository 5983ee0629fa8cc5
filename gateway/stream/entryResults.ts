/**
 * The answers of the binary entry, as records (shared/wire/entry.ts), collected until the connection sends them as one
 * message. The buffer is reused, so that an answer allocates nothing.
 * Owner: the gateway thread.
 */
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { ID_KIND, writeTimeOrderedId } from '../../shared/base/ids.ts';
import { HASH_WORDS } from '../../shared/base/openOrderIndex.ts';
import { ownTicks, remainingAmount } from '../../shared/base/orderMath.ts';
import { kindOutcome, kindSide, kindTimeInForce } from '../../shared/wire/commands.ts';
import {
  ENTRY_ANSWER,
  entryType,
  PLACED_BIT_CHANGED_PRICE,
  PLACED_BIT_KEPT_PRIORITY,
  PLACED_FILL,
  REMAINDER,
} from '../../shared/wire/entry.ts';
import { RecordBuffer, writeSafe } from '../../shared/wire/record.ts';
import type { OpenOrders } from '../shardlink/orderViews.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { Order } from '../trading/order.ts';

const { PLACED, RESULT } = ENTRY_ANSWER;
const FIRST_BYTES = 1024;
const OK_STATUS = 200;
/** A buffer that one long answer has made larger is not kept. */
const MOST_KEPT_BYTES = 65_536;

/** The numbers from which an order's remaining quantity is computed; reused. */
const amounts = {
  side: 0,
  timeInForce: 0,
  ticksPerUnit: 0,
  makerAmount: 0,
  takerAmount: 0,
  quantityLots: 0,
  remainingLots: 0,
  status: 0,
};

type Text = {
  readonly requestId: number;
  readonly status: number;
  readonly code: number;
  readonly retryAfterSec: number;
  readonly isReplayed: boolean;
  /** ASCII. */
  readonly text: string;
};

export class Results {
  #records = new RecordBuffer(FIRST_BYTES);

  get isEmpty(): boolean {
    return this.#records.lengthBytes === 0;
  }

  /** Returns the records so far, valid until the next one is added, and clears them. */
  take(): Uint8Array {
    const { bytes, lengthBytes } = this.#records;
    if (bytes.length > MOST_KEPT_BYTES) this.#records = new RecordBuffer(FIRST_BYTES);
    else this.#records.clear();
    return bytes.subarray(0, lengthBytes);
  }

  text({ requestId, status, code, retryAfterSec, isReplayed, text }: Text): void {
    const length = RESULT.BYTES + Math.ceil(text.length / 8) * 8;
    const word = this.#records.append(length, entryType(RESULT.TYPE));
    const { words, bytes } = this.#records;
    words[word + RESULT.requestId] = requestId;
    words[word + RESULT.status] = status;
    words[word + RESULT.code] = code;
    words[word + RESULT.retryAfterSec] = retryAfterSec;
    words[word + RESULT.replayed] = isReplayed ? 1 : 0;
    words[word + RESULT.textBytes] = text.length;
    const at = (word + RESULT.WORDS) * 4;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  }

  /** The order that the record of this reply has placed. */
  placed(requestId: number, views: Views, reply: ShardReply, order: Order, isReplacement: boolean): void {
    const { shard, result, a, b } = reply;
    const orders = views.orders[shard];
    const { slot, fills } = result;
    const ticksPerUnit = views.markets.ticksPerUnit(orders.marketOf(slot));
    const status = result.finalStatus();
    const word = this.#records.append(PLACED.BYTES + fills * PLACED_FILL.BYTES, entryType(PLACED.TYPE));
    const { words, bytes } = this.#records;
    words[word + PLACED.requestId] = requestId;
    words[word + PLACED.status] = OK_STATUS;
    writeOrderId(bytes, word + PLACED.orderId, orders, slot);
    for (let i = 0; i < HASH_WORDS; i++) words[word + PLACED.hash + i] = orders.hash[slot * HASH_WORDS + i];
    let bits = 0;
    if (isReplacement && a === 1) bits |= PLACED_BIT_KEPT_PRIORITY;
    if (isReplacement && b === 1) bits |= PLACED_BIT_CHANGED_PRICE;
    words[word + PLACED.kind] = result.status() | (remainderOf(orders.remainingLots[slot], status) << 8) | (bits << 16);
    words[word + PLACED.fills] = fills;
    writeSafe(words, word + PLACED.remaining, remainingOf(orders, slot, order, ticksPerUnit, status));
    words[word + PLACED.ticksPerUnit] = ticksPerUnit;
    for (let at = 0; at < fills; at++) {
      writeFill(words, bytes, word + PLACED.WORDS + at * PLACED_FILL.WORDS, orders, reply, at, ticksPerUnit);
    }
  }
}

function writeFill(
  words: Uint32Array,
  bytes: Uint8Array,
  word: number,
  orders: OpenOrders,
  { shard, result }: ShardReply,
  at: number,
  ticksPerUnit: number,
): void {
  const lots = result.lots[at];
  const ticks = ownTicks(kindOutcome(orders.kind[result.slot]), result.yesTicks[at], ticksPerUnit);
  const tradeId = (word + PLACED_FILL.tradeId) * 4;
  writeTimeOrderedId(bytes, tradeId, result.timeMs, shard, ID_KIND.TRADE, result.tradeSequence[at]);
  writeOrderId(bytes, word + PLACED_FILL.makerOrderId, orders, result.makerSlot[at]);
  writeSafe(words, word + PLACED_FILL.quantityAtomic, lots * ticksPerUnit);
  writeSafe(words, word + PLACED_FILL.notionalMicro, lots * ticks);
  words[word + PLACED_FILL.priceTicks] = ticks;
  words[word + PLACED_FILL.matchType] = result.matchType[at];
}

function writeOrderId(bytes: Uint8Array, word: number, orders: OpenOrders, slot: number): void {
  writeTimeOrderedId(
    bytes,
    word * 4,
    orders.createdMs[slot],
    orders.idShard(slot),
    ID_KIND.ORDER,
    orders.orderSequence[slot],
  );
}

function remainderOf(remainingLots: number, status: number): number {
  if (remainingLots === 0) return REMAINDER.NONE;
  return status === ORDER_STATUS.CANCELLED ? REMAINDER.CANCELLED : REMAINDER.OPEN;
}

function remainingOf(orders: OpenOrders, slot: number, order: Order, ticksPerUnit: number, status: number): number {
  const kind = orders.kind[slot];
  amounts.side = kindSide(kind);
  amounts.timeInForce = kindTimeInForce(kind);
  amounts.ticksPerUnit = ticksPerUnit;
  amounts.makerAmount = order.makerAmount;
  amounts.takerAmount = order.takerAmount;
  amounts.quantityLots = orders.quantityLots[slot];
  amounts.remainingLots = orders.remainingLots[slot];
  amounts.status = status;
  return remainingAmount(amounts);
}
