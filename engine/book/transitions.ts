/**
 * Markets that time alone will change, soonest first: a binary heap by (nextTransitionMs, order of opening), so that
 * markets due at one moment change in the same order at every replay. A market knows its index in the heap. Each of ten
 * thousand markets that end in one second, or that are imported, costs a logarithm. Owner: the shard thread.
 *
 * Invariants (walked by core/invariants.ts):
 *   TRANSITIONS-1  A market is in the heap exactly when its nextTransitionMs() is finite, at its heapIndex.
 *   TRANSITIONS-2  dueMs of a market in the heap is its nextTransitionMs(), and no entry is due before its parent.
 *   TRANSITIONS-3  firstMs is the dueMs of the first market, or Infinity.
 */
import { assert } from '../../shared/base/assert.ts';
import { type Market, NOT_DUE } from './market.ts';

export class Transitions {
  /**
   * The time at which the first market changes, or Infinity. It is a field because every command reads it: if V8 does
   * not inline a function, a returned number of this size is a new object.
   */
  firstMs = Number.POSITIVE_INFINITY;
  readonly #heap: Market[] = [];

  /** The market that changes first, or undefined. */
  get first(): Market | undefined {
    return this.#heap[0];
  }

  /** Call this when a status or a time of the market has changed. */
  plan(market: Market): void {
    const dueMs = market.nextTransitionMs();
    if (market.heapIndex === NOT_DUE) {
      if (dueMs === Number.POSITIVE_INFINITY) return;
      market.dueMs = dueMs;
      this.#rise(this.#heap.length, market);
      return;
    }
    const index = market.heapIndex;
    assert(this.#heap[index] === market, 'TRANSITIONS-1: a market knows its index in the heap');
    if (dueMs === Number.POSITIVE_INFINITY) {
      this.#remove(index, market);
      return;
    }
    market.dueMs = dueMs;
    this.#settle(index, market);
  }

  /** Asserts TRANSITIONS-1 to TRANSITIONS-3, for all markets of the shard. */
  validate(markets: Iterable<Market>): void {
    let due = 0;
    for (const market of markets) {
      const dueMs = market.nextTransitionMs();
      assert(
        (market.heapIndex !== NOT_DUE) === (dueMs !== Number.POSITIVE_INFINITY),
        'TRANSITIONS-1: a market that time changes is in the heap',
      );
      if (market.heapIndex === NOT_DUE) continue;
      due++;
      assert(this.#heap[market.heapIndex] === market, 'TRANSITIONS-1: a market knows its index in the heap');
      assert(market.dueMs === dueMs, 'TRANSITIONS-2: a market is in the heap under its next transition');
      const parent = this.#heap[(market.heapIndex - 1) >>> 1];
      const isOrdered = market.heapIndex === 0 || !isBefore(market, parent);
      assert(isOrdered, 'TRANSITIONS-2: no market is due before its parent');
    }
    const firstMs = this.first?.dueMs ?? Number.POSITIVE_INFINITY;
    assert(this.firstMs === firstMs, 'TRANSITIONS-3: the time of the first market is known');
    assert(due === this.#heap.length, 'TRANSITIONS-1: the heap holds markets of the shard only');
  }

  #remove(index: number, market: Market): void {
    market.heapIndex = NOT_DUE;
    const last = this.#heap.pop();
    assert(last !== undefined, 'TRANSITIONS-1: a heap with a market has a last one');
    if (last !== market) this.#settle(index, last);
    else if (index === 0) this.firstMs = Number.POSITIVE_INFINITY;
  }

  #settle(index: number, market: Market): void {
    if (index > 0 && isBefore(market, this.#heap[(index - 1) >>> 1])) this.#rise(index, market);
    else this.#sink(index, market);
  }

  #rise(from: number, market: Market): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = this.#heap[parent];
      if (!isBefore(market, above)) break;
      this.#put(index, above);
      index = parent;
    }
    this.#put(index, market);
  }

  #sink(from: number, market: Market): void {
    const heap = this.#heap;
    let index = from;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], market)) break;
      this.#put(index, heap[child]);
      index = child;
    }
    this.#put(index, market);
  }

  #put(index: number, market: Market): void {
    this.#heap[index] = market;
    market.heapIndex = index;
    if (index === 0) this.firstMs = market.dueMs;
  }
}

function isBefore(a: Market, b: Market): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.ordinal < b.ordinal);
}
