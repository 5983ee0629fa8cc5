/** The open orders of the account, how much of each is left, and where each stands in its queue. */
import { useRef } from 'preact/hooks';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { BookOfOrders, BookOrder, UserOrder, UserOrders } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { complement, FINEST, finestTicks } from './format.ts';
import { ask } from './session.ts';

/** The orders and tokens ahead of an order at its own price. */
export type Queued = { readonly aheadOrders: number; readonly aheadAtomic: bigint };

const ORDERS_A_PAGE = 200;
/** An account with more open orders than fit trades by a program. */
const MOST_PAGES = 5;
const QUEUES_SECONDS = 10;
const MOST_LEVELS = 100;
const NO_QUEUES: ReadonlyMap<string, Queued> = new Map();

/** Newest first. */
export async function openOrders(): Promise<UserOrder[]> {
  const found: UserOrder[] = [];
  let cursor: string | null = '';
  for (let page = 0; page < MOST_PAGES && cursor !== null; page++) {
    const query = new URLSearchParams({ status: 'open', sort: 'created_at', limit: String(ORDERS_A_PAGE) });
    if (cursor !== '') query.set('cursor', cursor);
    const { orders, next_cursor }: UserOrders = await ask('GET', `/v1/user/orders/v2?${query}`);
    found.push(...orders);
    cursor = next_cursor;
  }
  return found;
}

/** The tokens still to be filled: a buyer's remainder is USDC at the signed price. */
export function leftAtomic({ side, price, remaining }: UserOrder): bigint {
  if (side === 'SELL') return BigInt(remaining);
  return (BigInt(remaining) * BigInt(FINEST)) / BigInt(finestTicks(price));
}

export function wholeAtomic(order: UserOrder): bigint {
  return leftAtomic(order) + BigInt(order.filled_token_quantity_atomic);
}

/**
 * Returns the queue position of each order by its id, from one read of the book with its orders: a request for each
 * order would soon be too many. The book is read again as soon as there is a new list of orders.
 */
export function useQueues(
  marketId: string,
  orders: readonly UserOrder[],
  yes: { readonly current: Levels },
): ReadonlyMap<string, Queued> {
  const list = useRef({ orders, round: 0 }).current;
  if (list.orders !== orders) {
    list.orders = orders;
    list.round += 1;
  }
  const key = orders.length === 0 ? '' : marketId;
  const load = async (): Promise<ReadonlyMap<string, Queued>> => {
    if (key === '') return NO_QUEUES;
    const query = new URLSearchParams({ l3: '1', levels: String(depthOf(orders, yes.current)) });
    const { bids, asks } = await get<BookOfOrders>(`/v1/orders/book/${marketId}?${query}`);
    return new Map([...positionsOf(bids), ...positionsOf(asks)]);
  };
  return useLoaded(key, load, QUEUES_SECONDS, list.round).value ?? NO_QUEUES;
}

/** The number of levels that contain all of the orders, even orders that the stream has not brought yet. */
function depthOf(orders: readonly UserOrder[], yes: Levels): number {
  const ranks = orders.map(({ side, outcome_index, price }) => {
    const isBid = (side === 'BUY') === (outcome_index === 0);
    const ticks = finestTicks(outcome_index === 0 ? price : complement(price));
    const better = (level: number): boolean => (isBid ? level > ticks : level < ticks);
    return (isBid ? yes.bids : yes.asks).filter((level) => better(finestTicks(level.price))).length + 1;
  });
  return Math.min(MOST_LEVELS, Math.max(1, ...ranks));
}

function positionsOf(side: readonly BookOrder[]): [string, Queued][] {
  let price = '';
  let aheadOrders = 0;
  let aheadAtomic = 0n;
  return side.map((order) => {
    if (order.price !== price) {
      price = order.price;
      aheadOrders = 0;
      aheadAtomic = 0n;
    }
    const position = { aheadOrders, aheadAtomic };
    aheadOrders += 1;
    aheadAtomic += BigInt(order.remaining_token_quantity_atomic);
    return [order.id, position];
  });
}
