/**
 * What only some open orders carry: a client order id, an order group, a time priority older than their own. One row
 * per order that has any of it, so that an order without costs four bytes and no more.
 * Owner: the shard thread. Memory grows by doubling, never per order.
 *
 * Invariant T1 (walked by check.ts): a row is free, or exactly one open order has it; that order has a client order id,
 * a group or an older priority.
 */
import { assert } from '../shared/assert.ts';
import { CLIENT_ID_MAX_BYTES } from '../shared/commands.ts';
import { extend } from './columns.ts';
import type { SnapshotIo } from './snapshotIo.ts';

/** Marks an order without a tag, and the end of the free list. */
export const NO_TAG = -1;

export const CLIENT_ID_WORDS = CLIENT_ID_MAX_BYTES / 4;
const FIRST_ROWS = 64;

export class Tags {
  capacity = FIRST_ROWS;
  count = 0;
  /** How many bytes of the client order id count; 0 for none. The others are zero. */
  clientIdBytes: Uint8Array = new Uint8Array(FIRST_ROWS);
  clientId: Uint32Array = new Uint32Array(FIRST_ROWS * CLIENT_ID_WORDS);
  /** Index of the order group, or NO_GROUP. */
  group: Uint32Array = new Uint32Array(FIRST_ROWS);
  /** The order sequence whose place in the queue the order has: its own, unless an amend kept an older one. */
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
    this.#freeHead = this.#nextFree[row]!;
    this.count++;
    return row;
  }

  free(row: number): void {
    assert(this.count > 0, 'T1: a row that is freed was given away');
    this.#nextFree[row] = this.#freeHead;
    this.#freeHead = row;
    this.count--;
  }

  /** @param word where the words of a client order id start in `words`. */
  setClientId(row: number, words: Uint32Array, word: number, bytes: number): void {
    this.clientIdBytes[row] = bytes;
    const at = row * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) this.clientId[at + i] = words[word + i]!;
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
