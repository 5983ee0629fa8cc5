/**
 * Orders on a socket as JSON (RULES.md 8.13): each message calls a route, like an HTTP request, on behalf of the
 * principal that opened the connection. All decisions are left to the routes. Owner: the gateway thread.
 *
 * Invariants:
 *   ORDERENTRY-1  A message that is accepted as a request is answered once, unless its connection has ended before.
 *   ORDERENTRY-2  A connection has at most MAX_ORDERS_IN_FLIGHT requests that are not answered.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import { type Refusal, retryAfterOf } from '../base/refusal.ts';
import { type AnswerBody, type AnswerOptions, Call, type CallHost, Transport } from '../http/call.ts';
import { errorFields } from '../http/respond.ts';
import type { RouteRow } from '../http/stages.ts';
import { type OrderData, type OrderRequest, toOrderRequest } from './entryActions.ts';
import type { OrderConnection, RequestId } from './entryConnection.ts';
import { MAX_ORDERS_IN_FLIGHT } from './entryLimits.ts';
import { toFrame } from './marketChannel.ts';
import { asciiText } from './marketText.ts';
import { type MessageBody, MessageScanner } from './messageScanner.ts';

/** The stages of the server, for calls whose principal is known. */
export type LoggedInCalls = CallHost & {
  rowOf(method: string, path: string): RouteRow;
  runLoggedIn(call: Call, row: RouteRow, principal: AccountPrincipal): void;
  isInForce(principal: AccountPrincipal, nowMs: number): boolean;
};

type OrderMessage = { readonly id: RequestId; readonly data: OrderData };
type OrderEntryOptions = { readonly calls: () => LoggedInCalls; readonly clock: Clock };

export const TOO_MANY_IN_FLIGHT: Refusal = {
  row: ERRORS.RATE_LIMITED,
  message: `too many requests in flight (max ${MAX_ORDERS_IN_FLIGHT})`,
  retryAfterSec: 1,
};
/** The request of a scanned `place` message without its order. */
const PLACE = toOrderRequest({ action: 'place' });
const ANONYMOUS: Refusal = { row: ERRORS.MISSING_API_KEY_HEADERS, details: { step: 'headers' } };

export class OrderEntry {
  readonly #options: OrderEntryOptions;
  readonly #scanner = new MessageScanner();

  constructor(options: OrderEntryOptions) {
    this.#options = options;
  }

  request(connection: OrderConnection, { id, data }: OrderMessage): void {
    this.#take(connection, id, toOrderRequest(data), null);
  }

  /** @returns false if the message cannot be scanned as an order to place: then nothing is done */
  tryPlace(connection: OrderConnection, message: Buffer): boolean {
    const scanner = this.#scanner;
    if (!scanner.read(message)) return false;
    this.#take(connection, scanner.id, PLACE, scanner.body());
    return true;
  }

  #take(connection: OrderConnection, id: RequestId, request: OrderRequest, scanned: MessageBody | null): void {
    const { principal } = connection;
    if (principal === null) this.#refuse(connection, id, ANONYMOUS);
    else if (connection.ordersInFlight >= MAX_ORDERS_IN_FLIGHT) this.#refuse(connection, id, TOO_MANY_IN_FLIGHT);
    else this.#run(connection, principal, id, request, scanned);
  }

  #run(
    connection: OrderConnection,
    principal: AccountPrincipal,
    id: RequestId,
    request: OrderRequest,
    scanned: MessageBody | null,
  ): void {
    const { method, path } = request.route;
    const calls = this.#options.calls();
    const transport = new MessageTransport(connection, id);
    const call = new Call(transport, method, request.path, request.query, this.#options.clock.nowMs(), calls);
    transport.forwardedFor = connection.origin.forwardedFor;
    call.params = request.params;
    call.idempotencyKey = request.idempotencyKey;
    call.ahead = { kind: 'message', value: request.body, deadline: request.deadline, scanned };
    // A repeat over HTTP is the same request if its body is this text (RULES.md 8.15).
    if (request.idempotencyKey !== '') call.bodyBytes = Buffer.from(JSON.stringify(request.body));
    connection.ordersInFlight++;
    calls.runLoggedIn(call, calls.rowOf(method, path), principal);
  }

  #refuse(connection: OrderConnection, id: RequestId, refusal: Refusal): void {
    const { status } = refusal.row;
    connection.push(resultFrame(id, status, JSON.stringify(errorFields(refusal)), refusal));
  }
}

/** The message of one call; its answer carries the message's id. */
class MessageTransport extends Transport {
  readonly response = null;
  readonly #connection: OrderConnection;
  readonly #id: RequestId;

  constructor(connection: OrderConnection, id: RequestId) {
    super();
    this.#connection = connection;
    this.#id = id;
  }

  get isGone(): boolean {
    return !this.#connection.isOpen;
  }

  peer(): Uint8Array {
    return this.#connection.origin.peer;
  }

  send(_call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
    this.#connection.ordersInFlight--;
    this.#connection.push(resultFrame(this.#id, status, body, options));
  }
}

function resultFrame(id: RequestId, status: number, body: AnswerBody, options: AnswerOptions): Buffer {
  const retryAfterSec = retryAfterOf(status, options);
  const retryAfter = retryAfterSec === 0 ? '' : `,"retry_after":${retryAfterSec}`;
  const replayed = options.isReplayed === true ? ',"replayed":true' : '';
  const data = `{"status":${status},"body":${body}${retryAfter}${replayed}}`;
  return toFrame(asciiText(`{"channel":"order_result","id":${JSON.stringify(id)},"data":${data}}`));
}
