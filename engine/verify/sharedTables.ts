/**
 * Tables of signers that come often, in memory that verifier threads and shards share: whoever has made one leaves it
 * there, and nobody makes it again. One object per thread; what it hands out is its own copy.
 *
 * Invariants:
 *   T1  A writer makes an entry's state odd before it writes and even, two higher, after: nobody writes what another
 *       is writing. The newest tables replace the oldest, also under a reader.
 *   T2  A table counts when its entry had one even state before and after it was copied, and the copy has the checksum
 *       that was stored with it. The checksum alone would do; on some processors the states alone would not, as they
 *       may load the copy late.
 *   T3  Nobody waits. A thread that ends while it writes takes the entry with it, until the exchange starts anew; not
 *       so the generator's, which is the same whoever writes it and is written without asking.
 */
import { assert } from '../../shared/assert.ts';
import { crc32c } from '../../shared/crc32c.ts';
import { ADDRESS_BYTES } from '../../shared/hex.ts';
import * as layout from '../../shared/tableLayout.ts';
import type { PackedTable } from './pointTable.ts';

const { BASE_ENTRY, BASE_TABLE_WORDS, CHECKSUM, ENTRY_WORDS, HEADER_WORDS, NEXT } = layout;
const { SIGNER, SIGNER_TABLES, SIGNER_TABLE_WORDS, SIGNER_WORDS, STATE, tableWord } = layout;

const BEING_WRITTEN = 1;
const NEVER_WRITTEN = 0;
const NEXT_STATE = 2;

export class SharedTables {
  readonly #words: Int32Array;
  readonly #base = new BigUint64Array(BASE_TABLE_WORDS / 2);
  readonly #signers = new BigUint64Array(SIGNER_TABLE_WORDS / 2);
  readonly #address = new Uint8Array(ADDRESS_BYTES);
  readonly #addressWords = new Int32Array(this.#address.buffer);

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** The generator's table, until the next call; undefined when there is none yet. */
  takeBase(): PackedTable | undefined {
    return this.#copy(BASE_ENTRY, this.#base) ? this.#base : undefined;
  }

  /** The signer's table, until the next call; undefined when there is none, or none that is whole. */
  take(address: Uint8Array, addressOffset: number): PackedTable | undefined {
    this.#setAddress(address, addressOffset);
    for (let entry = this.#find(1); entry > 0; entry = this.#find(entry + 1)) {
      // The entry may have become another signer's in between.
      if (this.#copy(entry, this.#signers) && this.#isOf(entry)) return this.#signers;
    }
    return undefined;
  }

  publishBase(table: PackedTable): void {
    assert(table.length === this.#base.length, 'tables: one of the generator');
    this.#write(BASE_ENTRY, table);
    Atomics.store(this.#words, entryWord(BASE_ENTRY) + STATE, NEXT_STATE);
  }

  /** Replaces what is there of the same signer, otherwise the oldest. Given up when all entries are being written. */
  publish(address: Uint8Array, addressOffset: number, table: PackedTable): void {
    assert(table.length === this.#signers.length, 'tables: one of a signer');
    this.#setAddress(address, addressOffset);
    const known = this.#find(1);
    if (known > 0 && this.#replace(known, table)) return;
    for (let tried = 0; tried < SIGNER_TABLES; tried++) {
      const next = Atomics.add(this.#words, NEXT, 1) >>> 0;
      if (this.#replace(1 + (next % SIGNER_TABLES), table)) return;
    }
  }

  /** @returns false when somebody else is writing there. */
  #replace(entry: number, table: PackedTable): boolean {
    const words = this.#words;
    const at = entryWord(entry) + STATE;
    const state = Atomics.load(words, at);
    if ((state & BEING_WRITTEN) !== 0) return false;
    if (Atomics.compareExchange(words, at, state, state + BEING_WRITTEN) !== state) return false;
    words.set(this.#addressWords, entryWord(entry) + SIGNER);
    this.#write(entry, table);
    Atomics.store(words, at, state + NEXT_STATE);
    return true;
  }

  #write(entry: number, table: PackedTable): void {
    this.#words[entryWord(entry) + CHECKSUM] = checksumOf(table);
    this.#words.set(new Int32Array(table.buffer), tableWord(entry));
  }

  /** @returns whether the copy is a table as it was published (T2). */
  #copy(entry: number, into: PackedTable): boolean {
    const words = this.#words;
    const at = entryWord(entry);
    const state = Atomics.load(words, at + STATE);
    if (state === NEVER_WRITTEN || (state & BEING_WRITTEN) !== 0) return false;
    const from = tableWord(entry);
    new Int32Array(into.buffer).set(words.subarray(from, from + 2 * into.length));
    const checksum = words[at + CHECKSUM];
    return Atomics.load(words, at + STATE) === state && checksumOf(into) === checksum;
  }

  /** The first entry from `from` on that names the signer, whatever its state; 0 when there is none. */
  #find(from: number): number {
    const words = this.#words;
    const [first] = this.#addressWords;
    for (let entry = from; entry <= SIGNER_TABLES; entry++) {
      if (words[entryWord(entry) + SIGNER] === first && this.#isOf(entry)) return entry;
    }
    return 0;
  }

  #isOf(entry: number): boolean {
    const at = entryWord(entry) + SIGNER;
    for (let i = 0; i < SIGNER_WORDS; i++) if (this.#words[at + i] !== this.#addressWords[i]) return false;
    return true;
  }

  #setAddress(address: Uint8Array, offset: number): void {
    for (let i = 0; i < ADDRESS_BYTES; i++) this.#address[i] = address[offset + i]!;
  }
}

function entryWord(entry: number): number {
  return HEADER_WORDS + entry * ENTRY_WORDS;
}

/** As the signed word that it is stored as. */
function checksumOf(table: PackedTable): number {
  const memory = { words: new Uint32Array(table.buffer), bytes: new Uint8Array(table.buffer) };
  return crc32c(memory, 0, table.byteLength) | 0;
}
