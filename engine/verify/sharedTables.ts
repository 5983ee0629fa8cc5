/**
 * The tables of frequent signers, in memory that verifier threads and shards share, so that each table is made once.
 * Each thread has one object of this class, and gets a copy of the table that it reads.
 *
 * Invariants:
 *   TABLES-1  A writer makes an entry's state odd before it writes and even, two higher, after it: no two threads write
 *             one entry at a time. The newest tables replace the oldest, also while one is read.
 *   TABLES-2  A table counts when its entry had one even state before and after it was copied, and the copy has the
 *             checksum that was stored with it. The checksum alone would do; on some processors the states alone would
 *             not, as they may load the copy late.
 *   TABLES-3  No thread waits. A thread that ends while it writes blocks its entry until the exchange is started again.
 *             The generator's entry is the exception: its table is the same whichever thread writes it, so every writer
 *             writes it without claiming it.
 */
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { ADDRESS_BYTES } from '../../shared/base/hex.ts';
import * as layout from '../../shared/wire/tableLayout.ts';
import type { PackedTable } from './pointTable.ts';

const { BASE_ENTRY, BASE_TABLE_WORDS, SIGNER_TABLES, SIGNER_TABLE_WORDS, SIGNER_WORDS } = layout;
const { TABLE_ENTRY, TABLES, tableWord } = layout;

assert(SIGNER_WORDS * 4 === ADDRESS_BYTES, 'tables: an address is compared in whole words');

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

  /** The generator's table, valid until the next call; undefined when there is none yet. */
  readBase(): PackedTable | undefined {
    return this.#copy(BASE_ENTRY, this.#base) ? this.#base : undefined;
  }

  /** The signer's table, valid until the next call; undefined when there is none, or none that is whole. */
  read(address: Uint8Array, addressOffset: number): PackedTable | undefined {
    this.#setAddress(address, addressOffset);
    for (let entry = this.#find(1); entry > 0; entry = this.#find(entry + 1)) {
      // Another thread may have given the entry to another signer meanwhile.
      if (this.#copy(entry, this.#signers) && this.#isOf(entry)) return this.#signers;
    }
    return undefined;
  }

  publishBase(table: PackedTable): void {
    assert(table.length === this.#base.length, 'tables: it has the size of the generator table');
    this.#write(BASE_ENTRY, table);
    Atomics.store(this.#words, entryWord(BASE_ENTRY) + TABLE_ENTRY.state, NEXT_STATE);
  }

  /** Replaces the signer's table, or else the oldest. Does nothing when all entries are being written. */
  publish(address: Uint8Array, addressOffset: number, table: PackedTable): void {
    assert(table.length === this.#signers.length, 'tables: it has the size of a signer table');
    this.#setAddress(address, addressOffset);
    const known = this.#find(1);
    if (known > 0 && this.#replace(known, table)) return;
    for (let tried = 0; tried < SIGNER_TABLES; tried++) {
      const next = Atomics.add(this.#words, TABLES.next, 1) >>> 0;
      if (this.#replace(1 + (next % SIGNER_TABLES), table)) return;
    }
  }

  /** @returns false when another thread is writing the entry. */
  #replace(entry: number, table: PackedTable): boolean {
    const words = this.#words;
    const at = entryWord(entry) + TABLE_ENTRY.state;
    const state = Atomics.load(words, at);
    if ((state & BEING_WRITTEN) !== 0) return false;
    if (Atomics.compareExchange(words, at, state, state + BEING_WRITTEN) !== state) return false;
    words.set(this.#addressWords, entryWord(entry) + TABLE_ENTRY.signer);
    this.#write(entry, table);
    const before = Atomics.exchange(words, at, state + NEXT_STATE);
    assert(before === state + BEING_WRITTEN, 'TABLES-1: no other thread wrote this entry');
    return true;
  }

  #write(entry: number, table: PackedTable): void {
    this.#words[entryWord(entry) + TABLE_ENTRY.checksum] = checksumOf(table);
    this.#words.set(new Int32Array(table.buffer), tableWord(entry));
  }

  /** @returns whether the copy is a table as it was published (TABLES-2). */
  #copy(entry: number, into: PackedTable): boolean {
    const words = this.#words;
    const at = entryWord(entry);
    const state = Atomics.load(words, at + TABLE_ENTRY.state);
    if (state === NEVER_WRITTEN || (state & BEING_WRITTEN) !== 0) return false;
    const from = tableWord(entry);
    new Int32Array(into.buffer).set(words.subarray(from, from + 2 * into.length));
    const checksum = words[at + TABLE_ENTRY.checksum];
    return Atomics.load(words, at + TABLE_ENTRY.state) === state && checksumOf(into) === checksum;
  }

  /** The first entry from `from` on with the address of the signer, in any state; 0 when there is none. */
  #find(from: number): number {
    const words = this.#words;
    const [first] = this.#addressWords;
    for (let entry = from; entry <= SIGNER_TABLES; entry++) {
      if (words[entryWord(entry) + TABLE_ENTRY.signer] === first && this.#isOf(entry)) return entry;
    }
    return 0;
  }

  #isOf(entry: number): boolean {
    const at = entryWord(entry) + TABLE_ENTRY.signer;
    for (let i = 0; i < SIGNER_WORDS; i++) if (this.#words[at + i] !== this.#addressWords[i]) return false;
    return true;
  }

  #setAddress(address: Uint8Array, offset: number): void {
    for (let i = 0; i < ADDRESS_BYTES; i++) this.#address[i] = address[offset + i];
  }
}

function entryWord(entry: number): number {
  assert(entry >= BASE_ENTRY && entry <= SIGNER_TABLES, 'tables: an entry is the generator or a signer');
  return TABLES.WORDS + entry * TABLE_ENTRY.WORDS;
}

/** The checksum as a signed word, as the memory holds it. */
function checksumOf(table: PackedTable): number {
  const memory = { words: new Uint32Array(table.buffer), bytes: new Uint8Array(table.buffer) };
  return crc32c(memory, 0, table.byteLength) | 0;
}
