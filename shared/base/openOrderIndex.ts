/**
 * Finds the slot of an open order by its 32-byte hash. The hashes stay in a column of their owner, at the start of a
 * line for each slot; the index has one cell for each order, which costs 8 to 16 bytes an order. A shard has one of its
 * open orders (engine/core/state.ts), a gateway one of those that its views show.
 * Owner: the thread that owns the column.
 *
 * Invariants:
 *   OPENINDEX-1  Every slot inserted and not removed is in exactly one cell.
 *   OPENINDEX-2  No empty cell lies between a slot's home cell and the cell it is in (linear probing; removal shifts
 *               back).
 *   OPENINDEX-3  At most half of the cells are taken, so every probe ends.
 */
import { assert } from './assert.ts';

export const HASH_WORDS = 8;
const NONE = -1;
const FIRST_CELLS_LOG2 = 7;
const EMPTY = 0;

export class OpenOrderIndex {
  /** Slot + 1, or EMPTY. */
  #cells = new Int32Array(1 << FIRST_CELLS_LOG2);
  #shift = 32 - FIRST_CELLS_LOG2;
  #count = 0;
  /**
   * A client can choose the hashes of its orders by trying salts. A secret odd factor keeps it from choosing hashes
   * that share a home cell and make every probe long.
   */
  readonly #factor = crypto.getRandomValues(new Int32Array(1))[0] | 1;
  /** log2 of the words from one hash to the next. */
  readonly #lineShift: number;

  constructor(lineWords = HASH_WORDS) {
    assert(lineWords >= HASH_WORDS && (lineWords & (lineWords - 1)) === 0, 'OPENINDEX-1: a line has room for a hash');
    this.#lineShift = 31 - Math.clz32(lineWords);
  }

  get count(): number {
    return this.#count;
  }

  /** The slot whose hash equals the eight words of `key` at `keyWord`, or NONE. */
  find(hashes: Uint32Array, key: Uint32Array, keyWord: number): number {
    const cells = this.#cells;
    const mask = cells.length - 1;
    for (let cell = this.#home(key[keyWord]); cells[cell] !== EMPTY; cell = (cell + 1) & mask) {
      const slot = cells[cell] - 1;
      if (sameHash(hashes, slot << this.#lineShift, key, keyWord)) return slot;
    }
    return NONE;
  }

  insert(hashes: Uint32Array, slot: number): void {
    if ((this.#count + 1) * 2 > this.#cells.length) this.#grow(hashes);
    this.#put(hashes, slot);
    this.#count++;
  }

  clear(): void {
    this.#cells.fill(EMPTY);
    this.#count = 0;
  }

  remove(hashes: Uint32Array, slot: number): void {
    const cells = this.#cells;
    const mask = cells.length - 1;
    let hole = this.#home(hashes[slot << this.#lineShift]);
    while (cells[hole] !== slot + 1) {
      assert(cells[hole] !== EMPTY, 'OPENINDEX-1: a slot that is removed is in the index');
      hole = (hole + 1) & mask;
    }
    for (let cell = (hole + 1) & mask; cells[cell] !== EMPTY; cell = (cell + 1) & mask) {
      const home = this.#home(hashes[(cells[cell] - 1) << this.#lineShift]);
      // OPENINDEX-2: the element may move back only if its home is not after the hole.
      if (((cell - home) & mask) >= ((cell - hole) & mask)) {
        cells[hole] = cells[cell];
        hole = cell;
      }
    }
    cells[hole] = EMPTY;
    this.#count--;
  }

  #home(firstWord: number): number {
    return Math.imul(firstWord, this.#factor) >>> this.#shift;
  }

  #put(hashes: Uint32Array, slot: number): void {
    const cells = this.#cells;
    const mask = cells.length - 1;
    let cell = this.#home(hashes[slot << this.#lineShift]);
    while (cells[cell] !== EMPTY) cell = (cell + 1) & mask;
    cells[cell] = slot + 1;
  }

  #grow(hashes: Uint32Array): void {
    const old = this.#cells;
    this.#cells = new Int32Array(old.length * 2);
    this.#shift--;
    for (const entry of old) if (entry !== EMPTY) this.#put(hashes, entry - 1);
  }
}

function sameHash(a: Uint32Array, aWord: number, b: Uint32Array, bWord: number): boolean {
  for (let i = 0; i < HASH_WORDS; i++) if (a[aWord + i] !== b[bWord + i]) return false;
  return true;
}
