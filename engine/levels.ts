/**
 * Price levels of one side of one book, indexed by Yes tick.
 * Owner: the shard thread of the market; nobody else reads or writes it.
 *
 * Invariants (walked by check.ts, cited there by number):
 *   L1  A level's occupancy bit is set exactly when its queue is non-empty.
 *   L2  totalLots[tick] is the sum of remaining lots of the queue at that tick, count[tick] its length.
 *   L3  Inside a queue, order priority strictly increases from head to tail (time priority).
 *   L4  bestTick is the best set bit (highest bid, lowest ask), or NO_TICK when the side is empty.
 */
import { assert } from '../shared/assert.ts';
import { addSafe } from '../shared/int.ts';
import * as rows from './orders.ts';
import { NONE, type Orders } from './orders.ts';

// Own constants for speed: see emit.ts.
const { AT, NUMBER_AT, NUMBERS, WORDS } = rows;

export const NO_TICK = -1;

export class Levels {
  readonly head: Int32Array;
  readonly tail: Int32Array;
  readonly count: Int32Array;
  readonly totalLots: Float64Array;
  bestTick = NO_TICK;
  readonly #isBid: boolean;
  readonly #occupied: Uint32Array;
  readonly #orders: Orders;

  constructor(orders: Orders, ticksPerUnit: number, isBid: boolean) {
    this.#orders = orders;
    this.#isBid = isBid;
    this.head = new Int32Array(ticksPerUnit).fill(NONE);
    this.tail = new Int32Array(ticksPerUnit).fill(NONE);
    this.count = new Int32Array(ticksPerUnit);
    this.totalLots = new Float64Array(ticksPerUnit);
    this.#occupied = new Uint32Array((ticksPerUnit + 31) >>> 5);
  }

  /** Last in the queue of its tick. */
  append(slot: number, tick: number): void {
    this.insertBehind(this.tail[tick]!, slot, tick);
  }

  /** In its old place by priority: how a dormant order comes back. */
  insertByPriority(slot: number, tick: number): void {
    const orders = this.#orders;
    const priority = orders.priorityOf(slot);
    let before = this.tail[tick]!;
    while (before !== NONE && orders.priorityOf(before) > priority) before = orders.previous[before << WORDS]!;
    this.insertBehind(before, slot, tick);
  }

  /** @param before the order in front of it, or NONE to be the first. */
  insertBehind(before: number, slot: number, tick: number): void {
    const { words, numbers } = this.#orders;
    const row = slot << WORDS;
    const after = before === NONE ? this.head[tick]! : words[(before << WORDS) | AT.NEXT]!;
    words[row | AT.PREVIOUS] = before;
    words[row | AT.NEXT] = after;
    if (before === NONE) this.head[tick] = slot;
    else words[(before << WORDS) | AT.NEXT] = slot;
    if (after === NONE) this.tail[tick] = slot;
    else words[(after << WORDS) | AT.PREVIOUS] = slot;
    this.totalLots[tick] = addSafe(this.totalLots[tick]!, numbers[(slot << NUMBERS) | NUMBER_AT.REMAINING_LOTS]!);
    if (this.count[tick]!++ === 0) this.#occupy(tick);
  }

  remove(slot: number, tick: number): void {
    const { words, numbers } = this.#orders;
    const row = slot << WORDS;
    const before = words[row | AT.PREVIOUS]!;
    const after = words[row | AT.NEXT]!;
    if (before === NONE) this.head[tick] = after;
    else words[(before << WORDS) | AT.NEXT] = after;
    if (after === NONE) this.tail[tick] = before;
    else words[(after << WORDS) | AT.PREVIOUS] = before;
    words[row | AT.NEXT] = NONE;
    words[row | AT.PREVIOUS] = NONE;
    this.reduce(tick, numbers[(slot << NUMBERS) | NUMBER_AT.REMAINING_LOTS]!);
    const left = this.count[tick]! - 1;
    this.count[tick] = left;
    if (left === 0) this.#vacate(tick);
  }

  /** A resting order of the level lost lots to a fill. */
  reduce(tick: number, lots: number): void {
    const left = this.totalLots[tick]! - lots;
    assert(left >= 0, 'L2: a level holds at least its orders');
    this.totalLots[tick] = left;
  }

  /** The next worse occupied tick, or NO_TICK. */
  worseThan(tick: number): number {
    return this.#isBid ? this.#below(tick) : this.#above(tick);
  }

  isOccupied(tick: number): boolean {
    return (this.#occupied[tick >>> 5]! & (1 << (tick & 31))) !== 0;
  }

  #occupy(tick: number): void {
    this.#occupied[tick >>> 5]! |= 1 << (tick & 31);
    if (this.bestTick === NO_TICK || (this.#isBid ? tick > this.bestTick : tick < this.bestTick)) this.bestTick = tick;
  }

  #vacate(tick: number): void {
    this.#occupied[tick >>> 5]! &= ~(1 << (tick & 31));
    if (tick === this.bestTick) this.bestTick = this.worseThan(tick);
  }

  #below(tick: number): number {
    let index = tick >>> 5;
    let bits = this.#occupied[index]! & ((1 << (tick & 31)) - 1);
    while (bits === 0) {
      if (--index < 0) return NO_TICK;
      bits = this.#occupied[index]!;
    }
    return (index << 5) + 31 - Math.clz32(bits);
  }

  #above(tick: number): number {
    let index = tick >>> 5;
    // A shift by 32 is a shift by 0 in JavaScript: bit 31 has nothing above it in its word.
    let bits = (tick & 31) === 31 ? 0 : this.#occupied[index]! & (-1 << ((tick & 31) + 1));
    while (bits === 0) {
      if (++index >= this.#occupied.length) return NO_TICK;
      bits = this.#occupied[index]!;
    }
    return (index << 5) + 31 - Math.clz32(bits & -bits);
  }
}
