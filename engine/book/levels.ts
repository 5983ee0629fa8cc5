/**
 * Price levels of one side of one book, indexed by Yes tick. Owner: the shard thread of the market; no other thread
 * reads or writes it.
 *
 * Invariants (walked by core/invariants.ts):
 *   LEVELS-1  A level's occupancy bit is set exactly when its queue is non-empty.
 *   LEVELS-2  totalLots[tick] is the sum of remaining lots of the queue at that tick, count[tick] its length.
 *   LEVELS-3  Inside a queue, order priority strictly increases from head to tail (time priority).
 *   LEVELS-4  bestTick is the best set bit (highest bid, lowest ask), or NO_TICK when the side is empty.
 *   LEVELS-5  groupedOrders[tick] is the number of orders in the queue at that tick that have an order group.
 */
import { assert } from '../../shared/base/assert.ts';
import { addSafe } from '../../shared/base/int.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import * as rows from './orders.ts';
import { NONE, type Orders } from './orders.ts';
import { NO_TAG } from './tags.ts';

const { WORD_AT, DOUBLE_AT, DOUBLE_SHIFT, WORD_SHIFT } = rows;

export const NO_TICK = -1;

export class Levels {
  readonly head: Int32Array;
  readonly tail: Int32Array;
  readonly count: Int32Array;
  readonly totalLots: Float64Array;
  readonly groupedOrders: Int32Array;
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
    this.groupedOrders = new Int32Array(ticksPerUnit);
    this.#occupied = new Uint32Array((ticksPerUnit + 31) >>> 5);
  }

  /** Puts an order last in the queue of its tick. */
  append(slot: number, tick: number): void {
    this.insertBehind(this.tail[tick], slot, tick);
  }

  /** Puts a dormant order back where its priority belongs in the queue. */
  insertByPriority(slot: number, tick: number): void {
    const orders = this.#orders;
    const priority = orders.priorityOf(slot);
    let before = this.tail[tick];
    while (before !== NONE && orders.priorityOf(before) > priority) before = orders.previous[before << WORD_SHIFT];
    this.insertBehind(before, slot, tick);
  }

  /** @param before the order to insert after, or NONE to be first */
  insertBehind(before: number, slot: number, tick: number): void {
    const { words, doubles } = this.#orders;
    const row = slot << WORD_SHIFT;
    const after = before === NONE ? this.head[tick] : words[(before << WORD_SHIFT) | WORD_AT.NEXT];
    assert(tick > 0 && tick < this.head.length, 'LEVELS-2: a price is above 0 and below 1 USDC');
    assert(
      before === NONE || words[(before << WORD_SHIFT) | WORD_AT.YES_TICKS] === tick,
      'LEVELS-3: one queue, one tick',
    );
    words[row | WORD_AT.PREVIOUS] = before;
    words[row | WORD_AT.NEXT] = after;
    if (before === NONE) this.head[tick] = slot;
    else words[(before << WORD_SHIFT) | WORD_AT.NEXT] = slot;
    if (after === NONE) this.tail[tick] = slot;
    else words[(after << WORD_SHIFT) | WORD_AT.PREVIOUS] = slot;
    this.totalLots[tick] = addSafe(this.totalLots[tick], doubles[(slot << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS]);
    if (words[row | WORD_AT.TAG] !== NO_TAG && this.#orders.groupOf(slot) !== NO_GROUP) this.groupedOrders[tick]++;
    if (this.count[tick]++ === 0) this.#occupy(tick);
  }

  remove(slot: number, tick: number): void {
    const { words, doubles } = this.#orders;
    const row = slot << WORD_SHIFT;
    const before = words[row | WORD_AT.PREVIOUS];
    const after = words[row | WORD_AT.NEXT];
    if (before === NONE) this.head[tick] = after;
    else words[(before << WORD_SHIFT) | WORD_AT.NEXT] = after;
    if (after === NONE) this.tail[tick] = before;
    else words[(after << WORD_SHIFT) | WORD_AT.PREVIOUS] = before;
    words[row | WORD_AT.NEXT] = NONE;
    words[row | WORD_AT.PREVIOUS] = NONE;
    this.reduce(tick, doubles[(slot << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS]);
    if (words[row | WORD_AT.TAG] !== NO_TAG && this.#orders.groupOf(slot) !== NO_GROUP) this.groupedOrders[tick]--;
    const left = this.count[tick] - 1;
    assert(left >= 0, 'LEVELS-2: an order leaves a level that counts it');
    this.count[tick] = left;
    if (left === 0) this.#vacate(tick);
  }

  /** Subtracts lots that were filled or removed from the total of their level. */
  reduce(tick: number, lots: number): void {
    const left = this.totalLots[tick] - lots;
    assert(left >= 0, 'LEVELS-2: a level holds at least its orders');
    this.totalLots[tick] = left;
  }

  /** The next worse occupied tick, or NO_TICK. */
  worseThan(tick: number): number {
    return this.#isBid ? this.#below(tick) : this.#above(tick);
  }

  isOccupied(tick: number): boolean {
    return (this.#occupied[tick >>> 5] & (1 << (tick & 31))) !== 0;
  }

  #occupy(tick: number): void {
    assert(!this.isOccupied(tick), 'LEVELS-1: the bit of an empty level is clear');
    this.#occupied[tick >>> 5] |= 1 << (tick & 31);
    if (this.bestTick === NO_TICK || (this.#isBid ? tick > this.bestTick : tick < this.bestTick)) this.bestTick = tick;
  }

  #vacate(tick: number): void {
    assert(this.totalLots[tick] === 0, 'LEVELS-2: an empty level holds nothing');
    assert(this.head[tick] === NONE && this.tail[tick] === NONE, 'LEVELS-1: an empty level has no queue');
    this.#occupied[tick >>> 5] &= ~(1 << (tick & 31));
    if (tick === this.bestTick) this.bestTick = this.worseThan(tick);
  }

  #below(tick: number): number {
    let index = tick >>> 5;
    let bits = this.#occupied[index] & ((1 << (tick & 31)) - 1);
    while (bits === 0) {
      if (--index < 0) return NO_TICK;
      bits = this.#occupied[index];
    }
    return (index << 5) + 31 - Math.clz32(bits);
  }

  #above(tick: number): number {
    let index = tick >>> 5;
    // In JavaScript a shift by 32 is a shift by 0; bit 31 has nothing above it in its word.
    let bits = (tick & 31) === 31 ? 0 : this.#occupied[index] & (-1 << ((tick & 31) + 1));
    while (bits === 0) {
      if (++index >= this.#occupied.length) return NO_TICK;
      bits = this.#occupied[index];
    }
    return (index << 5) + 31 - Math.clz32(bits & -bits);
  }

  /** Asserts LEVELS-1 to LEVELS-5 with everything recomputed from the queues. @returns the number of orders in them */
  validate(): number {
    const { count, groupedOrders, head, tail, totalLots } = this;
    const orders = this.#orders;
    const occupied = this.#occupied;
    let best = NO_TICK;
    let waiting = 0;
    for (let tick = 0; tick < head.length; tick++) {
      if (head[tick] === NONE && tail[tick] === NONE && (count[tick] | groupedOrders[tick]) === 0) {
        // Everything about the level says that it is empty, as it does of nearly all levels.
        if (totalLots[tick] === 0 && (occupied[tick >>> 5] & (1 << (tick & 31))) === 0) continue;
      }
      let lots = 0;
      let queued = 0;
      let grouped = 0;
      let before: number = NONE;
      for (let slot = head[tick]; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) {
        assert(orders.previous[slot << WORD_SHIFT] === before, 'LEVELS-3: a queue is linked both ways');
        assert(before === NONE || orders.priorityOf(before) < orders.priorityOf(slot), 'LEVELS-3: by time priority');
        assert(orders.yesTicks[slot << WORD_SHIFT] === tick, 'LEVELS-3: an order waits at its own tick');
        assert(orders.isBid[slot << WORD_SHIFT] === (this.#isBid ? 1 : 0), 'LEVELS-3: an order waits on its own side');
        lots += orders.remainingLots[slot << DOUBLE_SHIFT];
        queued++;
        if (orders.groupOf(slot) !== NO_GROUP) grouped++;
        before = slot;
      }
      assert(tail[tick] === before, 'LEVELS-3: a queue ends at its tail');
      assert(totalLots[tick] === lots, 'LEVELS-2: the total of a level is the sum of its queue');
      assert(count[tick] === queued, 'LEVELS-2: the count of a level is the length of its queue');
      assert(groupedOrders[tick] === grouped, 'LEVELS-5: the orders of groups are counted');
      assert(this.isOccupied(tick) === queued > 0, 'LEVELS-1: the bit is set when the queue is not empty');
      if (queued > 0 && (best === NO_TICK || this.#isBid)) best = tick;
      waiting += queued;
    }
    assert(this.bestTick === best, 'LEVELS-4: the best tick is the best set bit');
    return waiting;
  }
}
