/**
 * Where an order stands in the queue of its level (RULES.md 7.14). Queues are lists, so the order is counted from
 * whichever end is nearer; in the middle of a queue so long that this would hold up the thread, nothing is counted.
 */
import type { Book } from './books.ts';
import { NONE } from './columns.ts';
import type { OpenOrders } from './orders.ts';

/** Either way; some microseconds each thousand. */
const MAX_STEPS = 16_384;

export type QueuePlace = {
  /** Null where both ends are too far away. */
  readonly ahead: { readonly orders: number; readonly lots: number } | null;
  readonly levelLots: number;
};

export function queuePlace(book: Book, orders: OpenOrders, slot: number, maxSteps = MAX_STEPS): QueuePlace {
  const side = book.sideOf(orders, slot);
  const tick = book.tickOf(orders, slot);
  const levelLots = side.lots[tick]!;
  let before = orders.queuePrevious[slot]!;
  let behind = orders.queueNext[slot]!;
  let [lotsBefore, lotsBehind] = [0, orders.remainingLots[slot]!];
  for (let steps = 0; steps <= maxSteps; steps++) {
    if (before === NONE) return { ahead: { orders: steps, lots: lotsBefore }, levelLots };
    if (behind === NONE) {
      return { ahead: { orders: side.orders[tick]! - 1 - steps, lots: levelLots - lotsBehind }, levelLots };
    }
    lotsBefore += orders.remainingLots[before]!;
    lotsBehind += orders.remainingLots[behind]!;
    before = orders.queuePrevious[before]!;
    behind = orders.queueNext[behind]!;
  }
  return { ahead: null, levelLots };
}
