/**
 * Projection of the order hashes (shared/tables/orderHashes.ts). New entries are appended to the tail, and move into
 * the index in its order, at least MERGED_ENTRIES at a time, so that many share a page.
 * Owner: the projector thread.
 *
 * Invariants:
 *   ORDERHASHES-1  After `flush` every order has one entry, in the index or in the tail.
 *   ORDERHASHES-2  The tail has fewer than MERGED_ENTRIES, so a query that walks it is short.
 *   ORDERHASHES-3  Generations have the numbers from 0 on. A merge goes into the newest, or starts another if that one
 *                  has GENERATION_ENTRIES.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { ENTRY_BYTES, ORDER_HASH_TAIL, ORDER_HASHES, PREFIX_BYTES } from '../../shared/tables/orderHashes.ts';
import { insert, type NewRowOf } from '../../shared/tables/table.ts';

export const MERGED_ENTRIES = 16_384;
/**
 * Entries that a run of the large statement inserts. They are one value, which SQLite takes apart: a value for each
 * would cost three times as much.
 */
const ENTRIES_PER_RUN = 64;
/** About 16 MB, whose pages get a few entries each with every merge. */
const GENERATION_ENTRIES = 2 ** 19;
/** More than the number of entries that are ever sorted at once. */
const MOST_SORTED = 2 ** 20;

assert(MOST_SORTED > 2 * MERGED_ENTRIES, 'order hashes: a tail and a batch can be sorted');
assert(2 ** 32 * MOST_SORTED <= Number.MAX_SAFE_INTEGER, 'order hashes: sort keys are safe integers');

type Entries = { readonly generation: number; readonly entries: Uint8Array };

export class OrderHashes {
  readonly #insertOne: Database.Statement<[Entries]>;
  readonly #insertMany: Database.Statement<[Entries]>;
  readonly #append: Database.Statement<[NewRowOf<typeof ORDER_HASH_TAIL>]>;
  readonly #clear: Database.Statement<[]>;
  readonly #generationEntries: number;
  #generation: number;
  #inGeneration: number;
  #entries = new Uint8Array(2 * MERGED_ENTRIES * ENTRY_BYTES);
  /** Entries of the tail in read.db, followed by those of the batch. */
  #count = 0;
  /** The number of them that are in read.db. */
  #appended = 0;

  constructor(db: Database.Database, generationEntries = GENERATION_ENTRIES) {
    this.#generationEntries = generationEntries;
    this.#insertOne = db.prepare(insertEntries(1));
    this.#insertMany = db.prepare(insertEntries(ENTRIES_PER_RUN));
    this.#append = db.prepare(insert(ORDER_HASH_TAIL));
    this.#clear = db.prepare('DELETE FROM order_hash_tail');
    this.#generation = db.prepare<[], number | null>('SELECT max(generation) FROM order_hashes').pluck().get() ?? 0;
    this.#inGeneration = db
      .prepare<[number], number>('SELECT count(*) FROM order_hashes WHERE generation = ?')
      .pluck()
      .get(this.#generation)!;
    const tail = db.prepare<[], Uint8Array>('SELECT entries FROM order_hash_tail ORDER BY batch').pluck();
    for (const entries of tail.iterate()) {
      assert(entries.length % ENTRY_BYTES === 0, 'ORDERHASHES-1: the tail holds whole entries');
      this.#entries.set(entries, this.#count * ENTRY_BYTES);
      this.#count += entries.length / ENTRY_BYTES;
    }
    this.#appended = this.#count;
    assert(this.#count < MERGED_ENTRIES, 'ORDERHASHES-2: the tail is short');
  }

  add(hash: Uint8Array, id: Uint8Array): void {
    assert(hash.length >= PREFIX_BYTES && PREFIX_BYTES + id.length === ENTRY_BYTES, 'ORDERHASHES-1: an entry is whole');
    const at = this.#count++ * ENTRY_BYTES;
    if (at === this.#entries.length) {
      const larger = new Uint8Array(2 * at);
      larger.set(this.#entries);
      this.#entries = larger;
    }
    for (let i = 0; i < PREFIX_BYTES; i++) this.#entries[at + i] = hash[i];
    this.#entries.set(id, at + PREFIX_BYTES);
  }

  /** True if `flush` moves what waits into the index. */
  get isFull(): boolean {
    return this.#count >= MERGED_ENTRIES;
  }

  flush(): void {
    if (this.isFull) this.#merge();
    else if (this.#count > this.#appended) this.#append.run({ entries: this.#entriesOf(this.#appended, this.#count) });
    this.#appended = this.#count;
    assert(this.#count < MERGED_ENTRIES, 'ORDERHASHES-2: the tail is short');
  }

  /**
   * Empties the tail into the index (ORDERHASHES-2). Sorting by the first four bytes is enough: neighbours have to meet
   * in a page, not to be in exact order.
   */
  #merge(): void {
    assert(this.#count <= MOST_SORTED, 'order hashes: sort keys are safe integers');
    if (this.#inGeneration >= this.#generationEntries) {
      this.#generation++;
      this.#inGeneration = 0;
    }
    this.#inGeneration += this.#count;
    const keys = new Float64Array(this.#count);
    const view = new DataView(this.#entries.buffer);
    for (let i = 0; i < keys.length; i++) keys[i] = view.getUint32(i * ENTRY_BYTES) * MOST_SORTED + i;
    keys.sort();
    const sorted = new Uint8Array(keys.length * ENTRY_BYTES);
    for (let to = 0; to < keys.length; to++) {
      const from = (keys[to] % MOST_SORTED) * ENTRY_BYTES;
      for (let i = 0; i < ENTRY_BYTES; i++) sorted[to * ENTRY_BYTES + i] = this.#entries[from + i];
    }
    this.#insertAll(sorted);
    this.#clear.run();
    this.#count = 0;
  }

  #insertAll(sorted: Uint8Array): void {
    const generation = this.#generation;
    const runBytes = ENTRIES_PER_RUN * ENTRY_BYTES;
    let at = 0;
    for (; at + runBytes <= sorted.length; at += runBytes) {
      this.#insertMany.run({ generation, entries: sorted.subarray(at, at + runBytes) });
    }
    for (; at < sorted.length; at += ENTRY_BYTES) {
      this.#insertOne.run({ generation, entries: sorted.subarray(at, at + ENTRY_BYTES) });
    }
  }

  #entriesOf(from: number, to: number): Uint8Array {
    return this.#entries.subarray(from * ENTRY_BYTES, to * ENTRY_BYTES);
  }
}

/** Inserts so many adjacent entries. */
function insertEntries(count: number): string {
  const rows = Array.from({ length: count }, (_, i) => {
    return `(@generation, substr(@entries, ${1 + i * ENTRY_BYTES}, ${ENTRY_BYTES}))`;
  });
  return `INSERT OR FAIL INTO ${ORDER_HASHES.name} (generation, entry) VALUES ${rows.join(', ')}`;
}
