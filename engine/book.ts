/**
 * One market's book in Yes terms (RULES.md 2.1): bids are BUY Yes at p and SELL No at D - p, asks are SELL Yes at p and
 * BUY No at D - p, both kinds in one queue per tick. Owner: the shard thread of the market.
 *
 * Invariants (walked by check.ts):
 *   K1  The best bid is below the best ask: nothing that could match rests on both sides.
 *   K2  Dormant orders (signed under another fee than the market's) are in no level; their list is by priority.
 */
import { assert } from '../shared/assert.ts';
import { Levels, NO_TICK } from './levels.ts';
import * as rows from './orders.ts';
import { NONE, type Orders, PLACE_OF } from './orders.ts';

// Own constants for speed: see emit.ts.
const { WORDS } = rows;

export class Book {
  readonly ticksPerUnit: number;
  readonly bids: Levels;
  readonly asks: Levels;
  dormantHead: number = NONE;
  dormantTail: number = NONE;
  readonly #orders: Orders;

  constructor(orders: Orders, ticksPerUnit: number) {
    this.#orders = orders;
    this.ticksPerUnit = ticksPerUnit;
    this.bids = new Levels(orders, ticksPerUnit, true);
    this.asks = new Levels(orders, ticksPerUnit, false);
  }

  own(isBid: number): Levels {
    return isBid === 1 ? this.bids : this.asks;
  }

  opposite(isBid: number): Levels {
    return isBid === 1 ? this.asks : this.bids;
  }

  /** Whether an order at this Yes tick would match something. */
  crosses(isBid: number, yesTicks: number): boolean {
    const best = this.opposite(isBid).bestTick;
    if (best === NO_TICK) return false;
    return isBid === 1 ? best <= yesTicks : best >= yesTicks;
  }

  rest(slot: number): void {
    this.own(this.#orders.isBid[slot << WORDS]!).append(slot, this.#orders.yesTicks[slot << WORDS]!);
    this.#orders.place[slot << WORDS] = PLACE_OF.RESTING;
  }

  /** Rests behind a certain order of its level, or, with NONE, first: where an order left that this one replaces. */
  restBehind(slot: number, before: number): void {
    this.own(this.#orders.isBid[slot << WORDS]!).insertBehind(before, slot, this.#orders.yesTicks[slot << WORDS]!);
    this.#orders.place[slot << WORDS] = PLACE_OF.RESTING;
  }

  /** Takes an order out of wherever it waits; it becomes the incoming one until it rests again or is freed. */
  remove(slot: number): void {
    const orders = this.#orders;
    if (orders.place[slot << WORDS] === PLACE_OF.RESTING) {
      this.own(orders.isBid[slot << WORDS]!).remove(slot, orders.yesTicks[slot << WORDS]!);
    } else {
      assert(orders.place[slot << WORDS] === PLACE_OF.DORMANT, 'O1: an open order rests or is dormant');
      this.#unlinkDormant(slot);
    }
    orders.place[slot << WORDS] = PLACE_OF.INCOMING;
  }

  /** Puts an order to sleep, in order of priority among the sleeping (K2). */
  sleep(slot: number): void {
    const { next, previous, place } = this.#orders;
    this.remove(slot);
    const priority = this.#orders.priorityOf(slot);
    let before = this.dormantTail;
    while (before !== NONE && this.#orders.priorityOf(before) > priority) before = previous[before << WORDS]!;
    const after = before === NONE ? this.dormantHead : next[before << WORDS]!;
    previous[slot << WORDS] = before;
    next[slot << WORDS] = after;
    if (before === NONE) this.dormantHead = slot;
    else next[before << WORDS] = slot;
    if (after === NONE) this.dormantTail = slot;
    else previous[after << WORDS] = slot;
    place[slot << WORDS] = PLACE_OF.DORMANT;
  }

  /** Brings a dormant order back to its old place in its level. */
  wake(slot: number): void {
    const orders = this.#orders;
    this.remove(slot);
    this.own(orders.isBid[slot << WORDS]!).insertByPriority(slot, orders.yesTicks[slot << WORDS]!);
    orders.place[slot << WORDS] = PLACE_OF.RESTING;
  }

  #unlinkDormant(slot: number): void {
    const { next, previous } = this.#orders;
    const before = previous[slot << WORDS]!;
    const after = next[slot << WORDS]!;
    if (before === NONE) this.dormantHead = after;
    else next[before << WORDS] = after;
    if (after === NONE) this.dormantTail = before;
    else previous[after << WORDS] = before;
    next[slot << WORDS] = NONE;
    previous[slot << WORDS] = NONE;
  }
}
