/**
 * Every order hash this shard ever accepted, with the account that placed it and, while the order is open, its slot in
 * the pool. A signed order can be accepted only once, for ever, so entries are never removed. Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4 account   5 slot + 1, or 0 when the order is closed
 *   cell, 2 words:   0 keyed hash of the entry's 128 bits   1 number of the entry
 *   mark, 1 byte:    0 of a cell that is free, else 128 + seven bits of the keyed hash in the cell
 *
 * Entries lie in the order of their arrival, in chunks that are never moved, and are numbered from 0. Tables of cells
 * lead to them. Four cells are a group, whose marks are one word: a search goes from group to group and compares four
 * marks at a time, up to the first group with a free cell. Almost every order is new, so its hash is not found. The
 * marks alone answer that: one to three bytes per entry, which stay in the processor's cache longer than cells and
 * entries would.
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49. A deliberate one costs
 * 2^64 hashes, and only makes the attacker's own order be refused as a duplicate. The cells are split into 256 parts
 * that grow independently, so growing moves a 256th of the cells at a time, and no entry.
 *
 * Part and group of an entry come from a hash under a secret of this process (shared/base/keyedHash.ts): whatever order
 * hashes an account makes, they spread over all parts, and a search looks at a few groups. Nothing depends on where an
 * entry lies: a snapshot may list the entries in any order, and reading it spreads them anew.
 *
 * Entries are never removed, so the index is bounded by refusing (RULES.md 2.12): `hasRoom` returns true if one more
 * order of an account may be accepted. Once half of the room is taken, no account gets more than an eighth of it.
 *
 * Invariants (walked by core/invariants.ts):
 *   HASHES-1  An entry in use has an account above 0; an account of 0 marks an entry that is not used yet.
 *   HASHES-2  A hash has exactly one entry, and the marks and cells lead to it.
 *   HASHES-3  The number of an entry is a 32-bit integer and not negative.
 *   HASHES-4  The entries of every account are counted.
 *   HASHES-5  No search looks at more than LONGEST_SEARCH groups. Without knowing the secret, a longer search can only
 *             occur by chance, in fewer than one of a million full indexes.
 */
import { assert } from '../../shared/base/assert.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

const ENTRY_WORDS = 6;
/** log2 of the entries of a chunk. */
const CHUNK_BITS = 16;
const CHUNK_MASK = (1 << CHUNK_BITS) - 1;
/** The first chunk grows by doubling, because many indexes stay small. */
const FIRST_ENTRIES = 256;
const MOST_ENTRIES = 2 ** 31 - (1 << CHUNK_BITS);
const PARTS = 256;
/** Of a keyed hash the highest 8 bits are the part, those below give the mark, and the lowest the first group. */
const PART_SHIFT = 24;
const MARK_SHIFT = 16;
const MARK_BITS = 8;
const IN_USE = 0x80;
const GROUP_CELLS = 4;
const GROUP_WORDS = GROUP_CELLS * 2;
const FIRST_GROUPS = 8;
/** A part whose cells are more than five eighths full gets more. */
const MOST_IN_TWO_GROUPS = 5;
const LONGEST_SEARCH = 256;
/** The lowest and the highest bit of each mark of a group. */
const ONE_OF_EACH = 0x01010101;
const HIGHEST_OF_EACH = 0x80808080 | 0;
const NO_PLACE = -1;

/** The result of a search that finds nothing. */
export const NO_ENTRY = -1;

/** The largest bound that an index can have. */
export const MOST_HASHES = 2 ** 30;

assert(MOST_HASHES <= MOST_ENTRIES, 'HASHES-3: an index is never asked for more than it has numbers');

export class HashIndex {
  readonly #chunks: Uint32Array[] = [new Uint32Array(FIRST_ENTRIES * ENTRY_WORDS)];
  /** Entries that the chunks have room for. */
  #room = FIRST_ENTRIES;
  readonly #marks: Int32Array[] = Array.from({ length: PARTS }, () => new Int32Array(FIRST_GROUPS));
  readonly #cells: Int32Array[] = Array.from({ length: PARTS }, () => new Int32Array(FIRST_GROUPS * GROUP_WORDS));
  /** Cells in use, by part. */
  readonly #used = new Int32Array(PARTS);
  #ofAccount: Uint32Array = new Uint32Array(64);
  readonly #place: KeyedHash;
  /**
   * The last hash that was searched in vain, its keyed hash and its group: almost every such hash is inserted next,
   * which then needs no search. The group is unset after an insertion.
   */
  readonly #missing = new Uint32Array(4);
  #missingTag = 0;
  #missingGroup = NO_PLACE;
  size = 0;

  /** @param place given by tests only, which know its secret. */
  constructor(place = new KeyedHash()) {
    this.#place = place;
  }

  /** @returns the number of the hash's entry, or NO_ENTRY. */
  find(words: Uint32Array, word: number): number {
    return this.#find(this.#place.of(words, word), words, word);
  }

  has(words: Uint32Array, word: number): boolean {
    return this.find(words, word) !== NO_ENTRY;
  }

  /** Returns true if an index that may hold `most` entries has room for one more of the account. */
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
    return this.#chunks[number >>> CHUNK_BITS][(number & CHUNK_MASK) * ENTRY_WORDS + 4];
  }

  /** Slot of the open order of an entry, or NONE when the order is closed. */
  slotOf(number: number): number {
    return this.#chunks[number >>> CHUNK_BITS][(number & CHUNK_MASK) * ENTRY_WORDS + 5] - 1;
  }

  /**
   * Adds a hash that is not there yet; slot NONE adds it closed.
   * @returns the number of its entry, for the order to keep: closing it then needs no search.
   */
  insert(words: Uint32Array, word: number, account: number, slot: number): number {
    assert(account > 0, 'HASHES-1: no order belongs to account 0');
    if (!this.#isMissing(words, word)) {
      const isNew = this.find(words, word) === NO_ENTRY;
      assert(isNew, 'HASHES-2: a hash is inserted once');
    }
    const number = this.size;
    if (number === this.#room) this.#makeRoom();
    const entries = this.#chunks[number >>> CHUNK_BITS];
    const entry = (number & CHUNK_MASK) * ENTRY_WORDS;
    assert(entries[entry + 4] === 0, 'HASHES-1: an entry that is given out is unused');
    entries[entry] = words[word];
    entries[entry + 1] = words[word + 1];
    entries[entry + 2] = words[word + 2];
    entries[entry + 3] = words[word + 3];
    entries[entry + 4] = account;
    entries[entry + 5] = slot + 1;
    this.size = number + 1;
    this.#lead(number);
    if (account >= this.#ofAccount.length) this.#ofAccount = fitted(this.#ofAccount, account);
    this.#ofAccount[account]++;
    return number;
  }

  /** Closes for good the order in this slot, whose hash has this entry. */
  close(number: number, slot: number): void {
    assert(number >= 0, 'HASHES-3: an open order knows its entry');
    const entries = this.#chunks[number >>> CHUNK_BITS];
    const entry = (number & CHUNK_MASK) * ENTRY_WORDS;
    assert(entries[entry + 5] === slot + 1, 'ORDERS-2: an open order is in the hash index');
    entries[entry + 5] = 0;
  }

  /** Every entry, in the order of their arrival: the first 128 bits of the hash at `word`, and the account. */
  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    for (let number = 0; number < this.size; number++) {
      const entries = this.#chunks[number >>> CHUNK_BITS];
      const entry = (number & CHUNK_MASK) * ENTRY_WORDS;
      visitor(entries, entry, entries[entry + 4]);
    }
  }

  /** Asserts HASHES-1 to HASHES-5. @returns how many entries belong to open orders. */
  validate(): number {
    let open = 0;
    const ofAccount = new Uint32Array(this.#ofAccount.length);
    this.visit((words, word, account) => {
      assert(account > 0, 'HASHES-1: an entry in use has an account');
      ofAccount[account]++;
      if (words[word + 5] === 0) return;
      const slot = words[word + 5] - 1;
      const found = this.find(words, word);
      assert(found !== NO_ENTRY && this.slotOf(found) === slot, 'HASHES-2: the cells lead to an open order');
      open++;
    });
    let used = 0;
    for (let part = 0; part < PARTS; part++) {
      const inPart = checkCells(this.#marks[part], this.#cells[part], part, this.size);
      assert(inPart === this.#used[part], 'HASHES-2: the cells in use are counted');
      used += inPart;
    }
    assert(used === this.size, 'HASHES-2: every entry has one cell');
    for (const [account, count] of ofAccount.entries())
      assert(count === this.#ofAccount[account], 'HASHES-4: the entries of an account are counted');
    return open;
  }

  /**
   * Marks, cells and counts are not stored, because a reader has another secret. The entries are written in as many
   * parts as the cells have, for compatibility with earlier programs. In snapshots of the first release unused
   * entries may stand between the others.
   */
  persist(io: SnapshotIo): void {
    const size = io.number(this.size);
    const perPart = Math.ceil(this.size / PARTS);
    const written = new Uint32Array(PARTS);
    for (let part = 0; part < PARTS; part++) written[part] = Math.max(0, Math.min(perPart, this.size - part * perPart));
    const used = io.u32(written);
    const isRead = used !== written;
    assert(!isRead || this.size === 0, 'HASHES-2: a snapshot is read into nothing');
    for (let part = 0; part < PARTS; part++) {
      const kept = io.u32(isRead ? written : this.#slice(part * perPart, written[part]));
      if (isRead) this.#read(kept, used[part]);
    }
    assert(this.size === size, 'HASHES-2: a snapshot has as many entries as it says');
  }

  /** The entry with this hash, whose keyed hash is `tag`, or NO_ENTRY. */
  #find(tag: number, words: Uint32Array, word: number): number {
    const part = tag >>> PART_SHIFT;
    const marks = this.#marks[part];
    const mask = marks.length - 1;
    const sought = Math.imul(markOf(tag), ONE_OF_EACH);
    let group = tag & mask;
    for (;;) {
      const inGroup = marks[group];
      const differing = inGroup ^ sought;
      // The highest bit of each byte that is 0, where the marks are equal. A borrow may set one bit too many, never one
      // too few.
      let alike = (differing - ONE_OF_EACH) & ~differing & HIGHEST_OF_EACH;
      for (; alike !== 0; alike &= alike - 1) {
        const number = this.#compare(part, group * GROUP_CELLS + cellOf(alike), tag, words, word);
        if (number !== NO_ENTRY) return number;
      }
      if ((inGroup & HIGHEST_OF_EACH) !== HIGHEST_OF_EACH) break;
      group = (group + 1) & mask;
    }
    this.#missing[0] = words[word];
    this.#missing[1] = words[word + 1];
    this.#missing[2] = words[word + 2];
    this.#missing[3] = words[word + 3];
    this.#missingTag = tag;
    this.#missingGroup = group;
    return NO_ENTRY;
  }

  /** The entry that a cell leads to, if it has this hash, or NO_ENTRY. */
  #compare(part: number, cell: number, tag: number, words: Uint32Array, word: number): number {
    const cells = this.#cells[part];
    if (cells[cell * 2] !== tag) return NO_ENTRY;
    const number = cells[cell * 2 + 1];
    const entries = this.#chunks[number >>> CHUNK_BITS];
    const entry = (number & CHUNK_MASK) * ENTRY_WORDS;
    const isSame =
      entries[entry] === words[word] &&
      entries[entry + 1] === words[word + 1] &&
      entries[entry + 2] === words[word + 2] &&
      entries[entry + 3] === words[word + 3];
    return isSame ? number : NO_ENTRY;
  }

  #isMissing(words: Uint32Array, word: number): boolean {
    const missing = this.#missing;
    return (
      this.#missingGroup !== NO_PLACE &&
      missing[0] === words[word] &&
      missing[1] === words[word + 1] &&
      missing[2] === words[word + 2] &&
      missing[3] === words[word + 3]
    );
  }

  /** Lets a cell lead to the entry of the hash that was missing. */
  #lead(number: number): void {
    const tag = this.#missingTag;
    const part = tag >>> PART_SHIFT;
    const marks = this.#marks[part];
    if (this.#used[part] * 2 >= marks.length * MOST_IN_TWO_GROUPS) {
      this.#growCells(part);
      put(this.#marks[part], this.#cells[part], tag & (this.#marks[part].length - 1), tag, number);
    } else put(marks, this.#cells[part], this.#missingGroup, tag, number);
    this.#missingGroup = NO_PLACE;
    this.#used[part]++;
  }

  #growCells(part: number): void {
    const [marks, cells] = [this.#marks[part], this.#cells[part]];
    const mask = marks.length * 2 - 1;
    this.#marks[part] = new Int32Array(marks.length * 2);
    this.#cells[part] = new Int32Array(cells.length * 2);
    for (let cell = 0; cell * 2 < cells.length; cell++) {
      if (!isInUse(marks, cell)) continue;
      const tag = cells[cell * 2];
      put(this.#marks[part], this.#cells[part], tag & mask, tag, cells[cell * 2 + 1]);
    }
  }

  /** Makes room for more entries. */
  #makeRoom(): void {
    assert(this.#room < MOST_ENTRIES, 'HASHES-3: the number of an entry is a positive word');
    if (this.#room > CHUNK_MASK) {
      this.#chunks.push(new Uint32Array(ENTRY_WORDS << CHUNK_BITS));
      this.#room += 1 << CHUNK_BITS;
    } else {
      this.#room *= 2;
      this.#chunks[0] = extend(this.#chunks[0], new Uint32Array(this.#room * ENTRY_WORDS));
    }
  }

  /** A copy of so many entries. */
  #slice(from: number, count: number): Uint32Array {
    const copy = new Uint32Array(count * ENTRY_WORDS);
    for (let copied = 0; copied < count; ) {
      const number = from + copied;
      const entry = (number & CHUNK_MASK) * ENTRY_WORDS;
      const inChunk = Math.min(count - copied, (1 << CHUNK_BITS) - (number & CHUNK_MASK));
      const chunk = this.#chunks[number >>> CHUNK_BITS];
      copy.set(chunk.subarray(entry, entry + inChunk * ENTRY_WORDS), copied * ENTRY_WORDS);
      copied += inChunk;
    }
    return copy;
  }

  #read(kept: Uint32Array, count: number): void {
    const before = this.size;
    for (let from = 0; from < kept.length; from += ENTRY_WORDS)
      if (kept[from + 4] !== 0) this.insert(kept, from, kept[from + 4], (kept[from + 5] | 0) - 1);
    assert(this.size - before === count, 'HASHES-1: a part of a snapshot has as many entries as it says');
  }
}

/** Fills the first free cell from this group on. */
function put(marks: Int32Array, cells: Int32Array, from: number, tag: number, number: number): void {
  const mask = marks.length - 1;
  let group = from;
  while ((marks[group] & HIGHEST_OF_EACH) === HIGHEST_OF_EACH) group = (group + 1) & mask;
  const index = cellOf(~marks[group] & HIGHEST_OF_EACH);
  marks[group] |= markOf(tag) << (index * MARK_BITS);
  const cell = group * GROUP_CELLS + index;
  cells[cell * 2] = tag;
  cells[cell * 2 + 1] = number;
}

/** The mark of a cell with this keyed hash. */
function markOf(tag: number): number {
  return IN_USE | ((tag >>> MARK_SHIFT) & (IN_USE - 1));
}

/** Of a group's cells, the one of the lowest bit that is set. */
function cellOf(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >>> 3;
}

function isInUse(marks: Int32Array, cell: number): boolean {
  return ((marks[cell >>> 2] >>> ((cell & 3) * MARK_BITS)) & IN_USE) !== 0;
}

/** Asserts HASHES-2 and HASHES-5 of one part's cells. @returns how many are in use. */
function checkCells(marks: Int32Array, cells: Int32Array, part: number, size: number): number {
  let used = 0;
  let run = 0;
  for (let group = 0; group < marks.length; group++) {
    let inGroup = 0;
    const isEmpty = (marks[group] & HIGHEST_OF_EACH) === 0;
    for (let index = 0; index < GROUP_CELLS && !isEmpty; index++) {
      const cell = group * GROUP_CELLS + index;
      if (!isInUse(marks, cell)) continue;
      const tag = cells[cell * 2];
      const mark = (marks[group] >>> (index * MARK_BITS)) & 0xff;
      assert(mark === markOf(tag) && tag >>> PART_SHIFT === part, 'HASHES-2: a cell has the mark of its keyed hash');
      assert(cells[cell * 2 + 1] >= 0 && cells[cell * 2 + 1] < size, 'HASHES-3: a cell leads to an entry');
      inGroup++;
    }
    used += inGroup;
    run = inGroup === GROUP_CELLS ? run + 1 : 0;
    assert(run < LONGEST_SEARCH, 'HASHES-5: the entries are spread over the groups');
  }
  return used;
}

/** The counts, with room for one of this account. */
function fitted(counts: Uint32Array, account: number): Uint32Array<ArrayBuffer> {
  let length = counts.length * 2;
  while (length <= account) length *= 2;
  return extend(counts, new Uint32Array(length));
}
