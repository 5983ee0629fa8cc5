/**
 * Orders on a socket as binary records, the subprotocol `svc.bin.1` (RULES.md 8.17 to 8.22): each record calls a route,
 * like a JSON message or an HTTP request. Apart from the order's signature, only the login of the connection is signed;
 * an order never becomes text on its way to its shard. Owner: the gateway thread.
 *
 * Invariants:
 *   BINARYENTRY-1  A frame is accepted as a whole or not at all: if any length, type or version in it is wrong, none of
 *                  its records is executed.
 *   BINARYENTRY-2  Each record of an accepted frame has one answer, unless its connection has ended before.
 *   BINARYENTRY-3  Every word of a record is checked; words that the gateway fills in must be zero.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { bytesToUuid, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { ANY_COMMAND, BOTH_OUTCOMES, CANCEL_TOMBSTONE, REPLACE_MODE } from '../../shared/wire/commands.ts';
import { ENTRY, ENTRY_LENGTHS, ENTRY_VERSION, MARKET_CANCEL } from '../../shared/wire/entry.ts';
import { type Invalid, type Refusal, retryAfterOf } from '../base/refusal.ts';
import { type AnswerBody, type AnswerOptions, Call, Transport } from '../http/call.ts';
import { errorFields } from '../http/respond.ts';
import type { RouteRow } from '../http/stages.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import { BinaryOrder, isZero, reserved } from '../trading/binaryOrder.ts';
import { type AcceptedSink, type Order, OrderRecords } from '../trading/order.ts';
import { TokenTexts } from '../trading/tokenTexts.ts';
import type { BinaryConnection } from './entryConnection.ts';
import { MAX_ORDERS_IN_FLIGHT } from './entryLimits.ts';
import { numberOfError } from './errorNumbers.ts';
import { asciiText } from './marketText.ts';
import { type LoggedInCalls, TOO_MANY_IN_FLIGHT } from './orderEntry.ts';

type BinaryEntryOptions = {
  readonly calls: () => LoggedInCalls;
  readonly clock: Clock;
  readonly catalog: Pick<Catalog, 'byToken'>;
  readonly engine: Pick<ShardClient, 'batch'>;
};

/** A record as the equivalent HTTP request. */
type RecordRequest = {
  readonly route: keyof typeof ROUTES;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly value: unknown;
  /** The reason why the route is not called, or null. */
  readonly invalid: Invalid | null;
  readonly record?: BinaryOrder;
  /** That of `record`, if its form is right. */
  readonly order?: Order | undefined;
};

const ROUTES = {
  place: ['POST', '/v1/orders'],
  cancel: ['DELETE', '/v1/orders/:hash'],
  cancelReplace: ['POST', '/v1/orders/cancel-replace'],
  amend: ['PUT', '/v1/orders/:hash/amend'],
  cancelAll: ['DELETE', '/v1/orders/cancel-all'],
  cancelMarket: ['DELETE', '/v1/orders/cancel-market'],
  heartbeat: ['POST', '/v1/orders/heartbeat'],
} as const;
const NO_FIELDS = Object.freeze({});
/** The request id in the answer to bytes that are no record. */
const NO_REQUEST_ID = 0;

export class BinaryEntry {
  readonly #options: BinaryEntryOptions;
  readonly #tokens = new TokenTexts();
  readonly #rows = new Map<keyof typeof ROUTES, RouteRow>();

  constructor(options: BinaryEntryOptions) {
    this.#options = options;
  }

  /** BINARYENTRY-1. @returns the reason why nothing of the message was executed, or null */
  receive(connection: BinaryConnection, message: Uint8Array): Refusal | null {
    if (message.length === 0 || message.length % 8 !== 0) return malformed('length');
    // The bytes of uWebSockets.js are valid for this turn, and orders keep those of their frame.
    const bytes = new Uint8Array(message);
    const words = new Uint32Array(bytes.buffer);
    const frame = new OrderRecords(words, bytes);
    const problem = problemOf(words);
    if (problem !== null) return problem;
    this.#options.engine.batch(() => {
      for (let at = 0; at < words.length; at += words[at] >>> 2) this.#run(connection, frame, at);
    });
    return null;
  }

  #run(connection: BinaryConnection, frame: OrderRecords, at: number): void {
    const { words } = frame;
    const requestId = words[at + ANY_COMMAND.requestId];
    if (connection.ordersInFlight >= MAX_ORDERS_IN_FLIGHT)
      return refuseRecord(connection, requestId, TOO_MANY_IN_FLIGHT);
    const type = words[at + ANY_COMMAND.type] & 0xffff;
    const transport = new RecordTransport(connection, requestId, type === ENTRY.REPLACE.TYPE);
    const request = this.#requestOf(type, frame, at, transport);
    const [method, path] = ROUTES[request.route];
    const calls = this.#options.calls();
    const call = new Call(
      transport,
      method,
      pathOf(path, request),
      request.query ?? null,
      this.#options.clock.nowMs(),
      calls,
    );
    transport.forwardedFor = connection.origin.forwardedFor;
    call.params = request.params ?? NO_FIELDS;
    call.ahead = { kind: 'record', value: request.value, invalid: request.invalid };
    if (request.record !== undefined) this.#setOrderHeaders(call, request.record, request);
    connection.ordersInFlight++;
    calls.runLoggedIn(call, this.#rowOf(request.route), connection.principal);
  }

  #rowOf(route: keyof typeof ROUTES): RouteRow {
    let row = this.#rows.get(route);
    if (row === undefined) {
      const [method, path] = ROUTES[route];
      row = this.#options.calls().rowOf(method, path);
      this.#rows.set(route, row);
    }
    return row;
  }

  /** Over HTTP, deadline and idempotency key are headers. With a key, the body is the text of RULES.md 8.21. */
  #setOrderHeaders(call: Call, record: BinaryOrder, { value, order }: RecordRequest): void {
    if (order !== undefined) call.deadlineMs = record.deadlineMs;
    call.idempotencyKey = record.idempotencyKey;
    if (call.idempotencyKey === '') return;
    const replacer = (_: string, member: unknown): unknown =>
      member === order ? record.bodyOf(order!, this.#options.catalog) : member;
    call.bodyBytes = order === undefined ? bytesOf(record) : Buffer.from(JSON.stringify(value, replacer));
  }

  #requestOf(type: number, frame: OrderRecords, at: number, sink: AcceptedSink): RecordRequest {
    const { words, bytes } = frame;
    const header = refuseHeader(words, at);
    switch (type) {
      case ENTRY.PLACE.TYPE: {
        const record = new BinaryOrder(frame, at, words[at] !== ENTRY.PLACE.BYTES);
        const invalid = header ?? refuseFlags(words, at, 0) ?? record.refuseForm();
        const order = invalid === null ? record.order(this.#tokens, sink) : undefined;
        return { route: 'place', value: order, record, order, invalid };
      }
      case ENTRY.REPLACE.TYPE:
        return this.#replacement(frame, at, sink, header);
      case ENTRY.CANCEL.TYPE: {
        const invalid = header ?? refuseFlags(words, at, CANCEL_TOMBSTONE);
        const params = { hash: toHex(bytes, (at + ENTRY.CANCEL.hash) * 4, HASH_BYTES) };
        const hasTombstone = words[at + ENTRY.CANCEL.flags] !== 0;
        return { route: 'cancel', params, value: NO_FIELDS, invalid, query: hasTombstone ? 'tombstone=1' : '' };
      }
      case ENTRY.CANCEL_MANY.TYPE:
        return manyCancels(words, bytes, at, header);
      default:
        return { route: 'heartbeat', value: NO_FIELDS, invalid: header ?? refuseFlags(words, at, 0) };
    }
  }

  #replacement(frame: OrderRecords, at: number, sink: AcceptedSink, header: Invalid | null): RecordRequest {
    const { words, bytes } = frame;
    const record = new BinaryOrder(frame, at, true);
    const invalid = header ?? refuseFlags(words, at, REPLACE_MODE.AMEND) ?? record.refuseForm();
    const order = invalid === null ? record.order(this.#tokens, sink) : undefined;
    const hash = toHex(bytes, (at + ENTRY.REPLACE.oldHash) * 4, HASH_BYTES);
    if (words[at + ENTRY.REPLACE.flags] === REPLACE_MODE.AMEND) {
      return { route: 'amend', params: { hash }, value: { new_order: order }, record, order, invalid };
    }
    return { route: 'cancelReplace', value: { cancel_hash: hash, new_order: order }, record, order, invalid };
  }
}

/** Sends a refusal of the socket itself. */
function refuseRecord(connection: BinaryConnection, requestId: number, refusal: Refusal): void {
  const { status, number } = refusal.row;
  const text = asciiText(JSON.stringify(errorFields(refusal)));
  const retryAfterSec = retryAfterOf(status, refusal);
  connection.results.text({ requestId, status, code: number, retryAfterSec, isReplayed: false, text });
  connection.resultsPushed();
}

export function refuseFrame(connection: BinaryConnection, refusal: Refusal): void {
  refuseRecord(connection, NO_REQUEST_ID, refusal);
}

/** One record of a client; its answer carries the record's request id. */
class RecordTransport extends Transport implements AcceptedSink {
  readonly response = null;
  readonly #connection: BinaryConnection;
  readonly #requestId: number;
  readonly #isReplacement: boolean;

  constructor(connection: BinaryConnection, requestId: number, isReplacement: boolean) {
    super();
    this.#connection = connection;
    this.#requestId = requestId;
    this.#isReplacement = isReplacement;
  }

  get isGone(): boolean {
    return !this.#connection.isOpen;
  }

  peer(): Uint8Array {
    return this.#connection.origin.peer;
  }

  send(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
    const connection = this.#connection;
    connection.ordersInFlight--;
    const text = asciiText(String(body));
    connection.results.text({
      requestId: this.#requestId,
      status,
      code: numberOfError(call.refusedAs, status, text),
      retryAfterSec: retryAfterOf(status, options),
      isReplayed: options.isReplayed === true,
      text,
    });
    connection.resultsPushed();
  }

  accepted(views: Views, reply: ShardReply, order: Order): void {
    const connection = this.#connection;
    connection.ordersInFlight--;
    connection.results.placed(this.#requestId, views, reply, order, this.#isReplacement);
    connection.resultsPushed();
  }
}

/** BINARYENTRY-1. The records must fill the frame exactly. */
function problemOf(words: Uint32Array): Refusal | null {
  let at = 0;
  while (at < words.length) {
    if (words.length - at < ANY_COMMAND.WORDS) return malformed('length');
    const lengthBytes = words[at + ANY_COMMAND.length];
    const type = words[at + ANY_COMMAND.type];
    if (type >>> 16 !== ENTRY_VERSION) return malformed('version');
    const lengths = ENTRY_LENGTHS.get(type & 0xffff);
    if (lengths === undefined) return malformed('type');
    if (!lengths.includes(lengthBytes)) return malformed('length');
    at += lengthBytes >>> 2;
  }
  return at === words.length ? null : malformed('length');
}

function malformed(field: string): Refusal {
  return { row: ERRORS.VALIDATION_ERROR, message: `invalid record: ${field}`, details: { field, rule: 'record' } };
}

/** BINARYENTRY-3, of the header; its flags belong to the type. */
function refuseHeader(words: Uint32Array, at: number): Invalid | null {
  if (words[at + ANY_COMMAND.account] !== 0) return reserved('account');
  if (!isZero(words, at + ANY_COMMAND.timeMs, at + ANY_COMMAND.timeMs + 2)) return reserved('timeMs');
  return words[at + ANY_COMMAND.market] === 0 ? null : reserved('market');
}

/** @param other the value besides 0 that the flags may have */
function refuseFlags(words: Uint32Array, at: number, other: number): Invalid | null {
  const flags = words[at + ANY_COMMAND.flags];
  return flags === 0 || flags === other ? null : reserved('flags');
}

function manyCancels(words: Uint32Array, bytes: Uint8Array, at: number, header: Invalid | null): RecordRequest {
  const isOfMarket = words[at] === MARKET_CANCEL.BYTES;
  const outcome = words[at + ENTRY.CANCEL_MANY.outcome];
  const isOutcome = outcome === BOTH_OUTCOMES || (isOfMarket && outcome < BOTH_OUTCOMES);
  const isUnusedZero = words[at + ENTRY.CANCEL_MANY.unused] === 0;
  const invalid =
    header ??
    refuseFlags(words, at, 0) ??
    (isUnusedZero ? null : reserved('unused')) ??
    (isOutcome ? null : reserved('outcome_index'));
  if (!isOfMarket) return { route: 'cancelAll', value: NO_FIELDS, invalid };
  const market_id = bytesToUuid(bytes, (at + MARKET_CANCEL.marketId) * 4);
  const value = outcome === BOTH_OUTCOMES ? { market_id } : { market_id, outcome_index: outcome };
  return { route: 'cancelMarket', value, invalid };
}

/** The idempotency key of a refused record covers all of the record except its id, which differs in a repeat. */
function bytesOf({ words, bytes, at }: BinaryOrder): Buffer {
  const copy = Buffer.from(bytes.subarray(at * 4, at * 4 + words[at]));
  copy.writeUInt32LE(NO_REQUEST_ID, ANY_COMMAND.requestId * 4);
  return copy;
}

function pathOf(path: string, { params }: RecordRequest): string {
  return params === undefined ? path : path.replace(':hash', params['hash']);
}
