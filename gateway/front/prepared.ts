/**
 * A usual placement as a front thread prepares it (preparing.ts), and as the stages of the gateway thread take it over.
 * The stages see the same headers and the same order as if they had read the request themselves: both ends use the
 * code that reads them there (http/headers.ts, trading/usualPlacement.ts).
 */
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';
import type { Prepared } from '../http/call.ts';
import { type HeaderLines, RequestHeaders } from '../http/headers.ts';
import type { ReadPlacement } from '../trading/usualPlacement.ts';
import { FROM_FRONT, TEXT_SEPARATOR } from './records.ts';

export const PREPARED_METHOD = 'POST';
export const PREPARED_PATH = '/v1/orders';

/** The headers that the stages of a placement use. */
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

const { PREPARED } = FROM_FRONT;
const MARKET_PART = PREPARED_HEADERS.length;

/** The text of a PREPARED: the headers, the market, the token, and the client order id, which may be empty. */
export function preparedText(headers: RequestHeaders, order: Omit<ReadPlacement, 'words' | 'at'>): string {
  return [
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
    order.marketId,
    order.tokenId,
    order.clientId ?? '',
  ].join(TEXT_SEPARATOR);
}

/** The placement of a record: its memory is that of the ring. */
export class PreparedCall implements Prepared, ReadPlacement, HeaderLines {
  readonly method = PREPARED_METHOD;
  readonly path = PREPARED_PATH;
  readonly query = null;
  readonly headers: RequestHeaders;
  readonly body: Buffer;
  readonly verifiedWith: number;
  readonly words: Uint32Array;
  readonly at: number;
  readonly marketId: string;
  readonly tokenId: string;
  readonly clientId: string | undefined;
  readonly #parts: readonly string[];

  constructor(words: Uint32Array, bytes: Buffer, word: number) {
    const textAt = (word + PREPARED.WORDS) * 4;
    const bodyAt = textAt + words[word + PREPARED.textBytes]!;
    this.#parts = bytes.toString('latin1', textAt, bodyAt).split(TEXT_SEPARATOR);
    this.headers = RequestHeaders.of(this);
    this.body = bytes.subarray(bodyAt, bodyAt + words[word + PREPARED.bodyBytes]!);
    this.verifiedWith = words[word + PREPARED.verifiedWith]!;
    this.words = words;
    this.at = word + PREPARED.order;
    this.marketId = this.#parts[MARKET_PART]!;
    this.tokenId = this.#parts[MARKET_PART + 1]!;
    const clientId = this.#parts[MARKET_PART + 2]!;
    this.clientId = clientId === '' ? undefined : clientId;
  }

  /** Its route reads the record. */
  get usual(): object {
    return this;
  }

  forEach(each: (name: string, value: string) => void): void {
    for (let part = 0; part < PREPARED_HEADERS.length; part++) each(PREPARED_HEADERS[part]!, this.#parts[part]!);
  }
}
