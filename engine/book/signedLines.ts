/**
 * Signed fields of open orders that matching does not need: a cache line for each slot of the pool (orders.ts).
 * The hash identifies the order; nonce and maker are read only when the floor of its maker's nonces is raised.
 * Owner: the shard thread.
 *
 *   word  0 hash   8 nonce   10 maker   15 unused
 */
import { assert } from '../../shared/base/assert.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { extend } from '../base/columns.ts';
import type { Packing } from '../base/packing.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { ADDRESS_WORDS } from './nonceFloors.ts';

const HASH_WORDS = 8;
const LINE_SHIFT = 4;
export const LINE_WORDS = 1 << LINE_SHIFT;
const NONCE_AT = HASH_WORDS;
const MAKER_AT = NONCE_AT + 2;
/** The first version of snapshots that has nonces and makers. */
const VERSION_WITH_NONCES = 12;

assert(MAKER_AT + ADDRESS_WORDS <= LINE_WORDS, 'signed lines: nonce and maker lie within their line');
assert(HASH_WORDS * 2 === LINE_WORDS, 'signed lines: a line has two halves');

export class SignedLines {
  words: Uint32Array;

  constructor(slots: number) {
    this.words = new Uint32Array(slots * LINE_WORDS);
  }

  grow(slots: number): void {
    this.words = extend(this.words, new Uint32Array(slots * LINE_WORDS));
  }

  /** The offset in `words` at which an order's hash starts. */
  hashOffset(slot: number): number {
    return slot << LINE_SHIFT;
  }

  /** The offset in `words` at which its maker's address starts; the address is zero if unknown. */
  makerOffset(slot: number): number {
    return (slot << LINE_SHIFT) | MAKER_AT;
  }

  setHash(slot: number, words: Uint32Array, word: number): void {
    const at = slot << LINE_SHIFT;
    for (let i = 0; i < HASH_WORDS; i++) this.words[at | i] = words[word + i];
  }

  copyHash(slot: number, words: Uint32Array, word: number): void {
    const at = slot << LINE_SHIFT;
    for (let i = 0; i < HASH_WORDS; i++) words[word + i] = this.words[at | i];
  }

  /** Keeps the nonce and the maker that an order is signed with. */
  setNonce(slot: number, words: Uint32Array, nonce: number, maker: number): void {
    const at = slot << LINE_SHIFT;
    this.words[at | NONCE_AT] = words[nonce];
    this.words[at | (NONCE_AT + 1)] = words[nonce + 1];
    for (let i = 0; i < ADDRESS_WORDS; i++) this.words[at + MAKER_AT + i] = words[maker + i];
  }

  /**
   * The order was placed by a version that stored no nonces: it counts as signed with nonce 0 by any of the wallets.
   */
  setNoNonce(slot: number): void {
    const at = slot << LINE_SHIFT;
    this.words.fill(0, at | NONCE_AT, at + LINE_WORDS);
  }

  nonceOf(slot: number): number {
    return readSafe(this.words, (slot << LINE_SHIFT) | NONCE_AT);
  }

  /** Returns true if the wallet at `word` pays for the order, or may pay: the maker of some orders is unknown. */
  isOfMaker(slot: number, words: Uint32Array, word: number): boolean {
    const at = this.makerOffset(slot);
    let isKnown = false;
    let isSame = true;
    for (let i = 0; i < ADDRESS_WORDS; i++) {
      if (this.words[at + i] !== 0) isKnown = true;
      if (this.words[at + i] !== words[word + i]) isSame = false;
    }
    return isSame || !isKnown;
  }

  /** Writes or reads the line of an open order. @param maker where the same maker is known to be, or below 0 */
  pass(packing: Packing, slot: number, maker: number): void {
    const at = slot << LINE_SHIFT;
    packing.words(this.words, at, HASH_WORDS);
    this.words[at | NONCE_AT] = packing.value(this.words[at | NONCE_AT]);
    this.words[at | (NONCE_AT + 1)] = packing.value(this.words[at | (NONCE_AT + 1)]);
    if (maker < 0) packing.words(this.words, at | MAKER_AT, ADDRESS_WORDS);
    else this.words.copyWithin(at | MAKER_AT, maker, maker + ADDRESS_WORDS);
  }

  haveSameMaker(a: number, b: number): boolean {
    for (let i = 0; i < ADDRESS_WORDS; i++) if (this.words[a + i] !== this.words[b + i]) return false;
    return true;
  }

  /** Two columns; files of older versions have only the hashes. */
  persist(io: SnapshotIo): void {
    const hashes = io.u32(this.#half(0));
    const nonces = io.version >= VERSION_WITH_NONCES ? io.u32(this.#half(NONCE_AT)) : new Uint32Array(hashes.length);
    this.words = new Uint32Array(hashes.length * 2);
    for (let from = 0; from < hashes.length; from += HASH_WORDS) {
      this.words.set(hashes.subarray(from, from + HASH_WORDS), from * 2);
      this.words.set(nonces.subarray(from, from + HASH_WORDS), from * 2 + NONCE_AT);
    }
  }

  #half(start: number): Uint32Array {
    const half = new Uint32Array(this.words.length / 2);
    for (let at = start, to = 0; at < this.words.length; at += LINE_WORDS, to += HASH_WORDS)
      half.set(this.words.subarray(at, at + HASH_WORDS), to);
    return half;
  }
}
