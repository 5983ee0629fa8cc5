/**
 * Every order hash this shard ever accepted, with the account that placed it and, while the order is open, its slot in
 * the pool. A signed order can be accepted only once, for ever, so entries are never removed. Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4 account   5 slot + 1, or 0 when the order is closed
 *   cell, 2 words:   0 keyed hash of the entry's 128 bits   1 ordinal of the entry + 1, or 0 when the cell is free
 *
 * Entries lie in the order of their arrival. A table of cells with a load below 3/4 leads to them: almost every order
 * is new and looks for a hash that is not there, which the cells alone answer, and the table is small enough to stay in
 * the processor's cache longer than the entries would.
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49, and a made one costs
 * 2^64 hashes and only gets the attacker's own order refused as a duplicate. The index is cut in 256 parts that grow
 * on their own, so growing copies a 256th of the entries at a time.
 *
 * Part and cell of an entry come from a hash under a secret of this process (shared/base/keyedHash.ts): whatever order
 * hashes an account makes, they spread over all parts, and a search looks at a few cells. Nothing depends on where an
 * entry lies: a snapshot may list the entries in any order, and reading it spreads them anew.
 *
 * Entries are never removed, so the index is bounded by refusing (RULES.md 2.12): `hasRoom` says whether one more of an
 * account's orders may be accepted. Once half of the room is taken, no account gets more than an eighth of it.
 *
 * The number of an entry is its part in the low 8 bits and its ordinal within the part above them.
 *
 * Invariants (walked by core/invariants.ts):
 *   HASHES-1  An entry in use has an account above 0; an account of 0 marks an entry that is not used yet.
 *   HASHES-2  A hash has exactly one entry, and the cells lead to it.
 *   HASHES-3  The number of an entry is a 32-bit integer and not negative.
 *   HASHES-4  The entries of every account are counted.
 *   HASHES-5  No search looks at more than LONGEST_SEARCH cells. Without the secret only chance makes a longer one, in
 *             fewer than one of a million full indexes.
 */
import { assert } from '../../shared/base/assert.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

const ENTRY_WORDS = 6;
const PART_BITS = 8;
const PARTS = 1 << PART_BITS;
/** The part of an entry is in the highest bits of its keyed hash, its first cell in the lowest. */
const PART_SHIFT = 32 - PART_BITS;
const INITIAL_ENTRIES = 16;
const LONGEST_SEARCH = 1024;
/** With more, the number of an entry would be negative as a 32-bit integer. */
const MOST_ENTRIES = 1 << (31 - PART_BITS);

/** The result of a search that finds nothing. */
export const NO_ENTRY = -1;

assert(MOST_ENTRIES * PARTS <= 2 ** 31, 'HASHES-3: no number of an entry is negative');

/**
 * The largest bound that an index can have. Each part is filled to a half then, and none comes near its
 * own bound.
 */
export const MOST_HASHES = 2 ** 30;

export class HashIndex {
  readonly #entries: Uint32Array[] = Array.from(
    { length: PARTS },
    () => new Uint32Array(INITIAL_ENTRIES * ENTRY_WORDS),
  );
  readonly #cells: Int32Array[] = Array.from({ length: PARTS }, () => new Int32Array(INITIAL_ENTRIES * 2 * 2));
  #used: Uint32Array = new Uint32Array(PARTS);
  #ofAccount: Uint32Array = new Uint32Array(64);
  readonly #place: KeyedHash;
  /** The hash that was looked for last, and its keyed hash: almost every hash that is looked for is inserted next. */
  readonly #last = new Uint32Array(4);
  #lastTag: number;
  size = 0;
  /** The cell that the last unsuccessful search ended at: the hash it looked for would go there. */
  #endedAt = 0;

  /** @param place given by tests only, which know its secret. */
  constructor(place = new KeyedHash()) {
    this.#place = place;
    this.#lastTag = place.of(this.#last, 0);
  }

  /** @returns the number of the hash's entry, or NO_ENTRY. */
  find(words: Uint32Array, word: number): number {
    const tag = this.#tagOf(words, word);
    const ordinal = this.#ordinalOf(tag, words, word);
    return ordinal < 0 ? NO_ENTRY : numberOf(tag >>> PART_SHIFT, ordinal);
  }

  has(words: Uint32Array, word: number): boolean {
    return this.#ordinalOf(this.#tagOf(words, word), words, word) >= 0;
  }

  /** True when an index that may hold `most` entries has room for another one of the account. */
  hasRoom(account: number, most: number): boolean {
    if (this.size * 2 < most) return true;
    return this.size < most && this.countOf(account) * 8 < most;
  }

  /** The number of entries of an account. */
  countOf(account: number): number {
    return account < this.#ofAccount.length ? this.#ofAccount[account] : 0;
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
    const tag = this.#tagOf(words, word);
    const part = tag >>> PART_SHIFT;
    const count = this.#used[part];
    if (count * ENTRY_WORDS === this.#entries[part].length || count * 8 >= this.#cells[part].length * 3)
      this.#grow(part);
    assert(this.#ordinalOf(tag, words, word) < 0, 'HASHES-2: a hash is inserted once');
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
    cells[this.#endedAt] = tag;
    cells[this.#endedAt + 1] = count + 1;
    this.#used[part] = count + 1;
    this.size++;
    if (account >= this.#ofAccount.length) this.#ofAccount = fitted(this.#ofAccount, account);
    this.#ofAccount[account]++;
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
    const ofAccount = new Uint32Array(this.#ofAccount.length);
    for (let part = 0; part < PARTS; part++) {
      const entries = this.#entries[part];
      const count = this.#used[part];
      assert(count * ENTRY_WORDS <= entries.length, 'HASHES-1: used entries have memory');
      for (let ordinal = 0; ordinal < count; ordinal++) {
        const entry = ordinal * ENTRY_WORDS;
        assert(entries[entry + 4] > 0, 'HASHES-1: a used entry has an account');
        ofAccount[entries[entry + 4]]++;
        if (entries[entry + 5] === 0) continue;
        const found = this.find(entries, entry);
        assert(found === numberOf(part, ordinal), 'HASHES-2: the cells lead to an open order');
        open++;
      }
      total += count;
    }
    for (const cells of this.#cells)
      assert(longestRun(cells) < LONGEST_SEARCH, 'HASHES-5: the entries are spread over the cells');
    assert(total === this.size, 'HASHES-2: the size is the number of entries');
    for (const [account, count] of ofAccount.entries())
      assert(count === this.#ofAccount[account], 'HASHES-4: the entries of an account are counted');
    return open;
  }

  /**
   * Cells and counts are not kept, and the parts of a snapshot are those of the process that wrote it: only their
   * entries matter. In snapshots before version 4 unused entries may stand between the others.
   */
  persist(io: SnapshotIo): void {
    const size = io.number(this.size);
    const used = io.u32(this.#used);
    const isRead = used !== this.#used;
    assert(!isRead || this.size === 0, 'HASHES-2: a snapshot is read into nothing');
    for (let part = 0; part < PARTS; part++) {
      const kept = io.u32(isRead ? used : this.#entries[part]);
      if (isRead) this.#read(kept, used[part]);
    }
    assert(this.size === size, 'HASHES-2: a snapshot has as many entries as it says');
  }

  /** The keyed hash of a hash. */
  #tagOf(words: Uint32Array, word: number): number {
    const last = this.#last;
    const isLast =
      last[0] === words[word] &&
      last[1] === words[word + 1] &&
      last[2] === words[word + 2] &&
      last[3] === words[word + 3];
    if (isLast) return this.#lastTag;
    for (let i = 0; i < 4; i++) last[i] = words[word + i];
    this.#lastTag = this.#place.of(last, 0);
    return this.#lastTag;
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

  #read(kept: Uint32Array, count: number): void {
    const before = this.size;
    for (let from = 0; from < kept.length; from += ENTRY_WORDS)
      if (kept[from + 4] !== 0) this.insert(kept, from, kept[from + 4], (kept[from + 5] | 0) - 1);
    assert(this.size - before === count, 'HASHES-1: a part of a snapshot has as many entries as it says');
  }

  /** Ordinal of the entry with this hash, whose keyed hash is `tag`, within its part, or -1. */
  #ordinalOf(tag: number, words: Uint32Array, word: number): number {
    const part = tag >>> PART_SHIFT;
    const cells = this.#cells[part];
    const mask = cells.length - 1;
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

/** The most cells in use that lie together; not looked for in a table that is too small for a long run. */
function longestRun(cells: Int32Array): number {
  if (cells.length < LONGEST_SEARCH) return 0;
  let longest = 0;
  let run = 0;
  for (let at = 1; at < cells.length; at += 2) {
    run = cells[at] === 0 ? 0 : run + 1;
    if (run > longest) longest = run;
  }
  return longest;
}

/** The counts, with room for one of this account. */
function fitted(counts: Uint32Array, account: number): Uint32Array<ArrayBuffer> {
  let length = counts.length * 2;
  while (length <= account) length *= 2;
  return extend(counts, new Uint32Array(length));
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
