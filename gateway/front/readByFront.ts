/**
 * A request about orders as a front thread reads it (frontReader.ts), and as the stages of the gateway thread take it
 * over. The stages see the same headers and the same orders as if they had read the request themselves: both ends use
 * the code that reads them there (http/headers.ts, trading/bodyScanner.ts).
 */
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import type { ReadByFront } from '../http/call.ts';
import { type HeaderLines, RequestHeaders } from '../http/headers.ts';
import type { BodyForm, ReadBody, ScannedBody } from '../trading/bodyScanner.ts';
import type { ReadPlacement } from '../trading/order.ts';
import { FROM_FRONT, TEXT_SEPARATOR } from './records.ts';

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

/** The headers that the stages of such a request use. */
const PREPARED_HEADERS = [
  'content-length',
  AUTH_HEADER.API_KEY,
  AUTH_HEADER.PASSPHRASE,
  AUTH_HEADER.TIMESTAMP,
  AUTH_HEADER.SIGNATURE,
  AUTH_HEADER.VERSION,
  AUTH_HEADER.NONCE,
  'idempotency-key',
  'x-svc-deadline',
  'origin',
  'accept-encoding',
  'x-forwarded-for',
  'connection',
] as const;

const QUERY_MARK = '?';
const METHOD_PART = 0;
const PATH_PART = 1;
const QUERY_PART = 2;
const HEADERS_PART = 3;
const CANCEL_HASH_PART = HEADERS_PART + PREPARED_HEADERS.length;
const ORDERS_PART = CANCEL_HASH_PART + 1;
const PARTS_OF_ORDER = 3;

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

/** The text of a READ_CALL. @param scanned null: the body has to be parsed */
export function textOfRead(
  { method, path, query }: RequestLine,
  headers: RequestHeaders,
  scanned: ScannedBody | null,
): string {
  const parts = [
    method,
    path,
    query === null ? '' : QUERY_MARK + query,
    String(headers.bodyBytes),
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
  return parts.join(TEXT_SEPARATOR);
}

/** The request of a record: its memory is that of the ring. */
export class CallReadByFront implements ReadByFront, RequestLine, HeaderLines {
  readonly kind = 'front';
  readonly headers: RequestHeaders;
  readonly body: Buffer;
  readonly verifiedWith: number;
  readonly scanned: ReadBody | null;
  readonly #parts: readonly string[];

  constructor(words: Uint32Array, bytes: Buffer, word: number) {
    const count = words[word + READ_CALL.orders];
    const ordersAt = word + READ_CALL.WORDS;
    const textAt = (ordersAt + count * PLACE.WORDS) * 4;
    const bodyAt = textAt + words[word + READ_CALL.textBytes];
    this.#parts = bytes.toString('latin1', textAt, bodyAt).split(TEXT_SEPARATOR);
    this.headers = RequestHeaders.of(this);
    this.body = bytes.subarray(bodyAt, bodyAt + words[word + READ_CALL.bodyBytes]);
    this.verifiedWith = words[word + READ_CALL.verifiedWith];
    this.scanned = count === 0 ? null : this.#scannedBody(words, ordersAt, count);
  }

  get method(): string {
    return this.#parts[METHOD_PART];
  }

  get path(): string {
    return this.#parts[PATH_PART];
  }

  get query(): string | null {
    const query = this.#parts[QUERY_PART];
    return query === '' ? null : query.slice(QUERY_MARK.length);
  }

  forEach(each: (name: string, value: string) => void): void {
    for (let index = 0; index < PREPARED_HEADERS.length; index++) {
      const value = this.#parts[HEADERS_PART + index];
      if (value !== '') each(PREPARED_HEADERS[index], value);
    }
  }

  #scannedBody(words: Uint32Array, ordersAt: number, count: number): ReadBody {
    const orders: ReadPlacement[] = [];
    for (let index = 0; index < count; index++) {
      const part = ORDERS_PART + PARTS_OF_ORDER * index;
      orders.push({
        words,
        at: ordersAt + index * PLACE.WORDS,
        marketId: this.#parts[part],
        tokenId: this.#parts[part + 1],
        clientId: this.#parts[part + 2] || undefined,
      });
    }
    return { orders, cancelHash: this.#parts[CANCEL_HASH_PART] };
  }
}
