/**
 * Private frames, made from events. Two threads make frames of the same events: the gateway as the events pass, and the
 * projector for events whose frames the gateway had not logged when a thread or the process died. Both use the
 * functions here, so an account gets the same frame from either.
 */
import { closedStatus, ORDER_STATUS, type OrderStatus, statusOfFills } from '../base/codes.ts';
import { HASH_BYTES } from '../base/hex.ts';
import { filledAmount, type OrderAmounts, ownTicks, remainingAmount } from '../base/orderMath.ts';
import { kindOutcome, kindSide, kindTimeInForce } from './commands.ts';
import { closeReasonAt, EVENT } from './events.ts';
import {
  FILL_FRAME,
  PRIVATE_FRAME,
  PRIVATE_KIND,
  type PrivateKind,
  packRole,
  packShards,
  REASON_PLACED,
  type RecordView,
  ROLE,
  type Role,
  STATUS_FRAME,
} from './privateRecord.ts';
import { readSafe, writeSafe } from './record.ts';
import { writeText } from './texts.ts';

const HASH_WORDS = HASH_BYTES / 4;
/** Side, outcome and time in force of an order kind. */
const WITHOUT_BITS = 0xffffff;

/** The journal record that an event is part of. */
type PrivateOrigin = { readonly shard: number; readonly shardSequence: number; readonly timeMs: number };

/** An order as it is right after the event that the frame reports. */
export type PrivateOrder = {
  readonly market: number;
  /** As in PLACE. */
  readonly kind: number;
  /** HASH_WORDS words from `hashWord` on. */
  readonly hash: Uint32Array;
  readonly hashWord: number;
  readonly createdMs: number;
  readonly orderSequence: number;
  /** The shard that accepted it, plus one; 0: the shard of the record. */
  readonly origin: number;
  readonly clientId: string | null;
  /** Index of its order group, or NO_GROUP. */
  readonly group: number;
  readonly ticksPerUnit: number;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly quantityLots: number;
  readonly remainingLots: number;
};

/** Writes the first status of an order. Here and below, the words of the record are still zero. */
export function writePlaced({ words, word }: RecordView, from: PrivateOrigin, order: PrivateOrder): void {
  writeStatus(words, word, from, order, ORDER_STATUS.OPEN, REASON_PLACED);
}

/** Writes the last status of an order: the CLOSED event is at `event` in `events`. */
export function writeClosed(
  { words, word }: RecordView,
  from: PrivateOrigin,
  order: PrivateOrder,
  events: Uint32Array,
  event: number,
): void {
  const reason = closeReasonAt(events, event);
  writeStatus(words, word, from, order, closedStatus(reason), reason);
}

/**
 * Writes the frame of one party of a fill: the FILL event is at `event` in `events`.
 * @param afterMicros the time from the record to the fill (shared/base/fillTimes.ts)
 */
export function writeFill(
  { words, word }: RecordView,
  from: PrivateOrigin,
  order: PrivateOrder,
  role: Role,
  afterMicros: number,
  events: Uint32Array,
  event: number,
): void {
  const status = statusOfFills(order.quantityLots, order.remainingLots);
  writeOrder(words, word, PRIVATE_KIND.FILL, from, order, amountsOf(order, status));
  const ticks = ownTicks(kindOutcome(order.kind), events[event + EVENT.FILL.yesTicks], order.ticksPerUnit);
  words[word + FILL_FRAME.role] = packRole(role, afterMicros);
  words[word + FILL_FRAME.ticks] = ticks;
  writeSafe(words, word + FILL_FRAME.lots, readSafe(events, event + EVENT.FILL.lots));
  writeSafe(words, word + FILL_FRAME.tradeSequence, readSafe(events, event + EVENT.FILL.tradeSequence));
  const fee = role === ROLE.MAKER ? EVENT.FILL.makerFee : EVENT.FILL.takerFee;
  writeSafe(words, word + FILL_FRAME.fee, readSafe(events, event + fee));
}

function writeStatus(
  words: Uint32Array,
  word: number,
  from: PrivateOrigin,
  order: PrivateOrder,
  status: OrderStatus,
  reason: number,
): void {
  const amounts = amountsOf(order, status);
  writeOrder(words, word, PRIVATE_KIND.ORDER_STATUS, from, order, amounts);
  words[word + STATUS_FRAME.reason] = reason;
  writeSafe(words, word + STATUS_FRAME.filled, filledAmount(amounts));
}

function writeOrder(
  words: Uint32Array,
  word: number,
  kind: PrivateKind,
  from: PrivateOrigin,
  order: PrivateOrder,
  amounts: OrderAmounts,
): void {
  words[word + PRIVATE_FRAME.kind] = kind;
  words[word + PRIVATE_FRAME.market] = order.market;
  writeSafe(words, word + PRIVATE_FRAME.timeMs, from.timeMs);
  words[word + PRIVATE_FRAME.shard] = packShards(from.shard, order.origin);
  writeSafe(words, word + PRIVATE_FRAME.shardSequence, from.shardSequence);
  words[word + PRIVATE_FRAME.orderKind] = order.kind & WITHOUT_BITS;
  for (let i = 0; i < HASH_WORDS; i++) words[word + PRIVATE_FRAME.hash + i] = order.hash[order.hashWord + i];
  writeSafe(words, word + PRIVATE_FRAME.createdMs, order.createdMs);
  writeSafe(words, word + PRIVATE_FRAME.orderSequence, order.orderSequence);
  words[word + PRIVATE_FRAME.group] = order.group;
  if (order.clientId !== null) writeText(words, word + PRIVATE_FRAME.clientId, order.clientId);
  words[word + PRIVATE_FRAME.status] = amounts.status;
  writeSafe(words, word + PRIVATE_FRAME.remaining, remainingAmount(amounts));
}

const amounts = {
  side: 0,
  timeInForce: 0,
  ticksPerUnit: 0,
  makerAmount: 0,
  takerAmount: 0,
  quantityLots: 0,
  remainingLots: 0,
  status: 0 as OrderStatus,
};

/** One object serves all orders. */
function amountsOf(order: PrivateOrder, status: OrderStatus): typeof amounts {
  amounts.side = kindSide(order.kind);
  amounts.timeInForce = kindTimeInForce(order.kind);
  amounts.ticksPerUnit = order.ticksPerUnit;
  amounts.makerAmount = order.makerAmount;
  amounts.takerAmount = order.takerAmount;
  amounts.quantityLots = order.quantityLots;
  amounts.remainingLots = order.remainingLots;
  amounts.status = status;
  return amounts;
}
