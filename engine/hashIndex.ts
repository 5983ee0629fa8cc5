/**
 * Every order hash this shard ever accepted, with who placed it and, while it is open, its row in the pool. A signed
 * order can be stored only once, for ever, so entries are never removed: an entry is 24 bytes, at a load below 3/4.
 * Owner: the shard thread.
 *
 *   entry, 6 words:  0…3 the first 128 bits of the hash   4 account   5 row + 1, or 0 when the order is closed
 *
 * 128 bits are enough: an accidental collision among 2^40 orders has a chance of about 2^-49, and a made one costs
 * 2^64 hashes and only gets the attacker's own order refused as a duplicate. The table is cut in 256 parts that grow
 * on their own, so growing copies a few thousand entries and never stalls matching for long.
 *
 * Invariant H1: an account of 0 marks a free entry; no order belongs to account 0.
 */
import { assert } from '../shared/assert.ts';
import type { SnapshotIo } from './snapshotIo.ts';

const ENTRY_WORDS = 6;
const PARTS = 256;
const INITIAL_ENTRIES = 16;

export class HashIndex {
  readonly #parts: Uint32Array[] = Array.from({ length: PARTS }, () => new Uint32Array(INITIAL_ENTRIES * ENTRY_WORDS));
  #used: Uint32Array = new Uint32Array(PARTS);
  size = 0;
  /** Results of the last `find` that returned true. */
  foundAccount = 0;
  /** Row of the open order, or -1 when it is closed. */
  foundSlot = -1;

  find(words: Uint32Array, word: number): boolean {
    const part = this.#parts[words[word]! & (PARTS - 1)]!;
    const entry = probe(part, words, word);
    const account = part[entry + 4]!;
    if (account === 0) return false;
    this.foundAccount = account;
    this.foundSlot = part[entry + 5]! - 1;
    return true;
  }

  /** Adds a hash that is not there yet; slot -1 adds it closed. */
  insert(words: Uint32Array, word: number, account: number, slot: number): void {
    assert(account > 0, 'H1: no order belongs to account 0');
    const index = words[word]! & (PARTS - 1);
    let part = this.#parts[index]!;
    const used = this.#used[index]! + 1;
    if (used * ENTRY_WORDS * 4 > part.length * 3) {
      part = grown(part);
      this.#parts[index] = part;
    }
    const entry = probe(part, words, word);
    assert(part[entry + 4] === 0, 'H1: a hash is inserted once');
    for (let i = 0; i < 4; i++) part[entry + i] = words[word + i]!;
    part[entry + 4] = account;
    part[entry + 5] = slot + 1;
    this.#used[index] = used;
    this.size++;
  }

  persist(io: SnapshotIo): void {
    this.size = io.number(this.size);
    this.#used = io.u32(this.#used);
    for (let index = 0; index < PARTS; index++) this.#parts[index] = io.u32(this.#parts[index]!);
  }

  /** Every entry ever made, in no particular order: the first 128 bits of the hash at `word`, and the account. */
  visit(visitor: (words: Uint32Array, word: number, account: number) => void): void {
    for (const part of this.#parts) {
      for (let entry = 0; entry < part.length; entry += ENTRY_WORDS) {
        const account = part[entry + 4]!;
        if (account !== 0) visitor(part, entry, account);
      }
    }
  }

  /** The order with this hash has reached its terminal state. */
  close(words: Uint32Array, word: number): void {
    const part = this.#parts[words[word]! & (PARTS - 1)]!;
    const entry = probe(part, words, word);
    assert(part[entry + 4] !== 0 && part[entry + 5] !== 0, 'O2: an open order is in the hash index');
    part[entry + 5] = 0;
  }
}

/** The entry that holds the hash, or the free one where it would go. */
function probe(part: Uint32Array, words: Uint32Array, word: number): number {
  // Divided as an integer: a length may be any number, and a division of those takes as long as the rest of a probe.
  const mask = (((part.length | 0) / ENTRY_WORDS) | 0) - 1;
  const w0 = words[word]!;
  const w1 = words[word + 1]!;
  const w2 = words[word + 2]!;
  const w3 = words[word + 3]!;
  let index = (w1 ^ (w0 >>> 8)) & mask;
  for (;;) {
    const entry = index * ENTRY_WORDS;
    if (part[entry + 4] === 0) return entry;
    if (part[entry] === w0 && part[entry + 1] === w1 && part[entry + 2] === w2 && part[entry + 3] === w3) return entry;
    index = (index + 1) & mask;
  }
}

function grown(part: Uint32Array): Uint32Array {
  const larger = new Uint32Array(part.length * 2);
  for (let from = 0; from < part.length; from += ENTRY_WORDS) {
    if (part[from + 4] === 0) continue;
    const to = probe(larger, part, from);
    for (let i = 0; i < ENTRY_WORDS; i++) larger[to + i] = part[from + i]!;
  }
  return larger;
}
