/**
 * Open orders that expire, soonest first: a binary heap of slots by (expirationSec, order sequence), so that orders
 * expire in the same order at every replay (RULES.md 2.8). A slot knows its index in the heap, so a cancel removes it
 * at once, and cancelled orders with distant expirations do not stay in the heap.
 * Owner: the shard thread.
 *
 * Invariants (walked by core/invariants.ts):
 *   EXPIRY-1  heapIndex[heap[i]] = i for every i below size, and an order that does not expire has heapIndex NONE.
 *   EXPIRY-2  No entry of the heap is due before its parent.
 *   EXPIRY-3  firstMs is the time at which the first order expires, or Infinity.
 */
import { assert } from '../../shared/base/assert.ts';
import * as rows from '../book/orders.ts';
import { NONE, type Orders } from '../book/orders.ts';

const { DOUBLE_SHIFT, WORD_SHIFT } = rows;

export class ExpiryHeap {
  /** A field, as in Transitions. */
  firstMs = Number.POSITIVE_INFINITY;
  #heap = new Int32Array(64);
  size = 0;
  readonly #orders: Orders;

  constructor(orders: Orders) {
    this.#orders = orders;
  }

  /** Slot of the order that expires first, or NONE. */
  first(): number {
    return this.size === 0 ? NONE : this.#heap[0];
  }

  add(slot: number): void {
    assert(this.#orders.expirationSec[slot << DOUBLE_SHIFT] > 0, 'EXPIRY-1: only an order that expires is in the heap');
    assert(this.#orders.heapIndex[slot << WORD_SHIFT] === NONE, 'EXPIRY-1: an order is in the heap once');
    if (this.size === this.#heap.length) {
      const larger = new Int32Array(this.size * 2);
      larger.set(this.#heap);
      this.#heap = larger;
    }
    this.#rise(this.size++, slot);
  }

  /** Removes the order if it is in the heap. */
  remove(slot: number): void {
    const index = this.#orders.heapIndex[slot << WORD_SHIFT];
    if (index === NONE) return;
    assert(index < this.size && this.#heap[index] === slot, 'EXPIRY-1: the slot knows its index in the heap');
    this.#orders.heapIndex[slot << WORD_SHIFT] = NONE;
    const last = this.#heap[--this.size];
    if (this.size === 0) this.firstMs = Number.POSITIVE_INFINITY;
    if (last === slot) return;
    if (index > 0 && this.#isBefore(last, this.#heap[(index - 1) >>> 1])) this.#rise(index, last);
    else this.#sink(index, last);
  }

  /** Asserts EXPIRY-1, as far as the heap can see it, EXPIRY-2 and EXPIRY-3. */
  validate(): void {
    const { expirationSec, heapIndex } = this.#orders;
    const first = this.first();
    const firstMs = first === NONE ? Number.POSITIVE_INFINITY : expirationSec[first << DOUBLE_SHIFT] * 1000;
    assert(this.firstMs === firstMs, 'EXPIRY-3: the time of the first order is known');
    for (let index = 0; index < this.size; index++) {
      const slot = this.#heap[index];
      assert(heapIndex[slot << WORD_SHIFT] === index, 'EXPIRY-1: the slot knows its index in the heap');
      assert(expirationSec[slot << DOUBLE_SHIFT] > 0, 'EXPIRY-1: only an order that expires is in the heap');
      const parent = this.#heap[(index - 1) >>> 1];
      assert(index === 0 || !this.#isBefore(slot, parent), 'EXPIRY-2: no order is due before its parent');
    }
  }

  #rise(from: number, slot: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = this.#heap[parent];
      if (!this.#isBefore(slot, above)) break;
      this.#put(index, above);
      index = parent;
    }
    this.#put(index, slot);
  }

  #sink(from: number, slot: number): void {
    let index = from;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && this.#isBefore(this.#heap[child + 1], this.#heap[child])) child++;
      const below = this.#heap[child];
      if (!this.#isBefore(below, slot)) break;
      this.#put(index, below);
      index = child;
    }
    this.#put(index, slot);
  }

  #put(index: number, slot: number): void {
    this.#heap[index] = slot;
    this.#orders.heapIndex[slot << WORD_SHIFT] = index;
    if (index === 0) this.firstMs = this.#orders.expirationSec[slot << DOUBLE_SHIFT] * 1000;
  }

  #isBefore(a: number, b: number): boolean {
    const { expirationSec, sequence } = this.#orders;
    const difference = expirationSec[a << DOUBLE_SHIFT] - expirationSec[b << DOUBLE_SHIFT];
    return difference < 0 || (difference === 0 && sequence[a << DOUBLE_SHIFT] < sequence[b << DOUBLE_SHIFT]);
  }
}
