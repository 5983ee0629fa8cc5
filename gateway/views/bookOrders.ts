/** A book order by order: the levels of bookLevels.ts, each as the queue of its orders (RULES.md 7.5). */
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { type Book, type BookSide, NO_TICK } from './books.ts';
import { NONE } from './growingColumn.ts';
import type { OpenOrders } from './orders.ts';

type BookOrder = {
  readonly id: string;
  readonly price: string;
  readonly remaining_token_quantity_atomic: string;
};

/** Best price first; at one price the order that is filled first. */
type BookOrders = {
  readonly bids: readonly BookOrder[];
  readonly asks: readonly BookOrder[];
  /** The requested levels have more orders than an answer holds. */
  readonly has_more: boolean;
};

/** Orders of one side in an answer: writing them takes two milliseconds of the gateway thread. */
export const MAX_ORDERS_SHOWN = 2000;

const EMPTY: BookOrders = { bids: [], asks: [], has_more: false };

export function bookOrders(book: Book | undefined, from: OpenOrders, outcome: Outcome, levels: number): BookOrders {
  if (book === undefined) return EMPTY;
  const bids = sideOrders(book, book.bids, from, outcome, levels);
  const asks = sideOrders(book, book.asks, from, outcome, levels);
  const has_more = bids.hasMore || asks.hasMore;
  if (outcome === OUTCOME.YES) return { bids: bids.orders, asks: asks.orders, has_more };
  return { bids: asks.orders, asks: bids.orders, has_more };
}

function sideOrders(book: Book, side: BookSide, from: OpenOrders, outcome: Outcome, levels: number) {
  const { ticksPerUnit } = book;
  const isBids = side === book.bids;
  const orders: BookOrder[] = [];
  let tick = isBids ? side.highest() : side.lowest();
  for (let level = 0; level < levels && tick !== NO_TICK; level++) {
    const price = tickToPrice(outcome === OUTCOME.YES ? tick : ticksPerUnit - tick, ticksPerUnit);
    for (let slot = side.head[tick]; slot !== NONE; slot = from.queueNext[slot]) {
      if (orders.length === MAX_ORDERS_SHOWN) return { orders, hasMore: true };
      const remaining_token_quantity_atomic = productToString(from.remainingLots[slot], ticksPerUnit);
      orders.push({ id: from.orderId(slot), price, remaining_token_quantity_atomic });
    }
    tick = isBids ? side.below(tick) : side.above(tick);
  }
  return { orders, hasMore: false };
}
