/**
 * The orders of a rehearsal: the requests that most clients send, in realistic proportions: single orders that rest,
 * some that are matched, cancels, batches, and reads of the book, over HTTP with the headers of a key, and orders as
 * binary records on sockets.
 */
import { OUTCOME, type Outcome } from '../../../shared/base/codes.ts';
import { draftOrder, type OrderDraft } from '../../../shared/client/order.ts';
import { prepareRequest } from '../../../shared/client/request.ts';
import type { RequestSigner } from '../../../shared/client/requestSigner.ts';
import { placeRecord } from '../../../shared/client/stream/orderRecords.ts';
import type { MarketEntry } from '../../markets/catalog.ts';
import { type Connection, toBytes } from './connection.ts';
import type { QuickSigner } from './quickSigner.ts';
import { frameOf } from './recordSocket.ts';

/** An account that trades: it signs its orders and its requests. */
export type Trader = { readonly id: string; readonly orders: QuickSigner; readonly requests: RequestSigner };

type Placed = { readonly request: Buffer; readonly orderHash: string };

/** Two prices of Yes and No that match, so that an order of each outcome makes a pair of tokens. */
const RESTING_PRICE = '0.40';
const MEETING_PRICE = '0.60';
/** One of this many orders meets a resting order. */
const MEETS_EACH = 8;
const BATCH_ORDERS = 15;
const BATCHES_EACH_TURN = 2;
const READS_EACH_TURN = 8;
const ORDERS_EACH_TURN = 128;
/** Records on each socket in a turn; they may be in flight together. */
const RECORDS_EACH_TURN = 16;
const BROWSER_HEADERS = {
  'user-agent': 'rehearsal',
  'accept-encoding': 'gzip, br',
  origin: 'http://localhost',
  'sec-fetch-site': 'cross-site',
};
/** Used in place of the status of a request before the first answer. */
const STARTED = 1;

type Markets = readonly MarketEntry[];

export class Flow {
  readonly #maker: Trader;
  readonly #taker: Trader;
  readonly #drafts: readonly { readonly resting: readonly OrderDraft[]; readonly meeting: OrderDraft }[];
  readonly #paths: readonly string[];
  /** Hashes of orders that rest since the last turn. */
  #resting: string[] = [];
  #count = 0;

  constructor(maker: Trader, taker: Trader, markets: Markets) {
    this.#maker = maker;
    this.#taker = taker;
    this.#drafts = markets.map((market) => ({
      resting: [OUTCOME.YES, OUTCOME.NO].map((outcome) => draftOf(market, outcome, RESTING_PRICE)),
      meeting: draftOf(market, OUTCOME.NO, MEETING_PRICE),
    }));
    this.#paths = markets.flatMap(({ id }) => [`/v1/market-data/${id}/bbo`, `/v1/orders/book/${id}?levels=20`]);
  }

  /** Returns the requests of a turn; no request waits for another. The cancels are for orders of the turn before. */
  turn(): { readonly requests: Buffer[]; readonly orders: number } {
    const cancels = this.#resting.map((orderHash) => signedRequest(this.#maker, 'DELETE', `/v1/orders/${orderHash}`));
    this.#resting = [];
    const requests: Buffer[] = [];
    for (let index = 0; index < ORDERS_EACH_TURN; index++) {
      requests.push(index % MEETS_EACH === MEETS_EACH - 1 ? this.#meeting() : this.#restingOrder());
      if (index < cancels.length) requests.push(cancels[index]);
    }
    for (let batch = 0; batch < BATCHES_EACH_TURN; batch++) requests.push(this.#batch());
    for (let read = 0; read < READS_EACH_TURN; read++) requests.push(this.#read(read));
    return { requests, orders: ORDERS_EACH_TURN + BATCHES_EACH_TURN * BATCH_ORDERS };
  }

  /** Returns orders of a turn for one socket, as frames. */
  frames(): Buffer[] {
    return Array.from({ length: RECORDS_EACH_TURN }, (_, index) =>
      frameOf(placeRecord(1 + index, this.#maker.orders.sign(this.#nextDraft()).body)),
    );
  }

  #restingOrder(): Buffer {
    const { request, orderHash } = this.#placed(this.#maker, this.#nextDraft());
    this.#resting.push(orderHash);
    return request;
  }

  #meeting(): Buffer {
    const { meeting } = this.#drafts[this.#count++ % this.#drafts.length];
    return this.#placed(this.#taker, meeting).request;
  }

  #batch(): Buffer {
    const orders = Array.from({ length: BATCH_ORDERS }, () => this.#maker.orders.sign(this.#nextDraft()).body);
    return signedRequest(this.#maker, 'POST', '/v1/orders/batch', { orders });
  }

  #read(index: number): Buffer {
    const path = this.#paths[index % this.#paths.length];
    return toBytes(prepareRequest('GET', path, undefined, () => (index < READS_EACH_TURN / 2 ? BROWSER_HEADERS : {})));
  }

  #nextDraft(): OrderDraft {
    const count = this.#count++;
    const { resting } = this.#drafts[(count >>> 1) % this.#drafts.length];
    return resting[count & 1];
  }

  #placed(trader: Trader, draft: OrderDraft): Placed {
    const { body, orderHash } = trader.orders.sign(draft);
    return { request: signedRequest(trader, 'POST', '/v1/orders', body), orderHash };
  }
}

export function signedRequest({ requests }: Trader, method: string, path: string, payload?: unknown): Buffer {
  return toBytes(prepareRequest(method, path, payload, (...signed) => requests.headers(...signed)));
}

export function draftOf(
  { id, yesTokenId, noTokenId, ticksPerUnit, opening }: MarketEntry,
  outcomeIndex: Outcome,
  price: string,
): OrderDraft {
  const market = { id, yes_token_id: yesTokenId, no_token_id: noTokenId, ticks_per_unit: ticksPerUnit };
  return draftOrder({ market, outcomeIndex, side: 'BUY', price, size: '10', feeRateBps: opening.feeBps });
}

/** Sends the requests; each connection has one in flight. @returns when all are answered, or a connection is closed. */
export async function sendAll(connections: readonly Connection[], requests: readonly Buffer[]): Promise<void> {
  let next = 0;
  const drain = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      const step = (status: number): void => {
        if (status === 0) reject(new Error('rehearsal: a connection was closed'));
        else if (next === requests.length) resolve();
        else connection.send(requests[next++], step);
      };
      step(STARTED);
    });
  await Promise.all(connections.map(drain));
}
