/**
 * Projection of what finds an order by its hash (shared/orderHashes.ts).
 * Owner: the projector thread.
 *
 * Hashes are random, so each entry alone would change a page of the index of its own. The newest entries are appended
 * to the tail instead, and go into the index MERGED_ENTRIES at a time and in its order, when many share a page.
 *
 * Invariants:
 *   X1  After `flush` every order has one entry, in the index or in the tail.
 *   X2  The tail has fewer than MERGED_ENTRIES, so a query that walks it is short.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';
import { ENTRY_BYTES, PREFIX_BYTES } from '../../shared/orderHashes.ts';
import { RowInserter } from './rowInserter.ts';

export const MERGED_ENTRIES = 16_384;
/** Above the number of entries that are ever sorted at once. */
const SORTED = 2 ** 20;

export class OrderHashes {
  readonly #insert: RowInserter;
  readonly #append: Database.Statement<[Uint8Array]>;
  readonly #clear: Database.Statement<[]>;
  #entries = new Uint8Array(2 * MERGED_ENTRIES * ENTRY_BYTES);
  /** Those that are in read.db's tail, and then those of the batch, until a flush. */
  #count = 0;
  #appended = 0;

  constructor(db: Database.Database) {
    this.#insert = new RowInserter(db, 'order_hashes', ['entry']);
    this.#append = db.prepare('INSERT INTO order_hash_tail (entries) VALUES (?)');
    this.#clear = db.prepare('DELETE FROM order_hash_tail');
    const tail = db.prepare<[], Uint8Array>('SELECT entries FROM order_hash_tail ORDER BY batch').pluck();
    for (const entries of tail.iterate()) {
      this.#entries.set(entries, this.#count * ENTRY_BYTES);
      this.#count += entries.length / ENTRY_BYTES;
    }
    this.#appended = this.#count;
  }

  add(hash: Uint8Array, id: Uint8Array): void {
    const at = this.#count++ * ENTRY_BYTES;
    if (at === this.#entries.length) {
      const larger = new Uint8Array(2 * at);
      larger.set(this.#entries);
      this.#entries = larger;
    }
    for (let i = 0; i < PREFIX_BYTES; i++) this.#entries[at + i] = hash[i]!;
    this.#entries.set(id, at + PREFIX_BYTES);
  }

  flush(): void {
    if (this.#count >= MERGED_ENTRIES) this.#merge();
    else if (this.#count > this.#appended) this.#append.run(this.#part(this.#appended, this.#count));
    this.#appended = this.#count;
  }

  /** X2. Sorted by four bytes, which is as good as by all: it is about neighbours meeting in a page. */
  #merge(): void {
    assert(this.#count <= SORTED, 'projector: entries are sorted as safe integers');
    const keys = new Float64Array(this.#count);
    const view = new DataView(this.#entries.buffer);
    for (let entry = 0; entry < keys.length; entry++)
      keys[entry] = view.getUint32(entry * ENTRY_BYTES) * SORTED + entry;
    for (const key of keys.sort()) {
      const entry = key % SORTED;
      this.#insert.add(this.#part(entry, entry + 1));
    }
    this.#insert.flush();
    this.#clear.run();
    this.#count = 0;
  }

  #part(from: number, to: number): Uint8Array {
    return this.#entries.subarray(from * ENTRY_BYTES, to * ENTRY_BYTES);
  }
}
