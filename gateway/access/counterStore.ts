/**
 * Counts requests per subject over a sliding window. The store is an interface, because several gateways need a shared
 * one. If a store cannot decide, the request is refused, never let through. A decision of this thread is returned
 * directly, so that only a remote one costs a promise.
 *
 * Owner of the in-process store: the gateway thread.
 * Invariants:
 *   COUNTERS-1  In any window at most `limit` requests of a subject are admitted: the times of admitted requests are
 *               kept, not a count.
 *   COUNTERS-2  A ring holds at most `limit` times and grows only while all its times are in the window.
 *   COUNTERS-3  At most `capacity` subjects are held. Idle ones make room first; if there are none, the least recently
 *               counted subject is forgotten. So a full table never refuses anyone: a flood of subjects can make
 *               others' limits more lenient, but cannot lock them out.
 *   COUNTERS-4  A time that lies a window or more in the future is forgotten: the clock was set back, and otherwise
 *               subjects with earlier requests (heartbeats among them) would be locked out for the length of the step.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Limit } from '../base/classes.ts';

export type Count = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** The time at which the whole quota is free again: the newest counted request leaves the window. */
  readonly resetMs: number;
  /** The earliest time of the next request; not in the future while there is room. */
  readonly retryMs: number;
};

export type Counted = Count | 'unavailable';
/** One limit of one subject. */
export type Quota = { readonly subject: string; readonly limit: Limit };

export type CounterStore = {
  /** Counts the request if the limit admits it. */
  count(subject: string, limit: Limit, nowMs: number): Counted | Promise<Counted>;
  /** The result of `count` for each quota, without counting; a promise never rejects. */
  peek(
    quotas: readonly Quota[],
    nowMs: number,
  ): readonly Count[] | 'unavailable' | Promise<readonly Count[] | 'unavailable'>;
};

type Ring = {
  timesMs: Float64Array;
  /** Index of the oldest time. */
  head: number;
  count: number;
  windowMs: number;
};

const FIRST_RING_SIZE = 8;
/** Old subjects checked for each new one: two, so that a sweep is always faster than the growth. */
const SWEEP_STEPS = 2;

export class MemoryCounterStore implements CounterStore {
  readonly #rings = new Map<string, Ring>();
  readonly #capacity: number;
  #sweep = this.#rings.entries();
  /** Iterator at the least recently counted subject; subjects before it were removed or moved to the end. */
  #oldest = this.#rings.keys();

  constructor(capacity: number) {
    assert(capacity > 0, 'COUNTERS-3: there is room for one subject');
    this.#capacity = capacity;
  }

  /** Subjects that are held, for gauges and tests. */
  get size(): number {
    return this.#rings.size;
  }

  count(subject: string, limit: Limit, nowMs: number): Count {
    let ring = this.#rings.get(subject);
    if (ring === undefined) {
      this.#makeRoom(nowMs);
      ring = { timesMs: new Float64Array(Math.min(limit.requests, FIRST_RING_SIZE)), head: 0, count: 0, windowMs: 0 };
      this.#rings.set(subject, ring);
    } else if (this.#rings.size > this.#capacity / 2) {
      // Only a table that may become full needs the order in which its subjects were counted.
      this.#rings.delete(subject);
      this.#rings.set(subject, ring);
    }
    ring.windowMs = limit.windowSec * 1000;
    forget(ring, nowMs);
    const allowed = ring.count < limit.requests;
    if (allowed) append(ring, nowMs, limit.requests);
    return countOf(ring, allowed, limit, nowMs);
  }

  peek(quotas: readonly Quota[], nowMs: number): readonly Count[] {
    return quotas.map(({ subject, limit }) => {
      const ring = this.#rings.get(subject);
      if (ring === undefined) return { allowed: true, remaining: limit.requests, resetMs: nowMs, retryMs: nowMs };
      forget(ring, nowMs);
      return countOf(ring, ring.count < limit.requests, limit, nowMs);
    });
  }

  /** COUNTERS-3. */
  #makeRoom(nowMs: number): void {
    this.#sweepSome(nowMs);
    if (this.#rings.size < this.#capacity) return;
    let next = this.#oldest.next();
    if (next.done) {
      this.#oldest = this.#rings.keys();
      next = this.#oldest.next();
    }
    assert(!next.done, 'COUNTERS-3: a full table has an oldest subject');
    this.#rings.delete(next.value);
  }

  /** Continues where the last sweep stopped: a full sweep at once would stall the thread. */
  #sweepSome(nowMs: number): void {
    for (let step = 0; step < SWEEP_STEPS; step++) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#rings.entries();
        return;
      }
      const [subject, ring] = next.value;
      forget(ring, nowMs);
      if (ring.count === 0) this.#rings.delete(subject);
    }
  }
}

/** Without a counted request there is nothing to wait for. */
function countOf(ring: Ring, allowed: boolean, limit: Limit, nowMs: number): Count {
  const remaining = Math.max(limit.requests - ring.count, 0);
  if (ring.count === 0) return { allowed, remaining, resetMs: nowMs, retryMs: nowMs };
  const resetMs = timeAt(ring, ring.count - 1) + ring.windowMs;
  // There is room for one more once all but `requests - 1` of the times have left the window.
  const leaving = ring.count - limit.requests;
  return { allowed, remaining, resetMs, retryMs: leaving < 0 ? nowMs : timeAt(ring, leaving) + ring.windowMs };
}

/** The time of the request with this number, 0 for the oldest. */
function timeAt({ timesMs, head }: Ring, number: number): number {
  return timesMs[(head + number) % timesMs.length];
}

function forget(ring: Ring, nowMs: number): void {
  while (ring.count > 0 && Math.abs(nowMs - ring.timesMs[ring.head]) >= ring.windowMs) {
    ring.head = (ring.head + 1) % ring.timesMs.length;
    ring.count--;
  }
}

function append(ring: Ring, nowMs: number, most: number): void {
  const size = ring.timesMs.length;
  if (ring.count === size) {
    const grown = new Float64Array(Math.min(2 * size, most));
    for (let index = 0; index < size; index++) grown[index] = ring.timesMs[(ring.head + index) % size];
    ring.timesMs = grown;
    ring.head = 0;
  }
  ring.timesMs[(ring.head + ring.count) % ring.timesMs.length] = nowMs;
  ring.count++;
}
