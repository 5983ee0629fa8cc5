/**
 * Requests about orders as the records of `svc.bin.1`, and its answers as the bodies that the routes give over HTTP
 * (RULES.md 8.17 to 8.22). shared/wire/entry.ts declares the layouts; this file also runs outside of Node.
 */
import { MATCH_TYPE_NAMES, ORDER_STATUS_NAMES } from '../../base/codes.ts';
import { bytesToUuid, HASH_BYTES, toHex, tryParseHex, uint256ToDecimal, uuidToBytes } from '../../base/hex.ts';
import { tickToPrice } from '../../base/units.ts';
import {
  ANY_COMMAND,
  BOTH_OUTCOMES,
  CANCEL_TOMBSTONE,
  CLIENT_ID_MAX_BYTES,
  PLACE_BIT_EXTENDED,
  packKind,
  REPLACE_MODE,
} from '../../wire/commands.ts';
import {
  ENTRY,
  ENTRY_ANSWER,
  entryType,
  HEARTBEAT,
  MARKET_CANCEL,
  PLACED_BIT_CHANGED_PRICE,
  PLACED_BIT_KEPT_PRIORITY,
  PLACED_FILL,
  REMAINDER_NAMES,
} from '../../wire/entry.ts';
import { bodyOfRecord, clientIdOf, writeBody } from '../../wire/orderBody.ts';
import { readSafe, writeSafe } from '../../wire/record.ts';
import type { PlacementBody, PlacementResponse } from '../types.ts';

const { PLACE, EXTENDED_PLACE, REPLACE, CANCEL, CANCEL_MANY } = ENTRY;
const { PLACED, RESULT } = ENTRY_ANSWER;

/** Headers of a placement over HTTP. */
type RecordOptions = { readonly idempotencyKey?: string | null; readonly deadlineMs?: number };

/** An answer: its body as over HTTP if it is text, otherwise the accepted order. */
export type RecordAnswer = {
  readonly requestId: number;
  readonly status: number;
  /** The number of the error, 0 for none. */
  readonly code: number;
  readonly retryAfterSec: number;
  readonly isReplayed: boolean;
} & ({ readonly body: unknown; readonly placed: null } | { readonly body: null; readonly placed: PlacedRecord });

type PlacedRecord = {
  readonly order: PlacementResponse;
  readonly keptPriority: boolean;
  readonly changedPrice: boolean;
};

/** A request with one placement. Throws a TypeError for an order group, which records cannot carry. */
export function placeRecord(
  requestId: number,
  body: PlacementBody,
  options: RecordOptions = {},
): Uint8Array<ArrayBuffer> {
  const isExtended =
    body.client_order_id !== undefined || options.deadlineMs !== undefined || (options.idempotencyKey ?? null) !== null;
  const layout = isExtended ? EXTENDED_PLACE : PLACE;
  const record = start(layout.BYTES, PLACE.TYPE, requestId);
  writeOrder(record, body, options, isExtended);
  return record.bytes;
}

export function replaceRecord(
  requestId: number,
  oldHash: string,
  body: PlacementBody,
  mode: keyof typeof REPLACE_MODE,
  options: RecordOptions = {},
): Uint8Array<ArrayBuffer> {
  const record = start(REPLACE.BYTES, REPLACE.TYPE, requestId);
  writeOrder(record, body, options, true);
  record.words[REPLACE.flags] = REPLACE_MODE[mode];
  need(tryParseHex(oldHash, HASH_BYTES, record.bytes, REPLACE.oldHash * 4), 'order hash');
  return record.bytes;
}

export function cancelRecord(requestId: number, orderHash: string, hasTombstone = false): Uint8Array<ArrayBuffer> {
  const record = start(CANCEL.BYTES, CANCEL.TYPE, requestId);
  record.words[CANCEL.flags] = hasTombstone ? CANCEL_TOMBSTONE : 0;
  need(tryParseHex(orderHash, HASH_BYTES, record.bytes, CANCEL.hash * 4), 'order hash');
  return record.bytes;
}

export function cancelAllRecord(requestId: number): Uint8Array<ArrayBuffer> {
  const record = start(CANCEL_MANY.BYTES, CANCEL_MANY.TYPE, requestId);
  record.words[CANCEL_MANY.outcome] = BOTH_OUTCOMES;
  return record.bytes;
}

export function cancelMarketRecord(
  requestId: number,
  marketId: string,
  outcome: number = BOTH_OUTCOMES,
): Uint8Array<ArrayBuffer> {
  const record = start(MARKET_CANCEL.BYTES, CANCEL_MANY.TYPE, requestId);
  record.words[CANCEL_MANY.outcome] = outcome;
  need(uuidToBytes(marketId, record.bytes, MARKET_CANCEL.marketId * 4), 'market_id');
  return record.bytes;
}

export function heartbeatRecord(requestId: number): Uint8Array<ArrayBuffer> {
  return start(HEARTBEAT.BYTES, HEARTBEAT.TYPE, requestId).bytes;
}

/**
 * The body that the exchange reads from a record with an order.
 * @param marketId the market, which a record does not have
 */
export function bodyIn(bytes: Uint8Array<ArrayBuffer>, marketId: string): Readonly<Record<string, unknown>> {
  const words = new Uint32Array(bytes.buffer);
  const isExtended = words[ANY_COMMAND.length] !== PLACE.BYTES;
  const tokenId = uint256ToDecimal(bytes, PLACE.tokenId * 4);
  const record = { words, bytes, at: 0 };
  const clientId = isExtended ? clientIdOf(record) : undefined;
  return bodyOfRecord(record, { marketId, tokenId, clientId });
}

/** The answers of one message. */
export function answersIn(message: Uint8Array): RecordAnswer[] {
  // A copy, because the bytes of a view may not be aligned.
  const bytes = new Uint8Array(message);
  const words = new Uint32Array(bytes.buffer);
  const answers: RecordAnswer[] = [];
  for (let at = 0; at < words.length; at += words[at] >>> 2) answers.push(answerAt(words, bytes, at));
  return answers;
}

type Memory = { readonly words: Uint32Array; readonly bytes: Uint8Array<ArrayBuffer> };

function start(lengthBytes: number, type: number, requestId: number): Memory {
  const words = new Uint32Array(lengthBytes / 4);
  words[ANY_COMMAND.length] = lengthBytes;
  words[ANY_COMMAND.type] = entryType(type);
  words[ANY_COMMAND.requestId] = requestId;
  return { words, bytes: new Uint8Array(words.buffer) };
}

function writeOrder({ words, bytes }: Memory, body: PlacementBody, options: RecordOptions, isExtended: boolean): void {
  if (body.order_group !== undefined) throw new TypeError('an order group needs the entry of JSON');
  const malformed = writeBody({ words, bytes, at: 0 }, body);
  if (malformed !== null) throw new TypeError(`${malformed} is malformed`);
  if (isExtended) words[PLACE.kind] |= packKind(0, 0, 0, PLACE_BIT_EXTENDED);
  if (!isExtended) return;
  const { idempotencyKey = null, deadlineMs = 0 } = options;
  if (idempotencyKey !== null) need(uuidToBytes(idempotencyKey, bytes, EXTENDED_PLACE.key * 4), 'idempotency key');
  writeSafe(words, EXTENDED_PLACE.deadlineMs, deadlineMs);
  const clientId = body.client_order_id ?? '';
  need(clientId.length <= CLIENT_ID_MAX_BYTES, 'client_order_id');
  words[EXTENDED_PLACE.clientIdBytes] = clientId.length;
  for (let i = 0; i < clientId.length; i++) bytes[EXTENDED_PLACE.clientId * 4 + i] = clientId.charCodeAt(i);
}

function need(isWellFormed: boolean, field: string): void {
  if (!isWellFormed) throw new TypeError(`${field} is malformed`);
}

function answerAt(words: Uint32Array, bytes: Uint8Array, at: number): RecordAnswer {
  const head = { requestId: words[at + RESULT.requestId], status: words[at + RESULT.status] };
  if ((words[at + RESULT.type] & 0xffff) === PLACED.TYPE) {
    return { ...head, code: 0, retryAfterSec: 0, isReplayed: false, body: null, placed: placedAt(words, bytes, at) };
  }
  const from = (at + RESULT.WORDS) * 4;
  const text = new TextDecoder().decode(bytes.subarray(from, from + words[at + RESULT.textBytes]));
  return {
    ...head,
    code: words[at + RESULT.code],
    retryAfterSec: words[at + RESULT.retryAfterSec],
    isReplayed: words[at + RESULT.replayed] === 1,
    body: JSON.parse(text),
    placed: null,
  };
}

function placedAt(words: Uint32Array, bytes: Uint8Array, at: number): PlacedRecord {
  const kind = words[at + PLACED.kind];
  const bits = (kind >>> 16) & 0xff;
  const ticksPerUnit = words[at + PLACED.ticksPerUnit];
  const count = words[at + PLACED.fills];
  const fills = Array.from({ length: count }, (_, index) =>
    fillAt(words, bytes, at + PLACED.WORDS + index * PLACED_FILL.WORDS, ticksPerUnit),
  );
  return {
    order: {
      order_id: bytesToUuid(bytes, (at + PLACED.orderId) * 4),
      order_hash: toHex(bytes, (at + PLACED.hash) * 4, HASH_BYTES),
      status: ORDER_STATUS_NAMES[kind & 0xff],
      matches: count,
      fills,
      remaining: String(readSafe(words, at + PLACED.remaining)),
      remaining_status: REMAINDER_NAMES[(kind >>> 8) & 0xff],
    },
    keptPriority: (bits & PLACED_BIT_KEPT_PRIORITY) !== 0,
    changedPrice: (bits & PLACED_BIT_CHANGED_PRICE) !== 0,
  };
}

function fillAt(
  words: Uint32Array,
  bytes: Uint8Array,
  at: number,
  ticksPerUnit: number,
): PlacementResponse['fills'][0] {
  return {
    trade_id: bytesToUuid(bytes, (at + PLACED_FILL.tradeId) * 4),
    price: tickToPrice(words[at + PLACED_FILL.priceTicks], ticksPerUnit),
    token_quantity_atomic: String(readSafe(words, at + PLACED_FILL.quantityAtomic)),
    notional_usdc_micro: String(readSafe(words, at + PLACED_FILL.notionalMicro)),
    match_type: MATCH_TYPE_NAMES[words[at + PLACED_FILL.matchType]],
    maker_order_id: bytesToUuid(bytes, (at + PLACED_FILL.makerOrderId) * 4),
  };
}
