/**
 * Every order hash this shard ever accepted, with the account that placed it and, while the order is open, its slot in
 * the pool. A signed order can be accepted only once, for ever, so entries are never removed. Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4 account   5 slot + 1, or 0 when the order is closed
 *   cell, 2 words:   0 32 bits of the hash   1 ordinal of the entry + 1, or 0 when the cell is free
 *
 * Entries lie in the order of their arrival. A table of cells with a load below 3/4 leads to them: almost every order
 * is new and looks for a hash that is not there, which the cells alone answer, and the table is small enough to stay in
 * the processor's cache longer than the entries would.
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49, and a made one costs
 * 2^64 hashes and only gets the attacker's own order refused as a duplicate. The index is cut in 256 parts that grow
 * on their own, so growing copies a few thousand entries and never stalls matching for long.
 *
 * The number of an entry is its part in the low 8 bits and its ordinal within the part above them.
 *
 * Invariants (walked by core/invariants.ts):
 *   HASHES-1  An entry in use has an account above 0; an account of 0 marks an entry that is not used yet.
 *   HASHES-2  A hash has exactly one entry, and the cells lead to it.
 *   HASHES-3  The number of an entry is a 32-bit integer and not negative.
 */
import { assert } from '../../shared/base/assert.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

const ENTRY_WORDS = 6;
const PART_BITS = 8;
const PARTS = 1 << PART_BITS;
const INITIAL_ENTRIES = 16;
/** With more, the number of an entry would be negative as a 32-bit integer. */
const MOST_ENTRIES = 1 << (31 - PART_BITS);

/** The result of a search that finds nothing. */
export const NO_ENTRY = -1;

assert(MOST_ENTRIES * PARTS <= 2 ** 31, 'HASHES-3: no number of an entry is negative');

export class HashIndex {
  readonly #entries: Uint32Array[] = Array.from(
    { length: PARTS },
    () => new Uint32Array(INITIAL_ENTRIES * ENTRY_WORDS),
  );
  readonly #cells: Int32Array[] = Array.from({ length: PARTS }, () => new Int32Array(INITIAL_ENTRIES * 2 * 2));
  #used: Uint32Array = new Uint32Array(PARTS);
  size = 0;
  /** The cell that the last unsuccessful search ended at: the hash it looked for would go there. */
  #endedAt = 0;

  /** @returns the number of the hash's entry, or NO_ENTRY. */
  find(words: Uint32Array, word: number): number {
    const part = words[word] & (PARTS - 1);
    const ordinal = this.#ordinalOf(part, words, word);
    return ordinal < 0 ? NO_ENTRY : numberOf(part, ordinal);
  }

  has(words: Uint32Array, word: number): boolean {
    return this.#ordinalOf(words[word] & (PARTS - 1), words, word) >= 0;
  }

  /** The account that placed the order of an entry. */
  accountOf(number: number): number {
    return this.#entries[number & (PARTS - 1)][(number >>> PART_BITS) * ENTRY_WORDS + 4];
  }

  /** Slot of the open order of an entry, or NONE when the order is closed. */
  slotOf(number: number): number {
    return this.#entries[number & (PARTS - 1)][(number >>> PART_BITS) * ENTRY_WORDS + 5] - 1;
  }

  /**
   * Adds a hash that is not there yet; slot NONE adds it closed.
   * @returns the number of its entry, for an order to keep: closing it then takes no search.
   */
  insert(words: Uint32Array, word: number, account: number, slot: number): number {
    assert(account > 0, 'HASHES-1: no order belongs to account 0');
    const part = words[word] & (PARTS - 1);
    const count = this.#used[part];
    if (count * ENTRY_WORDS === this.#entries[part].length || count * 8 >= this.#cells[part].length * 3)
      this.#grow(part);
    assert(this.#ordinalOf(part, words, word) < 0, 'HASHES-2: a hash is inserted once');
    const entries = this.#entries[part];
    const entry = count * ENTRY_WORDS;
    assert(entries[entry + 4] === 0, 'HASHES-1: an entry that is given out is unused');
    entries[entry] = words[word];
    entries[entry + 1] = words[word + 1];
    entries[entry + 2] = words[word + 2];
    entries[entry + 3] = words[word + 3];
    entries[entry + 4] = account;
    entries[entry + 5] = slot + 1;
    const cells = this.#cells[part];
    cells[this.#endedAt] = hashBitsOf(words, word);
    cells[this.#endedAt + 1] = count + 1;
    this.#used[part] = count + 1;
    this.size++;
    return numberOf(part, count);
  }

  /** The order in this slot, whose hash has this entry, is closed for ever. */
  close(number: number, slot: number): void {
    const entries = this.#entries[number & (PARTS - 1)];
    const entry = (number >>> PART_BITS) * ENTRY_WORDS;
    assert(number >= 0, 'HASHES-3: an open order knows its entry');
    assert(entries[entry + 5] === slot + 1, 'ORDERS-2: an open order is in the hash index');
    entries[entry + 5] = 0;
  }

  /** Every entry ever made, in no particular order: the first 128 bits of the hash at `word`, and the account. */
  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    for (const entries of this.#entries) {
      for (let entry = 0; entry < entries.length && entries[entry + 4] !== 0; entry += ENTRY_WORDS) {
        visitor(entries, entry, entries[entry + 4]);
      }
    }
  }

  /** Asserts HASHES-1, HASHES-2 and the size. @returns how many entries belong to open orders. */
  validate(): number {
    let total = 0;
    let open = 0;
    for (let part = 0; part < PARTS; part++) {
      const entries = this.#entries[part];
      const count = this.#used[part];
      assert(count * ENTRY_WORDS <= entries.length, 'HASHES-1: used entries have memory');
      for (let ordinal = 0; ordinal < count; ordinal++) {
        const entry = ordinal * ENTRY_WORDS;
        assert(entries[entry + 4] > 0, 'HASHES-1: a used entry has an account');
        if (entries[entry + 5] === 0) continue;
        assert(this.#ordinalOf(part, entries, entry) === ordinal, 'HASHES-2: the cells lead to an open order');
        open++;
      }
      total += count;
    }
    assert(total === this.size, 'HASHES-2: the size is the number of entries');
    return open;
  }

  /** The cells are not kept. In snapshots before version 4 unused entries may stand between the others. */
  persist(io: SnapshotIo): void {
    this.size = io.number(this.size);
    this.#used = io.u32(this.#used);
    for (let part = 0; part < PARTS; part++) {
      const entries = this.#entries[part];
      const kept = io.u32(entries);
      if (kept !== entries) this.#read(part, kept);
    }
  }

  /** Makes room for one more. */
  #grow(part: number): void {
    const entries = this.#entries[part];
    const count = this.#used[part];
    assert(count < MOST_ENTRIES, 'HASHES-3: the number of an entry is a positive word');
    if (count * ENTRY_WORDS === entries.length)
      this.#entries[part] = extend(entries, new Uint32Array(count * 2 * ENTRY_WORDS));
    if (count * 8 >= this.#cells[part].length * 3) this.#cells[part] = grown(this.#cells[part]);
  }

  #read(part: number, kept: Uint32Array): void {
    const entries = new Uint32Array(kept.length);
    let cells = new Int32Array(INITIAL_ENTRIES * 2 * 2);
    let count = 0;
    for (let from = 0; from < kept.length; from += ENTRY_WORDS) {
      if (kept[from + 4] === 0) continue;
      entries.set(kept.subarray(from, from + ENTRY_WORDS), count * ENTRY_WORDS);
      if (count * 8 >= cells.length * 3) cells = grown(cells);
      occupy(cells, hashBitsOf(kept, from), ++count);
    }
    assert(count === this.#used[part], 'HASHES-1: a snapshot has as many entries as it says');
    this.#entries[part] = entries;
    this.#cells[part] = cells;
  }

  /** Ordinal of the part's entry with this hash, or -1. */
  #ordinalOf(part: number, words: Uint32Array, word: number): number {
    const cells = this.#cells[part];
    const mask = cells.length - 1;
    const tag = hashBitsOf(words, word);
    let at = (tag << 1) & mask;
    for (;;) {
      const ordinal = cells[at + 1] - 1;
      if (ordinal < 0) {
        this.#endedAt = at;
        return -1;
      }
      if (cells[at] === tag && isAt(this.#entries[part], ordinal * ENTRY_WORDS, words, word)) return ordinal;
      at = (at + 2) & mask;
    }
  }
}

/** The number of an entry among all parts. */
function numberOf(part: number, ordinal: number): number {
  return part | (ordinal << PART_BITS);
}

/** The words that decide on the part (8 bits) and on the cell (the others), as a signed word. */
function hashBitsOf(words: Uint32Array, word: number): number {
  return words[word + 1] ^ (words[word] >>> 8);
}

function isAt(entries: Uint32Array, entry: number, words: Uint32Array, word: number): boolean {
  return (
    entries[entry] === words[word] &&
    entries[entry + 1] === words[word + 1] &&
    entries[entry + 2] === words[word + 2] &&
    entries[entry + 3] === words[word + 3]
  );
}

function occupy(cells: Int32Array, tag: number, ordinal: number): void {
  const mask = cells.length - 1;
  let at = (tag << 1) & mask;
  while (cells[at + 1] !== 0) at = (at + 2) & mask;
  cells[at] = tag;
  cells[at + 1] = ordinal;
}

function grown(cells: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(cells.length * 2);
  for (let at = 0; at < cells.length; at += 2) if (cells[at + 1] !== 0) occupy(larger, cells[at], cells[at + 1]);
  return larger;
}
