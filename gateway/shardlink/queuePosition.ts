/**
 * The position of an order in the queue of its level (RULES.md 7.14). Queues are lists, so the orders before it and
 * after it are counted at the same time until one end is reached. In the middle of a very long queue, where counting
 * would block the thread, the position is unknown.
 */
import type { Book } from './bookViews.ts';
import { NONE } from './growingColumn.ts';
import type { OpenOrders } from './orderViews.ts';

/** Steps in each direction; a thousand take some microseconds. */
const MAX_STEPS = 16_384;

type QueuePosition = {
  /** Null if both ends are too far away. */
  readonly ahead: { readonly orders: number; readonly lots: number } | null;
  readonly levelLots: number;
};

export function queuePosition(book: Book, orders: OpenOrders, slot: number, maxSteps = MAX_STEPS): QueuePosition {
  const side = book.sideOf(orders, slot);
  const tick = book.tickOf(orders, slot);
  const levelLots = side.lots[tick];
  let before = orders.queuePrevious[slot];
  let behind = orders.queueNext[slot];
  let [lotsBefore, lotsBehind] = [0, orders.remainingLots[slot]];
  for (let steps = 0; steps <= maxSteps; steps++) {
    if (before === NONE) return { ahead: { orders: steps, lots: lotsBefore }, levelLots };
    if (behind === NONE) {
      return { ahead: { orders: side.orders[tick] - 1 - steps, lots: levelLots - lotsBehind }, levelLots };
    }
    lotsBefore += orders.remainingLots[before];
    lotsBehind += orders.remainingLots[behind];
    before = orders.queuePrevious[before];
    behind = orders.queueNext[behind];
  }
  return { ahead: null, levelLots };
}
