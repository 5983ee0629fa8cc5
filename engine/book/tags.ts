/**
 * Facts that only some open orders have: a client order id, an order group, a time priority older than their own. An
 * order that has any of them has one row here; one that has none costs four bytes.
 * Owner: the shard thread. Memory grows by doubling, never per order.
 *
 * Invariants (walked by core/invariants.ts):
 *   TAGS-1  A row is free, or exactly one open order has it; count is the number of rows that orders have.
 *   TAGS-2  The order of a row has a client order id, a group or a priority older than its own sequence.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLIENT_ID_MAX_BYTES } from '../../shared/wire/commands.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

/** Stands for an order without a tag, and for the end of the free list. */
export const NO_TAG = -1;

export const CLIENT_ID_WORDS = CLIENT_ID_MAX_BYTES / 4;
const FIRST_ROWS = 64;

assert(CLIENT_ID_MAX_BYTES % 4 === 0, 'tags: a client order id is whole words');
assert(CLIENT_ID_MAX_BYTES <= 0xff, 'tags: the length of a client order id fits a byte');

export class Tags {
  capacity = FIRST_ROWS;
  count = 0;
  /** Length of the client order id in bytes, 0 for none; the bytes after it are zero. */
  clientIdBytes: Uint8Array = new Uint8Array(FIRST_ROWS);
  clientId: Uint32Array = new Uint32Array(FIRST_ROWS * CLIENT_ID_WORDS);
  /** Index of the order group, or NO_GROUP. */
  group: Uint32Array = new Uint32Array(FIRST_ROWS);
  /** The order sequence that gives the queue position: the order's own, unless an amend kept an older one. */
  priority: Float64Array = new Float64Array(FIRST_ROWS);
  #nextFree: Int32Array = new Int32Array(FIRST_ROWS);
  #freeHead = NO_TAG;

  constructor() {
    this.#linkFree(0);
  }

  /** A free row; the caller fills its columns. */
  allocate(): number {
    if (this.#freeHead === NO_TAG) this.#grow();
    const row = this.#freeHead;
    assert(row >= 0 && row < this.capacity, 'TAGS-1: a row that is given out is in the table');
    this.#freeHead = this.#nextFree[row];
    this.count++;
    return row;
  }

  free(row: number): void {
    assert(this.count > 0, 'TAGS-1: a row that is freed was given out');
    assert(row >= 0 && row < this.capacity, 'TAGS-1: a row that is freed is in the table');
    this.#nextFree[row] = this.#freeHead;
    this.#freeHead = row;
    this.count--;
  }

  /** @param word where the words of a client order id start in `words`. */
  setClientId(row: number, words: Uint32Array, word: number, bytes: number): void {
    assert(bytes <= CLIENT_ID_MAX_BYTES, 'tags: a client order id fits its words');
    this.clientIdBytes[row] = bytes;
    const at = row * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) this.clientId[at + i] = words[word + i];
  }

  /** Asserts the part of TAGS-1 that the table can see: every row that no order has is in the free list, once. */
  validate(): void {
    let free = 0;
    for (let row = this.#freeHead; row !== NO_TAG; row = this.#nextFree[row]) {
      free++;
      assert(free <= this.capacity, 'TAGS-1: the free list ends');
    }
    assert(free + this.count === this.capacity, 'TAGS-1: a row is free or an order has it');
  }

  persist(io: SnapshotIo): void {
    this.capacity = io.number(this.capacity);
    this.count = io.number(this.count);
    this.#freeHead = io.number(this.#freeHead);
    this.clientIdBytes = io.u8(this.clientIdBytes);
    this.clientId = io.u32(this.clientId);
    this.group = io.u32(this.group);
    this.priority = io.f64(this.priority);
    this.#nextFree = io.i32(this.#nextFree);
  }

  #linkFree(from: number): void {
    for (let row = from; row < this.capacity; row++) this.#nextFree[row] = row + 1 < this.capacity ? row + 1 : NO_TAG;
    this.#freeHead = from;
  }

  #grow(): void {
    const from = this.capacity;
    const n = from * 2;
    this.clientIdBytes = extend(this.clientIdBytes, new Uint8Array(n));
    this.clientId = extend(this.clientId, new Uint32Array(n * CLIENT_ID_WORDS));
    this.group = extend(this.group, new Uint32Array(n));
    this.priority = extend(this.priority, new Float64Array(n));
    this.#nextFree = extend(this.#nextFree, new Int32Array(n));
    this.capacity = n;
    this.#linkFree(from);
  }
}
