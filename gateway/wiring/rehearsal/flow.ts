/**
 * The orders of a rehearsal: what most clients send. Single orders that rest, some that are matched, cancels,
 * replacements, batches, and reads of the book, over HTTP with the headers of a key, and orders as binary records on
 * sockets. Levels of the book come and go with them, the best ones too, and orders are filled in parts.
 */
import { OUTCOME, type Outcome } from '../../../shared/base/codes.ts';
import { draftOrder, type OrderDraft } from '../../../shared/client/order.ts';
import { prepareRequest } from '../../../shared/client/request.ts';
import type { RequestSigner } from '../../../shared/client/requestSigner.ts';
import { placeRecord } from '../../../shared/client/stream/orderRecords.ts';
import type { PlacementBody } from '../../../shared/client/types.ts';
import type { MarketEntry } from '../../store/catalog.ts';
import { type Connection, toBytes } from './connection.ts';
import type { QuickSigner } from './quickSigner.ts';
import { frameOf } from './recordSocket.ts';

/** An account that trades: the signatures of its orders, and those of its requests. */
export type Trader = { readonly id: string; readonly orders: QuickSigner; readonly requests: RequestSigner };

/** An order of one outcome at the price that meets, and an order of the other at a price here, make pairs of tokens. */
const RESTING_PRICES = ['0.40', '0.39', '0.38', '0.37'];
const MEETING_PRICE = '0.60';
/** Of the first order of a turn: a level of its own, which ends with it. */
const BEST_PRICE = '0.45';
/** Of orders that replace others: each is a level of its own, too. */
const REPLACED_PRICES = Array.from({ length: 32 }, (_, tick) => `0.${String(1 + tick).padStart(2, '0')}`);
const RESTING_SIZE = '10';
const MEETING_SIZE = '15';
/** Of so many orders one meets another one. */
const MEETS_EACH = 8;
/** Of so many orders that end one is replaced. */
const REPLACES_EACH = 4;
const BATCH_ORDERS = 15;
const BATCHES_EACH_TURN = 2;
const READS_EACH_TURN = 8;
const ORDERS_EACH_TURN = 128;
/** On each socket; they may be in flight together. */
const RECORDS_EACH_TURN = 24;
const OUTCOMES = [OUTCOME.YES, OUTCOME.NO];
const BROWSER_HEADERS = {
  'user-agent': 'rehearsal',
  'accept-encoding': 'gzip, br',
  origin: 'http://localhost',
  'sec-fetch-site': 'cross-site',
};
/** In place of the status of a request before the first. */
const STARTED = 1;

type Markets = readonly MarketEntry[];

export class Flow {
  readonly #maker: Trader;
  readonly #taker: Trader;
  readonly #resting: Drafts;
  readonly #best: Drafts;
  readonly #replaced: Drafts;
  readonly #meeting: Drafts;
  readonly #paths: readonly string[];
  /** Hashes of orders that rest since the last turn. */
  #lastResting: string[] = [];

  constructor(maker: Trader, taker: Trader, markets: Markets) {
    this.#maker = maker;
    this.#taker = taker;
    this.#resting = new Drafts(markets, RESTING_PRICES, RESTING_SIZE);
    this.#best = new Drafts(markets, [BEST_PRICE], RESTING_SIZE);
    this.#replaced = new Drafts(markets, REPLACED_PRICES, RESTING_SIZE);
    this.#meeting = new Drafts(markets, [MEETING_PRICE], MEETING_SIZE);
    this.#paths = markets.flatMap(({ id }) => [`/v1/market-data/${id}/bbo`, `/v1/orders/book/${id}?levels=20`]);
  }

  /** The requests of a turn, in which no one waits for another. What it ends are orders of the turn before. */
  turn(): { readonly requests: Buffer[]; readonly orders: number } {
    const ending = this.#lastResting;
    this.#lastResting = [];
    const ends = ending.map((orderHash, index) => this.#end(orderHash, index));
    const requests: Buffer[] = [];
    for (let index = 0; index < ORDERS_EACH_TURN; index++) {
      requests.push(this.#order(index));
      if (index < ends.length) requests.push(ends[index]);
    }
    for (let batch = 0; batch < BATCHES_EACH_TURN; batch++) requests.push(this.#batch());
    for (let read = 0; read < READS_EACH_TURN; read++) requests.push(this.#read(read));
    return { requests, orders: ORDERS_EACH_TURN + BATCHES_EACH_TURN * BATCH_ORDERS };
  }

  /** Orders of a turn for one socket, as frames. */
  frames(): Buffer[] {
    return Array.from({ length: RECORDS_EACH_TURN }, (_, index) =>
      frameOf(placeRecord(1 + index, this.#maker.orders.sign(this.#resting.next()).body)),
    );
  }

  #order(index: number): Buffer {
    if (index % MEETS_EACH !== MEETS_EACH - 1) {
      const order = this.#restingOrder(index === 0 ? this.#best : this.#resting);
      return signedRequest(this.#maker, 'POST', '/v1/orders', order);
    }
    return signedRequest(this.#taker, 'POST', '/v1/orders', this.#taker.orders.sign(this.#meeting.next()).body);
  }

  /** A cancel, or another order in its place. */
  #end(orderHash: string, index: number): Buffer {
    if (index % REPLACES_EACH !== 0) return signedRequest(this.#maker, 'DELETE', `/v1/orders/${orderHash}`);
    const payload = { cancel_hash: orderHash, new_order: this.#restingOrder(this.#replaced) };
    return signedRequest(this.#maker, 'POST', '/v1/orders/cancel-replace', payload);
  }

  #restingOrder(drafts: Drafts): PlacementBody {
    const { body, orderHash } = this.#maker.orders.sign(drafts.next());
    this.#lastResting.push(orderHash);
    return body;
  }

  #batch(): Buffer {
    const orders = Array.from({ length: BATCH_ORDERS }, () => this.#maker.orders.sign(this.#resting.next()).body);
    return signedRequest(this.#maker, 'POST', '/v1/orders/batch', { orders });
  }

  #read(index: number): Buffer {
    const path = this.#paths[index % this.#paths.length];
    return toBytes(prepareRequest('GET', path, undefined, () => (index < READS_EACH_TURN / 2 ? BROWSER_HEADERS : {})));
  }
}

/** Orders of both outcomes in turn, at each price in each market. */
class Drafts {
  readonly #drafts: readonly OrderDraft[];
  #count = 0;

  constructor(markets: Markets, prices: Iterable<string>, size: string) {
    const ofPrice = (price: string): OrderDraft[] =>
      markets.flatMap((market) => OUTCOMES.map((outcome) => draftOf(market, outcome, price, size)));
    this.#drafts = Array.from(prices).flatMap(ofPrice);
  }

  next(): OrderDraft {
    return this.#drafts[this.#count++ % this.#drafts.length];
  }
}

export function signedRequest({ requests }: Trader, method: string, path: string, payload?: unknown): Buffer {
  return toBytes(prepareRequest(method, path, payload, (...signed) => requests.headers(...signed)));
}

export function draftOf(
  { id, yesTokenId, noTokenId, ticksPerUnit, opening }: MarketEntry,
  outcomeIndex: Outcome,
  price: string,
  size = RESTING_SIZE,
): OrderDraft {
  const market = { id, yes_token_id: yesTokenId, no_token_id: noTokenId, ticks_per_unit: ticksPerUnit };
  return draftOrder({ market, outcomeIndex, side: 'BUY', price, size, feeRateBps: opening.feeBps });
}

/** Each connection has one request in flight. @returns when all are answered, or a connection is closed. */
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
