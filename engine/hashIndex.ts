/**
 * Every order hash this shard ever accepted, with who placed it and, while it is open, its row in the pool. A signed
 * order can be stored only once, for ever, so entries are never removed. Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4 account   5 row + 1, or 0 when the order is closed
 *   place, 2 words:  0 32 bits of the hash   1 entry + 1, or 0 when the place is free
 *
 * Entries lie in the order they came in. They are found through a table of places with a load below 3/4: almost every
 * order is new and asks for a hash that is not there, which the table alone answers; and at a third of the size it
 * stays in a cache three times as long.
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49, and a made one costs
 * 2^64 hashes and only gets the attacker's own order refused as a duplicate. The index is cut in 256 parts that grow
 * on their own, so growing copies a few thousand entries and never stalls matching for long.
 *
 * Invariant H1: an account of 0 marks an entry that is not used yet; no order belongs to account 0.
 */
import { assert } from '../shared/assert.ts';
import { extend } from './columns.ts';
import type { SnapshotIo } from './snapshotIo.ts';

const ENTRY_WORDS = 6;
const PART_BITS = 8;
const PARTS = 1 << PART_BITS;
const INITIAL_ENTRIES = 16;

export class HashIndex {
  readonly #entries: Uint32Array[] = Array.from(
    { length: PARTS },
    () => new Uint32Array(INITIAL_ENTRIES * ENTRY_WORDS),
  );
  readonly #places: Int32Array[] = Array.from({ length: PARTS }, () => new Int32Array(INITIAL_ENTRIES * 2 * 2));
  #used: Uint32Array = new Uint32Array(PARTS);
  size = 0;
  /** Results of the last `find` that returned true. */
  foundAccount = 0;
  /** Row of the open order, or -1 when it is closed. */
  foundSlot = -1;
  foundEntry = 0;
  /** Where the last search that found nothing ended: the place that the hash would take. */
  #endedAt = 0;

  find(words: Uint32Array, word: number): boolean {
    const part = words[word]! & (PARTS - 1);
    const ordinal = this.#ordinalOf(part, words, word);
    if (ordinal < 0) return false;
    const entries = this.#entries[part]!;
    const entry = ordinal * ENTRY_WORDS;
    this.foundAccount = entries[entry + 4]!;
    this.foundSlot = entries[entry + 5]! - 1;
    this.foundEntry = numberOf(part, ordinal);
    return true;
  }

  /**
   * Adds a hash that is not there yet; slot -1 adds it closed.
   * @returns the number of its entry: who keeps it need not search again.
   */
  insert(words: Uint32Array, word: number, account: number, slot: number): number {
    assert(account > 0, 'H1: no order belongs to account 0');
    const part = words[word]! & (PARTS - 1);
    const count = this.#used[part]!;
    if (count * ENTRY_WORDS === this.#entries[part]!.length || count * 8 >= this.#places[part]!.length * 3)
      this.#grow(part);
    assert(this.#ordinalOf(part, words, word) < 0, 'H1: a hash is inserted once');
    const entries = this.#entries[part]!;
    const entry = count * ENTRY_WORDS;
    entries[entry] = words[word]!;
    entries[entry + 1] = words[word + 1]!;
    entries[entry + 2] = words[word + 2]!;
    entries[entry + 3] = words[word + 3]!;
    entries[entry + 4] = account;
    entries[entry + 5] = slot + 1;
    const places = this.#places[part]!;
    places[this.#endedAt] = tagOf(words, word);
    places[this.#endedAt + 1] = count + 1;
    this.#used[part] = count + 1;
    this.size++;
    return numberOf(part, count);
  }

  /** The order in this row, whose hash has this entry, has reached its terminal state. */
  close(number: number, slot: number): void {
    const entries = this.#entries[number & (PARTS - 1)]!;
    const entry = (number >>> PART_BITS) * ENTRY_WORDS;
    assert(entries[entry + 5] === slot + 1, 'O2: an open order is in the hash index');
    entries[entry + 5] = 0;
  }

  /** Every entry ever made, in no particular order: the first 128 bits of the hash at `word`, and the account. */
  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    for (const entries of this.#entries) {
      for (let entry = 0; entry < entries.length && entries[entry + 4] !== 0; entry += ENTRY_WORDS) {
        visitor(entries, entry, entries[entry + 4]!);
      }
    }
  }

  /** A table of places is not kept. In snapshots before version 4 unused entries may stand between the others. */
  persist(io: SnapshotIo): void {
    this.size = io.number(this.size);
    this.#used = io.u32(this.#used);
    for (let part = 0; part < PARTS; part++) {
      const entries = this.#entries[part]!;
      const kept = io.u32(entries);
      if (kept !== entries) this.#read(part, kept);
    }
  }

  /** Makes room for one more. */
  #grow(part: number): void {
    const entries = this.#entries[part]!;
    const count = this.#used[part]!;
    if (count * ENTRY_WORDS === entries.length)
      this.#entries[part] = extend(entries, new Uint32Array(count * 2 * ENTRY_WORDS));
    if (count * 8 >= this.#places[part]!.length * 3) this.#places[part] = grown(this.#places[part]!);
  }

  #read(part: number, kept: Uint32Array): void {
    const entries = new Uint32Array(kept.length);
    let places = new Int32Array(INITIAL_ENTRIES * 2 * 2);
    let count = 0;
    for (let from = 0; from < kept.length; from += ENTRY_WORDS) {
      if (kept[from + 4] === 0) continue;
      entries.set(kept.subarray(from, from + ENTRY_WORDS), count * ENTRY_WORDS);
      if (count * 8 >= places.length * 3) places = grown(places);
      occupy(places, tagOf(kept, from), ++count);
    }
    assert(count === this.#used[part], 'H1: a snapshot has as many entries as it says');
    this.#entries[part] = entries;
    this.#places[part] = places;
  }

  /** Which of the part's entries has this hash, or -1. */
  #ordinalOf(part: number, words: Uint32Array, word: number): number {
    const places = this.#places[part]!;
    const mask = places.length - 1;
    const tag = tagOf(words, word);
    let at = (tag << 1) & mask;
    for (;;) {
      const ordinal = places[at + 1]! - 1;
      if (ordinal < 0) {
        this.#endedAt = at;
        return -1;
      }
      if (places[at] === tag && isAt(this.#entries[part]!, ordinal * ENTRY_WORDS, words, word)) return ordinal;
      at = (at + 2) & mask;
    }
  }
}

/** An entry among all parts: 16 million a part fit a word. */
function numberOf(part: number, ordinal: number): number {
  return part | (ordinal << PART_BITS);
}

/** The words that decide on the part (8 bits) and on the place (the others), as a signed word. */
function tagOf(words: Uint32Array, word: number): number {
  return words[word + 1]! ^ (words[word]! >>> 8);
}

function isAt(entries: Uint32Array, entry: number, words: Uint32Array, word: number): boolean {
  return (
    entries[entry] === words[word] &&
    entries[entry + 1] === words[word + 1] &&
    entries[entry + 2] === words[word + 2] &&
    entries[entry + 3] === words[word + 3]
  );
}

function occupy(places: Int32Array, tag: number, ordinal: number): void {
  const mask = places.length - 1;
  let at = (tag << 1) & mask;
  while (places[at + 1] !== 0) at = (at + 2) & mask;
  places[at] = tag;
  places[at + 1] = ordinal;
}

function grown(places: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(places.length * 2);
  for (let at = 0; at < places.length; at += 2) if (places[at + 1] !== 0) occupy(larger, places[at]!, places[at + 1]!);
  return larger;
}
