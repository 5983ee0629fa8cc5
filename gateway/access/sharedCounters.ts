/**
 * The counts of one limit in memory that several threads share, so that the limit is the same whichever thread gets a
 * request. The memory holds the times of all requests that the limit admits, so the limit has to be small.
 * Owner: every gateway thread; each bucket has a lock.
 *
 *   buffer   the lock of each bucket | slots, WAYS to a bucket
 *   slot     hash (two words) | index of the oldest time | number of times | the times of admitted requests, a ring
 *
 * Invariants:
 *   SHAREDCOUNTERS-1  In any window all threads together admit at most `limit` requests of a subject: they keep the
 *                     times in ascending order, not a count.
 *   SHAREDCOUNTERS-2  A bucket is read and written only under its lock, which is held for about a microsecond: no code
 *                     waits for anything while it holds one. A thread ends only between two turns of its event loop,
 *                     with no lock.
 *   SHAREDCOUNTERS-3  A full bucket causes no refusal: its least recently counted subject is dropped. The hash has a
 *                     secret key, so no client can choose which subject that is.
 *   SHAREDCOUNTERS-4  A time that is a window or more in the future is forgotten, as in COUNTERS-4.
 */
import { assert } from '../../shared/base/assert.ts';
import { TextHash } from '../../shared/base/textHash.ts';
import type { Limit } from '../base/classes.ts';
import type { Count, CounterStore, Quota } from './counterStore.ts';

/** Every thread gets both: the memory, and the key for hashing subjects. */
export type SharedCounts = { readonly memory: SharedArrayBuffer; readonly key: Int32Array };

const MOST_REQUESTS = 30;
/** 131,072 subjects in 32 MiB; the system provides only the used part. */
const BUCKETS = 1 << 14;
const WAYS = 8;
const TIMES_AT = 2;
const SLOT_CELLS = TIMES_AT + MOST_REQUESTS;
const BYTES_PER_CELL = 8;
const LOCKS_BYTES = BUCKETS * 4;

const FREE = 0;
const TAKEN = 1;
const NONE = -1;
const LOOKS_BEFORE_SLEEP = 200;
/** The thread that holds a lock may have lost its processor. */
const SLEEP_MS = 1;

export function makeSharedCounts(): SharedCounts {
  const memory = new SharedArrayBuffer(LOCKS_BYTES + BUCKETS * WAYS * SLOT_CELLS * BYTES_PER_CELL);
  return { memory, key: crypto.getRandomValues(new Int32Array(2)) };
}

export class SharedCounterStore implements CounterStore {
  readonly #limit: Limit;
  readonly #windowMs: number;
  readonly #hash: TextHash;
  readonly #locks: Int32Array;
  readonly #words: Uint32Array;
  readonly #times: Float64Array;

  constructor({ memory, key }: SharedCounts, limit: Limit) {
    assert(limit.requests <= MOST_REQUESTS, 'SHAREDCOUNTERS-1: a slot has room for every admitted request');
    this.#limit = limit;
    this.#windowMs = limit.windowSec * 1000;
    this.#hash = new TextHash(key);
    this.#locks = new Int32Array(memory, 0, BUCKETS);
    this.#words = new Uint32Array(memory, LOCKS_BYTES);
    this.#times = new Float64Array(memory, LOCKS_BYTES);
  }

  count(subject: string, limit: Limit, nowMs: number): Count {
    return this.#locked(subject, limit, (bucket) => {
      const found = this.#find(bucket);
      const slot = found === NONE ? this.#takeSlot(bucket) : found;
      this.#forget(slot, nowMs);
      const count = this.#countOf(slot);
      const allowed = count < limit.requests;
      if (allowed) this.#append(slot, nowMs);
      return this.#result(slot, allowed, nowMs);
    });
  }

  peek(quotas: readonly Quota[], nowMs: number): readonly Count[] {
    return quotas.map(({ subject, limit }) =>
      this.#locked(subject, limit, (bucket) => {
        const slot = this.#find(bucket);
        if (slot === NONE) return { allowed: true, remaining: limit.requests, resetMs: nowMs, retryMs: nowMs };
        this.#forget(slot, nowMs);
        return this.#result(slot, this.#countOf(slot) < limit.requests, nowMs);
      }),
    );
  }

  /** SHAREDCOUNTERS-2. @param use gets the bucket of the subject; it may only read and write there. */
  #locked(subject: string, limit: Limit, use: (bucket: number) => Count): Count {
    assert(limit.requests === this.#limit.requests && limit.windowSec === this.#limit.windowSec, 'counts: one limit');
    this.#hash.of(subject);
    const bucket = this.#hash.first & (BUCKETS - 1);
    this.#lock(bucket);
    try {
      return use(bucket);
    } finally {
      Atomics.store(this.#locks, bucket, FREE);
    }
  }

  #lock(bucket: number): void {
    for (let look = 1; Atomics.compareExchange(this.#locks, bucket, FREE, TAKEN) !== FREE; look++) {
      if (look % LOOKS_BEFORE_SLEEP === 0) Atomics.wait(this.#locks, bucket, TAKEN, SLEEP_MS);
    }
  }

  /** Returns the first cell of the slot of the subject that was hashed last, or NONE. */
  #find(bucket: number): number {
    const { first, second } = this.#hash;
    for (let way = 0; way < WAYS; way++) {
      const slot = (bucket * WAYS + way) * SLOT_CELLS;
      if (this.#words[2 * slot] === first && this.#words[2 * slot + 1] === second) return slot;
    }
    return NONE;
  }

  /**
   * SHAREDCOUNTERS-3. Gives the subject that was hashed last a slot that is idle, or else the least recently used one.
   */
  #takeSlot(bucket: number): number {
    let idlest = 0;
    let idlestMs = Number.POSITIVE_INFINITY;
    for (let way = 0; way < WAYS; way++) {
      const slot = (bucket * WAYS + way) * SLOT_CELLS;
      const countedMs = this.#countOf(slot) === 0 ? Number.NEGATIVE_INFINITY : this.#newestMs(slot);
      if (countedMs >= idlestMs) continue;
      idlest = slot;
      idlestMs = countedMs;
    }
    this.#words[2 * idlest] = this.#hash.first;
    this.#words[2 * idlest + 1] = this.#hash.second;
    this.#words[2 * idlest + 2] = 0;
    this.#words[2 * idlest + 3] = 0;
    return idlest;
  }

  #countOf(slot: number): number {
    return this.#words[2 * slot + 3];
  }

  /** Returns the time of the request with this number, 0 for the oldest. */
  #timeAt(slot: number, number: number): number {
    const index = (this.#words[2 * slot + 2] + number) % MOST_REQUESTS;
    return this.#times[slot + TIMES_AT + index];
  }

  #newestMs(slot: number): number {
    return this.#timeAt(slot, this.#countOf(slot) - 1);
  }

  #forget(slot: number, nowMs: number): void {
    while (this.#countOf(slot) > 0 && Math.abs(nowMs - this.#timeAt(slot, 0)) >= this.#windowMs) {
      this.#words[2 * slot + 2] = (this.#words[2 * slot + 2] + 1) % MOST_REQUESTS;
      this.#words[2 * slot + 3]--;
    }
  }

  /** Another thread may have counted a request that came slightly later. */
  #append(slot: number, nowMs: number): void {
    const count = this.#countOf(slot);
    const timeMs = count === 0 ? nowMs : Math.max(nowMs, this.#newestMs(slot));
    const index = (this.#words[2 * slot + 2] + count) % MOST_REQUESTS;
    this.#times[slot + TIMES_AT + index] = timeMs;
    this.#words[2 * slot + 3] = count + 1;
  }

  #result(slot: number, allowed: boolean, nowMs: number): Count {
    const { requests } = this.#limit;
    const count = this.#countOf(slot);
    const remaining = Math.max(requests - count, 0);
    if (count === 0) return { allowed, remaining, resetMs: nowMs, retryMs: nowMs };
    const resetMs = this.#newestMs(slot) + this.#windowMs;
    const retryMs = count < requests ? nowMs : this.#timeAt(slot, count - requests) + this.#windowMs;
    return { allowed, remaining, resetMs, retryMs };
  }
}
