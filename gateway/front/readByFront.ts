/**
 * A request about orders as a front thread reads it (frontReader.ts), and as the stages of the gateway thread take it
 * over. The stages see the same headers and the same orders as if they had read the request themselves: both ends use
 * the code that reads them there (http/headers.ts, trading/bodyScanner.ts).
 */
import { unreachable } from '../../shared/base/assert.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import type { ReadByFront } from '../http/call.ts';
import { type HeaderLines, RequestHeaders } from '../http/headers.ts';
import type { BodyForm, ReadBody, ScannedBody } from '../trading/bodyScanner.ts';
import type { ReadPlacement } from '../trading/order.ts';
import { FROM_FRONT } from './records.ts';

const { PLACE } = COMMAND;
const { READ_CALL } = FROM_FRONT;

/** All routes that change orders are below it. */
const ORDERS_PATH = '/v1/orders';
const AMEND_END = '/amend';
/** By method and path, but for amends. */
const FORMS: ReadonlyMap<string, BodyForm> = new Map([
  ['POST /v1/orders', 'order'],
  ['POST /v1/orders/batch', 'batch'],
  ['POST /v1/orders/cancel-replace', 'replacement'],
]);

const QUERY_MARK = '?';

/** The first line of a request. */
export type RequestLine = { readonly method: string; readonly path: string; readonly query: string | null };

/** True for a request of the kind that a front reads. */
export function changesOrders(method: string, path: string): boolean {
  return (method === 'POST' || method === 'DELETE' || method === 'PUT') && path.startsWith(ORDERS_PATH);
}

/** The form in which the request's body is scanned; null: every body of its route is parsed. */
export function formOf({ method, path }: RequestLine): BodyForm | null {
  if (method === 'PUT' && path.endsWith(AMEND_END)) return 'amendment';
  return FORMS.get(`${method} ${path}`) ?? null;
}

/** The parts of the text of a READ_CALL, in the order in which they are read. @param scanned null: body is parsed */
export function partsOfRead(
  { method, path, query }: RequestLine,
  headers: RequestHeaders,
  scanned: ScannedBody | null,
): string[] {
  const parts = [
    method,
    path,
    query === null ? '' : QUERY_MARK + query,
    headers.keyId,
    headers.passphrase,
    headers.timestamp,
    headers.signature,
    headers.version,
    headers.nonce,
    headers.idempotencyKey,
    headers.deadline,
    headers.origin,
    headers.acceptEncoding,
    headers.forwardedFor,
    headers.isKeptAlive ? '' : 'close',
    scanned?.cancelHash ?? '',
  ];
  for (const { marketId, tokenId, clientId } of scanned?.orders ?? []) parts.push(marketId, tokenId, clientId ?? '');
  return parts;
}

/** The request of a record: its memory is that of the ring. */
export class CallReadByFront implements ReadByFront, RequestLine, HeaderLines {
  readonly kind = 'front';
  readonly method: string;
  readonly path: string;
  readonly query: string | null;
  readonly headers: RequestHeaders;
  readonly body: Buffer;
  readonly verifiedWith: number;
  readonly scanned: ReadBody | null;
  readonly #words: Uint32Array;
  readonly #text: string;
  #lengthAt: number;
  #at = 0;

  constructor(words: Uint32Array, bytes: Buffer, word: number) {
    const count = words[word + READ_CALL.orders];
    const ordersAt = word + READ_CALL.WORDS;
    this.#lengthAt = ordersAt + count * PLACE.WORDS;
    const textAt = (this.#lengthAt + words[word + READ_CALL.parts]) * 4;
    const bodyAt = textAt + words[word + READ_CALL.textBytes];
    this.#words = words;
    this.#text = bytes.toString('latin1', textAt, bodyAt);
    this.body = bytes.subarray(bodyAt, bodyAt + words[word + READ_CALL.bodyBytes]);
    this.verifiedWith = words[word + READ_CALL.verifiedWith];
    this.method = this.#part();
    this.path = this.#part();
    const query = this.#part();
    this.query = query === '' ? null : query.slice(QUERY_MARK.length);
    this.headers = this.#headers(this.body.length);
    const cancelHash = this.#part();
    this.scanned = count === 0 ? null : { orders: this.#orders(ordersAt, count), cancelHash };
  }

  forEach(): never {
    unreachable('read by front: no route that changes orders takes foreign headers');
  }

  #part(): string {
    const from = this.#at;
    this.#at += this.#words[this.#lengthAt++];
    return this.#text.slice(from, this.#at);
  }

  #headers(bodyBytes: number): RequestHeaders {
    const headers = new RequestHeaders(bodyBytes);
    headers.keyId = this.#part();
    headers.passphrase = this.#part();
    headers.timestamp = this.#part();
    headers.signature = this.#part();
    headers.version = this.#part();
    headers.nonce = this.#part();
    headers.idempotencyKey = this.#part();
    headers.deadline = this.#part();
    headers.origin = this.#part();
    headers.acceptEncoding = this.#part();
    headers.forwardedFor = this.#part();
    headers.isPassedOn = headers.forwardedFor !== '';
    headers.isKeptAlive = this.#part() === '';
    return headers;
  }

  #orders(ordersAt: number, count: number): ReadPlacement[] {
    const orders: ReadPlacement[] = [];
    for (let index = 0; index < count; index++) {
      orders.push({
        words: this.#words,
        at: ordersAt + index * PLACE.WORDS,
        marketId: this.#part(),
        tokenId: this.#part(),
        clientId: this.#part() || undefined,
      });
    }
    return orders;
  }
}
