/**
 * What a move of the canonical fee does to a book (RULES.md 2.4): orders signed under another fee fall asleep, those
 * that sleep under the new fee wake in their old order of priority, except where one would cross the book now. Linear
 * in the orders concerned, not on the hot path: it may allocate.
 */
import { EVENT } from '../shared/events.ts';
import type { Digest } from './digest.ts';
import type { Emitter } from './emit.ts';
import { type Levels, NO_TICK } from './levels.ts';
import type { Market } from './market.ts';
import { NONE, type Orders, WORDS } from './orders.ts';

export function moveFee(market: Market, orders: Orders, digest: Digest, emit: Emitter): void {
  const { book } = market;
  const byPriority = (a: number, b: number): number => orders.priorityOf(a) - orders.priorityOf(b);

  const falling: number[] = [];
  for (const levels of [book.bids, book.asks]) collectResting(levels, orders, falling);
  for (const slot of falling
    .filter((candidate) => orders.feeBps[candidate << WORDS] !== market.feeBps)
    .sort(byPriority)) {
    book.sleep(slot);
    digest.noteOrder(slot);
    emit.sleepOrWake(EVENT.DORMANT, slot, ++market.sequence);
  }

  const sleeping: number[] = [];
  for (let slot = book.dormantHead; slot !== NONE; slot = orders.next[slot << WORDS]!) sleeping.push(slot);
  for (const slot of sleeping) {
    if (orders.feeBps[slot << WORDS] !== market.feeBps) continue;
    if (book.crosses(orders.isBid[slot << WORDS]!, orders.yesTicks[slot << WORDS]!)) continue;
    book.wake(slot);
    digest.noteOrder(slot);
    emit.sleepOrWake(EVENT.WOKEN, slot, ++market.sequence);
  }
}

/** Every resting order of a side, best level first, in queue order. */
export function collectResting(levels: Levels, orders: Orders, into: number[]): void {
  for (let tick = levels.bestTick; tick !== NO_TICK; tick = levels.worseThan(tick)) {
    for (let slot = levels.head[tick]!; slot !== NONE; slot = orders.next[slot << WORDS]!) into.push(slot);
  }
}
