/**
 * A private frame as it is kept: fixed words, so that keeping one costs little while nobody listens, and so that a file
 * of them needs no parser. The gateway writes the text when a frame is sent (privateFrames.ts there).
 *
 * Two threads make these records of the same events: the gateway as the events pass, and the projector for what the
 * gateway has not told yet when a thread or the process dies. Both go through the functions here, so it makes no
 * difference to an account which of them told it.
 *
 * In words ("2" marks a safe integer over two words):
 *   0 kind, PRIVATE_KIND   1 market   2 userSequence (2)   4 timeMs (2)
 *   6 shard   7 shardSequence (2), of the journal record it comes from   9 order kind as in PLACE, without its bits
 *   10…17 order hash   18 createdMs (2)   20 orderSequence (2)
 *   22 status   23 remaining (2), in the maker's asset
 *   fill:          25 role   26 ticks, of the order's own outcome   27 lots (2)   29 tradeSequence (2)   31 fee (2)
 *   order_status:  25 reason   26 –   27 filled amount (2)   29…32 –
 *   33 account   34 order group   35…50 client order id, zero behind its bytes; both zero where the order has none
 * `PLACED` stands beside the close reasons: an order's first status has it.
 */
import { CLOSE_REASON_NAMES, type CloseReason, closedStatus, ORDER_STATUS, type OrderStatus } from './codes.ts';
import { CLIENT_ID_MAX_BYTES, kindOutcome, kindSide, kindTimeInForce } from './commands.ts';
import { EV_FLAGS, FILL_LOTS, FILL_MAKER_FEE, FILL_TAKER_FEE, FILL_TRADE_SEQUENCE, FILL_YES_TICKS } from './events.ts';
import { HASH_BYTES } from './hex.ts';
import { filledAmount, type OrderAmounts, ownTicks, remainingAmount } from './orderMath.ts';
import { readSafe, writeSafe } from './record.ts';
import { readText, writeText } from './tag.ts';

export const PRIVATE_RECORD_WORDS = 51;
const HASH_WORDS = HASH_BYTES / 4;
/** Side, outcome and time in force of an order kind. */
const WITHOUT_BITS = 0xffffff;

export const PRIVATE_KIND = { FILL: 1, ORDER_STATUS: 2 } as const;
export type PrivateKind = (typeof PRIVATE_KIND)[keyof typeof PRIVATE_KIND];

export const ROLE = { MAKER: 0, TAKER: 1 } as const;
export type Role = (typeof ROLE)[keyof typeof ROLE];
export const ROLE_NAMES = ['maker', 'taker'] as const;

export const REASON_PLACED = 0xff;
export const PLACED_NAME = 'placed';
/** Every reason an order_status may have. */
export const REASON_NAMES: readonly string[] = [PLACED_NAME, ...CLOSE_REASON_NAMES];

export const PRV_KIND = 0;
export const PRV_MARKET = 1;
export const PRV_USER_SEQUENCE = 2;
export const PRV_TIME_MS = 4;
export const PRV_SHARD = 6;
export const PRV_SHARD_SEQUENCE = 7;
export const PRV_ORDER_KIND = 9;
export const PRV_HASH = 10;
export const PRV_CREATED_MS = 18;
export const PRV_ORDER_SEQUENCE = 20;
export const PRV_STATUS = 22;
export const PRV_REMAINING = 23;
export const PRV_ROLE = 25;
export const PRV_TICKS = 26;
export const PRV_LOTS = 27;
export const PRV_TRADE_SEQUENCE = 29;
export const PRV_FEE = 31;
export const PRV_REASON = 25;
export const PRV_FILLED = 27;
export const PRV_ACCOUNT = 33;
export const PRV_GROUP = 34;
export const PRV_CLIENT_ID = 35;

/** The journal record that an event is part of. */
export type PrivateOrigin = { readonly shard: number; readonly shardSequence: number; readonly timeMs: number };

/** An order right after the event that is told of it. */
export type PrivateOrder = {
  readonly market: number;
  /** As in PLACE. */
  readonly kind: number;
  /** HASH_WORDS words from `hashWord` on. */
  readonly hash: Uint32Array;
  readonly hashWord: number;
  readonly createdMs: number;
  readonly orderSequence: number;
  readonly clientId: string | null;
  /** Index of its order group, or NO_GROUP. */
  readonly group: number;
  readonly ticksPerUnit: number;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly quantityLots: number;
  readonly remainingLots: number;
};

/** Where a record is written: its words are zero. */
export type RecordPlace = { readonly words: Uint32Array; readonly word: number };

export function writePlaced({ words, word }: RecordPlace, from: PrivateOrigin, order: PrivateOrder): void {
  writeStatus(words, word, from, order, ORDER_STATUS.OPEN, REASON_PLACED);
}

/** Null when the order has none. */
export function clientIdOf({ words, word }: RecordPlace): string | null {
  return readText(words, word + PRV_CLIENT_ID, CLIENT_ID_MAX_BYTES) || null;
}

/** Of a CLOSED event at `event` in `events`. */
export function writeClosed(
  { words, word }: RecordPlace,
  from: PrivateOrigin,
  order: PrivateOrder,
  events: Uint32Array,
  event: number,
): void {
  const reason = events[event + EV_FLAGS]! as CloseReason;
  writeStatus(words, word, from, order, closedStatus(reason), reason);
}

/** One party's side of a FILL event at `event` in `events`. */
export function writeFill(
  { words, word }: RecordPlace,
  from: PrivateOrigin,
  order: PrivateOrder,
  role: Role,
  events: Uint32Array,
  event: number,
): void {
  const status = order.remainingLots === 0 ? ORDER_STATUS.FILLED : ORDER_STATUS.PARTIALLY_FILLED;
  writeOrder(words, word, PRIVATE_KIND.FILL, from, order, amountsOf(order, status));
  const ticks = ownTicks(kindOutcome(order.kind), events[event + FILL_YES_TICKS]!, order.ticksPerUnit);
  words[word + PRV_ROLE] = role;
  words[word + PRV_TICKS] = ticks;
  writeSafe(words, word + PRV_LOTS, readSafe(events, event + FILL_LOTS));
  writeSafe(words, word + PRV_TRADE_SEQUENCE, readSafe(events, event + FILL_TRADE_SEQUENCE));
  const fee = role === ROLE.MAKER ? FILL_MAKER_FEE : FILL_TAKER_FEE;
  writeSafe(words, word + PRV_FEE, readSafe(events, event + fee));
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
  words[word + PRV_REASON] = reason;
  writeSafe(words, word + PRV_FILLED, filledAmount(amounts));
}

function writeOrder(
  words: Uint32Array,
  word: number,
  kind: PrivateKind,
  from: PrivateOrigin,
  order: PrivateOrder,
  amounts: OrderAmounts,
): void {
  words[word + PRV_KIND] = kind;
  words[word + PRV_MARKET] = order.market;
  writeSafe(words, word + PRV_TIME_MS, from.timeMs);
  words[word + PRV_SHARD] = from.shard;
  writeSafe(words, word + PRV_SHARD_SEQUENCE, from.shardSequence);
  words[word + PRV_ORDER_KIND] = order.kind & WITHOUT_BITS;
  for (let i = 0; i < HASH_WORDS; i++) words[word + PRV_HASH + i] = order.hash[order.hashWord + i]!;
  writeSafe(words, word + PRV_CREATED_MS, order.createdMs);
  writeSafe(words, word + PRV_ORDER_SEQUENCE, order.orderSequence);
  words[word + PRV_GROUP] = order.group;
  if (order.clientId !== null) writeText(words, word + PRV_CLIENT_ID, order.clientId);
  words[word + PRV_STATUS] = amounts.status;
  writeSafe(words, word + PRV_REMAINING, remainingAmount(amounts));
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

/** One object for all of them. */
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
