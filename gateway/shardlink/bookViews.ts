/**
 * The visible books: for each market that ever had a resting order, its levels in Yes terms and the queue of each.
 * Owner: the gateway thread, which applies the shards' events in ring order.
 *
 * Invariants:
 *   BOOKVIEW-1  A tick's occupancy bit is set exactly when its queue is non-empty; orders[tick] is the queue's length.
 *   BOOKVIEW-2  lots[tick] is the sum of the remaining lots of the queue, buyLots[tick] that of its BUY orders.
 *   BOOKVIEW-3  Inside a queue, priority strictly increases from head to tail (time priority, RULES.md 2).
 *   BOOKVIEW-4  Dormant orders are in no queue.
 */
import { assert } from '../../shared/base/assert.ts';
import { SIDE } from '../../shared/base/codes.ts';
import { addSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { isBidInYes, kindOutcome, kindSide } from '../../shared/wire/commands.ts';
import { NONE } from './growingColumn.ts';
import type { OpenOrders } from './orderViews.ts';

/** The result of a search for a tick when the side has none. Ticks start at 1. */
export const NO_TICK = 0;

export class BookSide {
  /** All columns are indexed by Yes tick. */
  readonly lots: Float64Array;
  /**
   * The part of `lots` that BUY orders hold. A level has one price, so the remainders in maker assets follow from it.
   */
  readonly buyLots: Float64Array;
  readonly orders: Uint32Array;
  readonly head: Int32Array;
  readonly tail: Int32Array;
  readonly #occupied: Uint32Array;

  constructor(ticksPerUnit: number) {
    this.lots = new Float64Array(ticksPerUnit + 1);
    this.buyLots = new Float64Array(ticksPerUnit + 1);
    this.orders = new Uint32Array(ticksPerUnit + 1);
    this.head = new Int32Array(ticksPerUnit + 1).fill(NONE);
    this.tail = new Int32Array(ticksPerUnit + 1).fill(NONE);
    this.#occupied = new Uint32Array((ticksPerUnit >>> 5) + 1);
  }

  /**
   * Inserts an order into its queue by priority: at the tail, unless a woken order returns to its old position or an
   * amended one keeps the position of the order it replaces.
   */
  insert(from: OpenOrders, slot: number, tick: number): void {
    const previous = this.#before(from, from.priority[slot], tick);
    const next = previous === NONE ? this.head[tick] : from.queueNext[previous];
    assert(
      next === NONE || from.priority[next] > from.priority[slot],
      'BOOKVIEW-3: priority increases towards the tail',
    );
    from.queuePrevious[slot] = previous;
    from.queueNext[slot] = next;
    if (previous === NONE) this.head[tick] = slot;
    else from.queueNext[previous] = slot;
    if (next === NONE) this.tail[tick] = slot;
    else from.queuePrevious[next] = slot;
    this.orders[tick]++;
    this.#occupied[tick >>> 5] |= 1 << (tick & 31);
    this.#change(tick, from.kind[slot], from.remainingLots[slot]);
  }

  /** The last order with a lower priority number, or NONE. The search starts at the nearer end. */
  #before(from: OpenOrders, priority: number, tick: number): number {
    const tail = this.tail[tick];
    if (tail === NONE || from.priority[tail] < priority) return tail;
    const head = this.head[tick];
    if (priority - from.priority[head] < from.priority[tail] - priority) {
      let next = head;
      while (from.priority[next] < priority) next = from.queueNext[next];
      return from.queuePrevious[next];
    }
    let previous = tail;
    while (previous !== NONE && from.priority[previous] > priority) previous = from.queuePrevious[previous];
    return previous;
  }

  remove(from: OpenOrders, slot: number, tick: number): void {
    assert(this.orders[tick] > 0, 'BOOKVIEW-1: an order leaves a queue that holds it');
    const previous = from.queuePrevious[slot];
    const next = from.queueNext[slot];
    if (previous === NONE) this.head[tick] = next;
    else from.queueNext[previous] = next;
    if (next === NONE) this.tail[tick] = previous;
    else from.queuePrevious[next] = previous;
    this.orders[tick]--;
    if (this.orders[tick] === 0) this.#occupied[tick >>> 5] &= ~(1 << (tick & 31));
    this.#change(tick, from.kind[slot], -from.remainingLots[slot]);
  }

  /** Subtracts the filled lots of an order that stays in its queue. */
  reduce(from: OpenOrders, slot: number, tick: number, lots: number): void {
    this.#change(tick, from.kind[slot], -lots);
  }

  lowest(): number {
    return this.above(0);
  }

  highest(): number {
    return this.below(this.lots.length);
  }

  /** The next occupied tick above, or NO_TICK. */
  above(tick: number): number {
    let index = (tick + 1) >>> 5;
    if (index >= this.#occupied.length) return NO_TICK;
    let word = this.#occupied[index] & (~0 << ((tick + 1) & 31));
    while (word === 0) {
      index++;
      if (index === this.#occupied.length) return NO_TICK;
      word = this.#occupied[index];
    }
    return index * 32 + 31 - Math.clz32(word & -word);
  }

  /** The next occupied tick below, or NO_TICK. */
  below(tick: number): number {
    if (tick <= 1) return NO_TICK;
    let index = (tick - 1) >>> 5;
    let word = this.#occupied[index] & (~0 >>> (31 - ((tick - 1) & 31)));
    while (word === 0) {
      if (index === 0) return NO_TICK;
      index--;
      word = this.#occupied[index];
    }
    return index * 32 + 31 - Math.clz32(word);
  }

  #change(tick: number, kind: number, lots: number): void {
    this.lots[tick] = addSafe(this.lots[tick], lots);
    if (kindSide(kind) === SIDE.BUY) this.buyLots[tick] = addSafe(this.buyLots[tick], lots);
    assert(this.buyLots[tick] >= 0, 'BOOKVIEW-2: a level holds no less than its queue');
    assert(this.lots[tick] >= this.buyLots[tick], 'BOOKVIEW-2: the BUY orders of a level are a part of it');
  }
}

export class Book {
  readonly ticksPerUnit: number;
  readonly bids: BookSide;
  readonly asks: BookSide;

  constructor(ticksPerUnit: number) {
    this.ticksPerUnit = ticksPerUnit;
    this.bids = new BookSide(ticksPerUnit);
    this.asks = new BookSide(ticksPerUnit);
  }

  insert(from: OpenOrders, slot: number): void {
    this.sideOf(from, slot).insert(from, slot, this.tickOf(from, slot));
  }

  remove(from: OpenOrders, slot: number): void {
    this.sideOf(from, slot).remove(from, slot, this.tickOf(from, slot));
  }

  reduce(from: OpenOrders, slot: number, lots: number): void {
    this.sideOf(from, slot).reduce(from, slot, this.tickOf(from, slot), lots);
  }

  sideOf(from: OpenOrders, slot: number): BookSide {
    return isBidInYes(from.kind[slot]) === 1 ? this.bids : this.asks;
  }

  /** The tick of the order's level, in Yes terms. */
  tickOf(from: OpenOrders, slot: number): number {
    return ownTicks(kindOutcome(from.kind[slot]), from.limitTicks[slot], this.ticksPerUnit);
  }
}

/** Books by market index. A book is created at the market's first resting order, so a quiet market costs nothing. */
export class Books {
  readonly #books: (Book | undefined)[] = [];

  /** Undefined: both sides are empty. */
  of(market: number): Book | undefined {
    return this.#books[market];
  }

  drop(market: number): void {
    if (market < this.#books.length) this.#books[market] = undefined;
  }

  open(market: number, ticksPerUnit: number): Book {
    const known = this.#books[market];
    if (known !== undefined) return known;
    // The array must not have holes, or V8 turns it into a slow one.
    while (this.#books.length < market) this.#books.push(undefined);
    const book = new Book(ticksPerUnit);
    this.#books[market] = book;
    return book;
  }
}
