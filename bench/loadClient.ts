/**
 * The client's side of a load: orders signed in advance with the native addon, and plain keep-alive connections with
 * one request in flight each.
 */
import { connect, type Socket } from 'node:net';
import { SIDE } from '../shared/base/codes.ts';
import { toHex } from '../shared/base/hex.ts';
import type { Credentials } from '../shared/client/credentials.ts';
import { draftOrder, type OrderDraft, type OrderMarket } from '../shared/client/order.ts';
import { addressOf } from '../shared/client/privateKey.ts';
import { type PreparedRequest, prepareRequest } from '../shared/client/request.ts';
import { RequestSigner } from '../shared/client/requestSigner.ts';
import type { PlacementBody } from '../shared/client/types.ts';
import { type Eip712Domain, type OrderHasher, ZERO_ADDRESS } from '../shared/crypto/eip712.ts';
import { loadSecp256k1 } from '../shared/crypto/secp256k1.ts';

/** An account that sends orders. */
export type LoadSigner = { readonly credentials: Credentials; readonly privateKey: string };

/** The server, the market and the account of a load. */
export type LoadTarget = LoadSigner & {
  readonly baseUrl: string;
  readonly market: OrderMarket;
  readonly domain: Eip712Domain;
  readonly feeBps: number;
};

/** A server that gets requests, and the process whose processor time is measured. */
export type Peer = { readonly baseUrl: string; readonly pid?: number };

const V_OFFSET = 27;
const PRICE = '0.40';
/** Number of prices below PRICE, a cent apart, that a quote moves through. */
const QUOTED_PRICES = 10;
/** An answer longer than this arrives in several reads. */
const READ_BYTES = 16_384;
const INCOMPLETE = -1;
const LINE_FEED = 0x0a;
const DIGIT_0 = 0x30;
/** The bit that makes a letter lower case; it is set in hyphen and colon too. */
const LOWERCASE = 0x20;
const CONTENT_LENGTH = Buffer.from('content-length:');
/** Offsets of the three digits after `HTTP/1.1 `. */
const STATUS_START = 9;
const STATUS_END = 12;

type Prepared = { readonly request: PreparedRequest; readonly orderHash: string };

export class OrderFactory {
  readonly #options: LoadTarget;
  readonly #hasher: OrderHasher;
  /** Signs with the addon: the reference in TypeScript would take longer than the whole bench. */
  readonly #secp256k1 = loadSecp256k1();
  readonly #privateKey: Uint8Array;
  readonly #address: string;
  readonly #requestSigner: RequestSigner;
  readonly #drafts: readonly OrderDraft[];
  #salt = 0;

  constructor(options: LoadTarget, hasher: OrderHasher) {
    this.#options = options;
    this.#hasher = hasher;
    this.#privateKey = Buffer.from(options.privateKey.slice(2), 'hex');
    this.#address = addressOf(options.privateKey);
    this.#requestSigner = new RequestSigner(options.credentials);
    this.#drafts = this.#bids(PRICE);
  }

  place(): Prepared {
    return this.#placement(this.#drafts[this.#salt % this.#drafts.length]);
  }

  batch(count: number): PreparedRequest {
    const orders = Array.from({ length: count }, (_, index) => this.#signed(this.#drafts[index % 2]).body);
    return this.#authenticated('POST', '/v1/orders/batch', { orders });
  }

  /** The requests of a market maker: a bid for each outcome, and then new prices for one and the other in turn. */
  quotes(count: number): PreparedRequest[] {
    const prices = Array.from({ length: QUOTED_PRICES }, (_, step) => this.#bids(`0.${39 - step}`));
    const resting: string[] = [];
    return Array.from({ length: count }, (_, index) => {
      const side = index % 2;
      const { body, orderHash } = this.#signed(prices[(index >>> 1) % QUOTED_PRICES][side]);
      const old = resting[side];
      resting[side] = orderHash;
      if (old === undefined) return this.#authenticated('POST', '/v1/orders', body);
      return this.#authenticated('POST', '/v1/orders/cancel-replace', { cancel_hash: old, new_order: body });
    });
  }

  /** Bids for both outcomes at falling prices: a book with that many levels on each side. */
  ladder(levels: number): PreparedRequest[] {
    const prices = Array.from({ length: levels }, (_, level) => `0.${String(39 - level).padStart(2, '0')}`);
    return prices.flatMap((price) => this.#bids(price)).map((draft) => this.#placement(draft).request);
  }

  cancel(orderHash: string): PreparedRequest {
    return this.#authenticated('DELETE', `/v1/orders/${orderHash}`);
  }

  /** Bids for both outcomes that never meet: a book with two sides and no trade. */
  #bids(price: string): OrderDraft[] {
    const { market, feeBps: feeRateBps } = this.#options;
    return ([0, 1] as const).map((outcomeIndex) =>
      draftOrder({ market, outcomeIndex, side: 'BUY', price, size: '10', feeRateBps }),
    );
  }

  #placement(draft: OrderDraft): Prepared {
    const { body, orderHash } = this.#signed(draft);
    return { request: this.#authenticated('POST', '/v1/orders', body), orderHash };
  }

  #signed(draft: OrderDraft): { body: PlacementBody; orderHash: string } {
    const salt = String(++this.#salt);
    const digest = this.#hasher.digestOf({
      salt,
      maker: this.#address,
      signer: this.#address,
      tokenId: draft.token_id,
      makerAmount: Number(draft.maker_amount),
      takerAmount: Number(draft.taker_amount),
      expirationSec: 0,
      nonce: Number(draft.nonce),
      feeRateBps: draft.fee_rate_bps,
      minTakerNet: 0,
      side: SIDE.BUY,
    });
    const parties = { maker: this.#address, signer: this.#address, taker: ZERO_ADDRESS };
    return { body: { ...draft, ...parties, salt, signature: this.#sign(digest) }, orderHash: toHex(digest) };
  }

  #sign(digest: Uint8Array): string {
    const { signature, recid } = this.#secp256k1.ecdsaSign(digest, this.#privateKey);
    return toHex(Uint8Array.of(...signature, V_OFFSET + recid));
  }

  #authenticated(method: string, path: string, payload?: unknown): PreparedRequest {
    return prepareRequest(method, path, payload, (...signed) => this.#requestSigner.headers(...signed));
  }
}

/** Status 0: the connection was closed instead. The bytes of the answer are valid until the callback returns. */
type OnAnswer = (status: number, answer: Buffer) => void;

const NOTHING = Buffer.alloc(0);

/** One keep-alive connection; the next request goes out when the last one is answered. */
export class Connection {
  readonly #socket: Socket;
  /** The part of an incomplete answer that has arrived, or null. */
  #partial: Buffer | null = null;
  #onAnswer: OnAnswer = () => {};

  static async open(baseUrl: string): Promise<Connection> {
    const { hostname, port } = new URL(baseUrl);
    const connection = new Connection(hostname, Number(port));
    const socket = connection.#socket;
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return connection;
  }

  /** Reads into one piece of memory: a stream would make one for every answer, which costs more than looking at it. */
  private constructor(host: string, port: number) {
    const buffer = Buffer.alloc(READ_BYTES);
    const callback = (count: number): boolean => {
      this.#receive(buffer.subarray(0, count));
      return true;
    };
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer, callback } });
    this.#socket.on('close', () => this.#onAnswer(0, NOTHING));
  }

  send(request: Buffer, onAnswer: OnAnswer): void {
    this.#onAnswer = onAnswer;
    if (this.#socket.destroyed) setImmediate(onAnswer, 0, NOTHING);
    else this.#socket.write(request);
  }

  close(): void {
    this.#onAnswer = () => {};
    this.#socket.destroy();
  }

  #receive(read: Buffer): void {
    const bytes = this.#partial === null ? read : Buffer.concat([this.#partial, read]);
    const status = statusOf(bytes);
    if (status === INCOMPLETE) {
      this.#partial = Buffer.from(bytes);
      return;
    }
    this.#partial = null;
    this.#onAnswer(status, bytes);
  }
}

/** The status of an answer whose head and announced body are all there, or INCOMPLETE. */
export function statusOf(bytes: Uint8Array): number {
  let bodyBytes = 0;
  let line = 0;
  for (;;) {
    const lineFeed = bytes.indexOf(LINE_FEED, line);
    if (lineFeed < 0) return INCOMPLETE;
    // The head ends with an empty line.
    if (lineFeed - line <= 1) {
      const isWhole = bytes.length > lineFeed + bodyBytes;
      return isWhole ? decimalIn(bytes, STATUS_START, STATUS_END) : INCOMPLETE;
    }
    if (isContentLength(bytes, line)) bodyBytes = decimalIn(bytes, line + CONTENT_LENGTH.length, lineFeed);
    line = lineFeed + 1;
  }
}

function isContentLength(bytes: Uint8Array, line: number): boolean {
  for (let index = 0; index < CONTENT_LENGTH.length; index++) {
    if ((bytes[line + index] | LOWERCASE) !== CONTENT_LENGTH[index]) return false;
  }
  return true;
}

/** Of the digits between two places, whatever stands around them. */
function decimalIn(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let index = start; index < end; index++) {
    const digit = bytes[index] - DIGIT_0;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
  }
  return value;
}

export function toBytes({ method, path, headers, body }: PreparedRequest): Buffer {
  const fields = { host: 'localhost', ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
