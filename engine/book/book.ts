/**
 * One market's book in Yes terms (RULES.md 2.1): bids are BUY Yes at p and SELL No at D - p, asks are SELL Yes at p and
 * BUY No at D - p, both kinds in one queue per tick. Owner: the shard thread of the market.
 *
 * Invariants (walked by core/invariants.ts):
 *   BOOK-1  The best bid is below the best ask: no two resting orders could match.
 *   BOOK-2  Dormant orders (signed under another fee than the market's) are in no level; their list is by priority.
 */
import { assert } from '../../shared/base/assert.ts';
import { Levels, NO_TICK } from './levels.ts';
import * as rows from './orders.ts';
import { NONE, type Orders, SLOT_STATE } from './orders.ts';

const { WORD_AT, WORD_SHIFT } = rows;

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

  /** Returns true if an order at this Yes tick would match something. */
  crosses(isBid: number, yesTicks: number): boolean {
    const best = this.opposite(isBid).bestTick;
    if (best === NO_TICK) return false;
    return isBid === 1 ? best <= yesTicks : best >= yesTicks;
  }

  /** Adds the incoming order at the end of its tick's queue. */
  rest(slot: number): void {
    const { words } = this.#orders;
    const row = slot << WORD_SHIFT;
    const isBid = words[row | WORD_AT.IS_BID];
    const yesTicks = words[row | WORD_AT.YES_TICKS];
    assert(words[row | WORD_AT.STATE] === SLOT_STATE.INCOMING, 'ORDERS-1: only the incoming order comes to rest');
    assert(!this.crosses(isBid, yesTicks), 'BOOK-1: an order that rests crosses none');
    this.own(isBid).append(slot, yesTicks);
    words[row | WORD_AT.STATE] = SLOT_STATE.RESTING;
  }

  /**
   * Adds the incoming order after a certain order of its level, or first if NONE: at the position of the order it
   * replaces.
   */
  restBehind(slot: number, before: number): void {
    const { isBid, state, yesTicks } = this.#orders;
    assert(state[slot << WORD_SHIFT] === SLOT_STATE.INCOMING, 'ORDERS-1: only the incoming order comes to rest');
    this.own(isBid[slot << WORD_SHIFT]).insertBehind(before, slot, yesTicks[slot << WORD_SHIFT]);
    state[slot << WORD_SHIFT] = SLOT_STATE.RESTING;
  }

  /** Removes an order from its queue or from the dormant list; it is INCOMING until it rests again or is freed. */
  remove(slot: number): void {
    const orders = this.#orders;
    if (orders.state[slot << WORD_SHIFT] === SLOT_STATE.RESTING) {
      this.own(orders.isBid[slot << WORD_SHIFT]).remove(slot, orders.yesTicks[slot << WORD_SHIFT]);
    } else {
      assert(orders.state[slot << WORD_SHIFT] === SLOT_STATE.DORMANT, 'ORDERS-1: an open order rests or is dormant');
      this.#unlinkDormant(slot);
    }
    orders.state[slot << WORD_SHIFT] = SLOT_STATE.INCOMING;
  }

  /** Makes a resting order dormant. */
  sleep(slot: number): void {
    const { state } = this.#orders;
    assert(state[slot << WORD_SHIFT] === SLOT_STATE.RESTING, 'BOOK-2: only a resting order falls asleep');
    this.remove(slot);
    this.addDormant(slot);
  }

  /** Adds an order that is in no queue to the dormant list, by priority (BOOK-2). It may cross the book. */
  addDormant(slot: number): void {
    const { next, previous, state } = this.#orders;
    assert(state[slot << WORD_SHIFT] === SLOT_STATE.INCOMING, 'ORDERS-1: a dormant order is in no queue');
    const priority = this.#orders.priorityOf(slot);
    let before = this.dormantTail;
    while (before !== NONE && this.#orders.priorityOf(before) > priority) before = previous[before << WORD_SHIFT];
    const after = before === NONE ? this.dormantHead : next[before << WORD_SHIFT];
    previous[slot << WORD_SHIFT] = before;
    next[slot << WORD_SHIFT] = after;
    if (before === NONE) this.dormantHead = slot;
    else next[before << WORD_SHIFT] = slot;
    if (after === NONE) this.dormantTail = slot;
    else previous[after << WORD_SHIFT] = slot;
    state[slot << WORD_SHIFT] = SLOT_STATE.DORMANT;
  }

  /** Returns a dormant order to the queue position that its priority gives it. */
  wake(slot: number): void {
    const orders = this.#orders;
    assert(orders.state[slot << WORD_SHIFT] === SLOT_STATE.DORMANT, 'BOOK-2: only a dormant order wakes');
    assert(!this.crosses(orders.isBid[slot << WORD_SHIFT], orders.yesTicks[slot << WORD_SHIFT]), 'BOOK-1: no crossing');
    this.remove(slot);
    this.own(orders.isBid[slot << WORD_SHIFT]).insertByPriority(slot, orders.yesTicks[slot << WORD_SHIFT]);
    orders.state[slot << WORD_SHIFT] = SLOT_STATE.RESTING;
  }

  /** Asserts BOOK-1 and BOOK-2 and the levels of both sides. @returns how many orders wait in the book. */
  validate(feeBps: number): number {
    const orders = this.#orders;
    let count = this.bids.validate() + this.asks.validate();
    const { bestTick: bid } = this.bids;
    const { bestTick: ask } = this.asks;
    assert(bid === NO_TICK || ask === NO_TICK || bid < ask, 'BOOK-1: the book is not crossed');
    let before: number = NONE;
    for (let slot = this.dormantHead; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) {
      assert(orders.previous[slot << WORD_SHIFT] === before, 'BOOK-2: the dormant list is linked both ways');
      assert(before === NONE || orders.priorityOf(before) < orders.priorityOf(slot), 'BOOK-2: dormant by priority');
      assert(orders.feeBps[slot << WORD_SHIFT] !== feeBps, 'BOOK-2: a dormant order is signed under another fee');
      before = slot;
      count++;
    }
    assert(this.dormantTail === before, 'BOOK-2: the dormant list ends at its tail');
    return count;
  }

  #unlinkDormant(slot: number): void {
    const { next, previous } = this.#orders;
    const before = previous[slot << WORD_SHIFT];
    const after = next[slot << WORD_SHIFT];
    if (before === NONE) this.dormantHead = after;
    else next[before << WORD_SHIFT] = after;
    if (after === NONE) this.dormantTail = before;
    else previous[after << WORD_SHIFT] = before;
    next[slot << WORD_SHIFT] = NONE;
    previous[slot << WORD_SHIFT] = NONE;
  }
}
