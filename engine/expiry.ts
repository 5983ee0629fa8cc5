/**
 * Open orders that expire, soonest first: a binary heap of rows ordered by (expirationSec, order sequence), so that
 * orders expire in the same order at every replay. A row knows its place in the heap, so a cancel takes it out at once
 * and a maker that re-quotes with long expirations leaves nothing behind.
 * Owner: the shard thread.
 *
 * Invariant X1: heapIndex[heap[i]] is i; no entry is due before its parent.
 */

import * as rows from './orders.ts';
import { NONE, type Orders } from './orders.ts';

// Own constants for speed: see emit.ts.
const { NUMBERS, WORDS } = rows;

export class ExpiryHeap {
  #heap = new Int32Array(1024);
  size = 0;
  readonly #orders: Orders;

  constructor(orders: Orders) {
    this.#orders = orders;
  }

  /** Row of the order that expires first, or NONE. */
  first(): number {
    return this.size === 0 ? NONE : this.#heap[0]!;
  }

  /** When the first order expires, or Infinity. */
  firstMs(): number {
    return this.size === 0 ? Number.POSITIVE_INFINITY : this.#orders.expirationSec[this.#heap[0]! << NUMBERS]! * 1000;
  }

  add(slot: number): void {
    if (this.size === this.#heap.length) {
      const larger = new Int32Array(this.size * 2);
      larger.set(this.#heap);
      this.#heap = larger;
    }
    this.#rise(this.size++, slot);
  }

  /** Takes the order out if it is in. */
  remove(slot: number): void {
    const index = this.#orders.heapIndex[slot << WORDS]!;
    if (index === NONE) return;
    this.#orders.heapIndex[slot << WORDS] = NONE;
    const last = this.#heap[--this.size]!;
    if (last === slot) return;
    if (index > 0 && this.#isBefore(last, this.#heap[(index - 1) >>> 1]!)) this.#rise(index, last);
    else this.#sink(index, last);
  }

  #rise(from: number, slot: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = this.#heap[parent]!;
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
      if (child + 1 < this.size && this.#isBefore(this.#heap[child + 1]!, this.#heap[child]!)) child++;
      const below = this.#heap[child]!;
      if (!this.#isBefore(below, slot)) break;
      this.#put(index, below);
      index = child;
    }
    this.#put(index, slot);
  }

  #put(index: number, slot: number): void {
    this.#heap[index] = slot;
    this.#orders.heapIndex[slot << WORDS] = index;
  }

  #isBefore(a: number, b: number): boolean {
    const { expirationSec, sequence } = this.#orders;
    const difference = expirationSec[a << NUMBERS]! - expirationSec[b << NUMBERS]!;
    return difference < 0 || (difference === 0 && sequence[a << NUMBERS]! < sequence[b << NUMBERS]!);
  }
}
