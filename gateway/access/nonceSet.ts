/**
 * A set of nonces that remembers 64 bits of each, a keyed hash, in 8 to 16 bytes of typed memory: a set of texts takes
 * ten times as much, and the garbage collector walks over it. The key is drawn at random by this process and stays in
 * it. A new nonce is taken for a used one by chance only, once in 2^43 requests of a key that has used two million; a
 * used one is always known.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   NONCESET-1  The leaf of a hash is the one at its first `depth` bits, and every place that shares a leaf's own first
 *               bits leads to it.
 *   NONCESET-2  In a leaf no empty cell lies between the home of a hash and its cell (linear probing; removal shifts
 *               back), and at most half of the cells are taken.
 *   NONCESET-3  A leaf is at most MOST_CELLS long and then splits, so that no request waits for a large table to grow.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Hash64 } from '../../shared/base/textHash.ts';

const FIRST_CELLS = 16;
const MOST_CELLS = 8192;
const MOST_DEPTH = 20;
const WORDS = 2;

/** Cells of two words; those of an empty cell are zero. */
type Leaf = { cells: Uint32Array; count: number; readonly depth: number };

export class NonceSet {
  size = 0;
  /** By the first bits of a hash. */
  #leaves: Leaf[] = [newLeaf(FIRST_CELLS, 0)];
  /** The number of these bits. */
  #depth = 0;

  has({ first, second }: Hash64): boolean {
    const { cells } = this.#leafOf(first);
    return !isEmpty(cells, cellOf(cells, first, second));
  }

  /** False when the set has it already. */
  tryAdd({ first, second }: Hash64): boolean {
    const leaf = this.#leafOf(first);
    const cell = cellOf(leaf.cells, first, second);
    if (!isEmpty(leaf.cells, cell)) return false;
    put(leaf.cells, cell, first, second);
    this.size++;
    if (++leaf.count * WORDS * 2 >= leaf.cells.length) this.#makeRoom(leaf, first);
    return true;
  }

  /** False when the set has not got it. */
  tryDelete({ first, second }: Hash64): boolean {
    const leaf = this.#leafOf(first);
    const { cells } = leaf;
    let hole = cellOf(cells, first, second);
    if (isEmpty(cells, hole)) return false;
    const mask = cells.length - 1;
    for (let cell = (hole + WORDS) & mask; !isEmpty(cells, cell); cell = (cell + WORDS) & mask) {
      const home = homeOf(cells, cells[cell + 1]);
      // NONCESET-2: it may move back only if its home is not after the hole.
      if (((cell - home) & mask) < ((cell - hole) & mask)) continue;
      put(cells, hole, cells[cell], cells[cell + 1]);
      hole = cell;
    }
    put(cells, hole, 0, 0);
    leaf.count--;
    this.size--;
    return true;
  }

  #leafOf(first: number): Leaf {
    // A shift by 32 would be one by none.
    return this.#leaves[this.#depth === 0 ? 0 : first >>> (32 - this.#depth)];
  }

  #makeRoom(leaf: Leaf, first: number): void {
    const { cells } = leaf;
    if (cells.length < MOST_CELLS * WORDS) {
      leaf.cells = new Uint32Array(cells.length * 2);
      for (let cell = 0; cell < cells.length; cell += WORDS) insert(leaf.cells, cells[cell], cells[cell + 1]);
    } else this.#split(leaf, first);
  }

  /** NONCESET-1. */
  #split(leaf: Leaf, first: number): void {
    assert(leaf.depth < MOST_DEPTH, 'NONCESET-3: hashes differ in their first bits');
    if (leaf.depth === this.#depth) {
      this.#leaves = this.#leaves.flatMap((each) => [each, each]);
      this.#depth++;
    }
    const depth = leaf.depth + 1;
    const halves = [newLeaf(MOST_CELLS, depth), newLeaf(MOST_CELLS, depth)];
    for (let cell = 0; cell < leaf.cells.length; cell += WORDS) {
      if (isEmpty(leaf.cells, cell)) continue;
      const half = halves[(leaf.cells[cell] >>> (32 - depth)) & 1];
      insert(half.cells, leaf.cells[cell], leaf.cells[cell + 1]);
      half.count++;
    }
    const places = 1 << (this.#depth - depth);
    // Without a case of its own for depth 0, which V8 would take for the only one.
    const start = Math.floor(first / 2 ** (32 - leaf.depth)) * 2 * places;
    for (let place = 0; place < 2 * places; place++) this.#leaves[start + place] = halves[place < places ? 0 : 1];
  }
}

function newLeaf(cells: number, depth: number): Leaf {
  return { cells: new Uint32Array(cells * WORDS), count: 0, depth };
}

/** The index of the cell with this hash, or of the empty one where it would go. */
function cellOf(cells: Uint32Array, first: number, second: number): number {
  const mask = cells.length - 1;
  let cell = homeOf(cells, second);
  while (cells[cell + 1] !== 0 && (cells[cell] !== first || cells[cell + 1] !== second)) cell = (cell + WORDS) & mask;
  return cell;
}

function homeOf(cells: Uint32Array, second: number): number {
  return (second * WORDS) & (cells.length - 1);
}

function isEmpty(cells: Uint32Array, cell: number): boolean {
  return cells[cell + 1] === 0;
}

function insert(cells: Uint32Array, first: number, second: number): void {
  if (second !== 0) put(cells, cellOf(cells, first, second), first, second);
}

function put(cells: Uint32Array, cell: number, first: number, second: number): void {
  cells[cell] = first;
  cells[cell + 1] = second;
}
