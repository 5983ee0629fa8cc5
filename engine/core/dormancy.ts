/**
 * A change of the canonical fee in a book (RULES.md 2.4): orders signed under another fee become dormant, and dormant
 * orders signed under the new fee wake in order of priority. The book is then empty, and the waking orders were in it
 * together before, so none crosses another. The work is linear in the orders of the book and not on the hot path, so it
 * may allocate.
 */
import { assert } from '../../shared/base/assert.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { type Levels, NO_TICK } from '../book/levels.ts';
import type { Market } from '../book/market.ts';
import { NONE, type Orders, WORD_SHIFT } from '../book/orders.ts';
import type { Digest } from '../output/digest.ts';
import type { EventWriter } from '../output/emit.ts';

export function moveFee(market: Market, orders: Orders, digest: Digest, emit: EventWriter): void {
  const { book } = market;
  const byPriority = (a: number, b: number): number => orders.priorityOf(a) - orders.priorityOf(b);

  const resting: number[] = [];
  for (const levels of [book.bids, book.asks]) collectResting(levels, orders, resting);
  const falling = resting.filter((slot) => orders.feeBps[slot << WORD_SHIFT] !== market.feeBps).sort(byPriority);
  for (const slot of falling) {
    book.sleep(slot);
    digest.markOrder(slot);
    emit.sleepOrWake(EVENT.DORMANT.TYPE, slot, ++market.sequence);
  }

  const dormant: number[] = [];
  for (let slot = book.dormantHead; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) dormant.push(slot);
  const open = resting.length - falling.length + dormant.length;
  assert(open === market.openOrders, 'MARKET-4: every open order rests or is dormant');
  for (const slot of dormant) {
    if (orders.feeBps[slot << WORD_SHIFT] !== market.feeBps) continue;
    const isCrossing = book.crosses(orders.isBid[slot << WORD_SHIFT], orders.yesTicks[slot << WORD_SHIFT]);
    assert(!isCrossing, 'BOOK-1: the orders of one fee were in the book together, so none crosses another');
    book.wake(slot);
    digest.markOrder(slot);
    emit.sleepOrWake(EVENT.WOKEN.TYPE, slot, ++market.sequence);
  }
}

/** Adds every resting order of a side to `into`, best level first, in queue order. */
export function collectResting(levels: Levels, orders: Orders, into: number[]): void {
  for (let tick = levels.bestTick; tick !== NO_TICK; tick = levels.worseThan(tick)) {
    for (let slot = levels.head[tick]; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) into.push(slot);
  }
}
