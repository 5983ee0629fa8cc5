/**
 * The requests of a load: orders signed in advance with the native addon, in encoded requests, so that during a round
 * its client only writes them and reads statuses (connection.ts, closedLoop.ts, openLoop.ts).
 */

import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { frameOf, STREAM_PATH, upgradeRequest } from '../gateway/wiring/rehearsal/recordSocket.ts';
import { SIDE } from '../shared/base/codes.ts';
import { toHex } from '../shared/base/hex.ts';
import type { Credentials } from '../shared/client/credentials.ts';
import { draftOrder, type OrderDraft, type OrderMarket } from '../shared/client/order.ts';
import { addressOf } from '../shared/client/privateKey.ts';
import { type PreparedRequest, prepareRequest } from '../shared/client/request.ts';
import { RequestSigner } from '../shared/client/requestSigner.ts';
import { placeRecord } from '../shared/client/stream/orderRecords.ts';
import type { PlacementBody } from '../shared/client/types.ts';
import { type Eip712Domain, type OrderHasher, ZERO_ADDRESS } from '../shared/crypto/eip712.ts';
import { loadSecp256k1 } from '../test/support/secp256k1.ts';

/** An account that sends orders. */
export type LoadSigner = { readonly credentials: Credentials; readonly privateKey: string };

/** The server, the market and the account of a load. */
export type LoadTarget = LoadSigner & {
  readonly baseUrl: string;
  readonly market: OrderMarket;
  readonly domain: Eip712Domain;
  readonly feeBps: number;
  /** Salts begin after this one, so that several clients of a server use different ones. */
  readonly lastSalt?: number;
};

/** A server that gets requests, and the process whose processor time is measured. */
export type Peer = { readonly baseUrl: string; readonly pid?: number | undefined };
export type PeerProcess = Peer & { readonly pid: number };

/** The most orders that a batch may have. */
export const BATCH_ORDERS = 15;

const V_OFFSET = 27;
const PRICE = '0.40';
/** The number of prices below PRICE, a cent apart, through which a quote moves. */
const QUOTED_PRICES = 10;

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
  #salt: number;

  constructor(options: LoadTarget, hasher: OrderHasher) {
    this.#options = options;
    this.#salt = options.lastSalt ?? 0;
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

  /** Opens a socket for binary records; each has a nonce of its own. */
  socket(): Buffer {
    return upgradeRequest(this.#authenticated('GET', STREAM_PATH).headers);
  }

  /** A placement as a binary record in a frame. */
  placeFrame(): Buffer {
    const { body } = this.#signed(this.#drafts[this.#salt % this.#drafts.length]);
    return frameOf(placeRecord(this.#salt, body));
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

export function toGet(path: string): Buffer {
  return toBytes(prepareRequest('GET', path, undefined));
}

/** A batch is answered with 200 whatever the results of its orders are. */
export function hasFailedRows(answer: Buffer): boolean {
  return answer.includes('"failed":') && !answer.includes('"failed":0,');
}
