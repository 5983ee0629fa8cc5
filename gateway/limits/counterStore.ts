/**
 * Counts requests per subject over a sliding window. A store behind an interface, because several gateways need a
 * shared one; a store that cannot decide says so, and the request is refused, never waved through. What is decided in
 * this thread is returned as it is, so that a promise is only paid for where there is a wait.
 *
 * Owner of the in-process store: the gateway thread.
 * Invariants:
 *   C1  In any window a subject passes at most its limit: the times of the passed requests are kept, not a count.
 *   C2  A ring holds at most `limit` times and grows only as far as it is full of live ones.
 *   C3  At most `capacity` subjects are held; idle ones make room, live ones are never forgotten early.
 */
import type { Limit } from './classes.ts';

export type Count = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** When the oldest counted request leaves the window. */
  readonly resetMs: number;
};

export type Counted = Count | 'unavailable';
/** One limit of one subject. */
export type Quota = { readonly subject: string; readonly limit: Limit };

export type CounterStore = {
  /** Counts the request if the limit admits it. */
  take(subject: string, limit: Limit, nowMs: number): Counted | Promise<Counted>;
  /** What `take` would find, by quota, without counting; a promise never rejects. */
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
/** Old subjects looked at for each new one: two, so that a sweep always overtakes growth. */
const SWEEP_STEPS = 2;

export class MemoryCounterStore implements CounterStore {
  readonly #rings = new Map<string, Ring>();
  readonly #capacity: number;
  #sweep = this.#rings.entries();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  take(subject: string, limit: Limit, nowMs: number): Counted {
    let ring = this.#rings.get(subject);
    if (ring === undefined) {
      this.#makeRoom(nowMs);
      if (this.#rings.size >= this.#capacity) return 'unavailable';
      ring = { timesMs: new Float64Array(Math.min(limit.requests, FIRST_RING_SIZE)), head: 0, count: 0, windowMs: 0 };
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
      if (ring === undefined) return { allowed: true, remaining: limit.requests, resetMs: nowMs };
      forget(ring, nowMs);
      return countOf(ring, ring.count < limit.requests, limit, nowMs);
    });
  }

  /** Walks on from where the last walk stopped: a full sweep at once would stall the thread. */
  #makeRoom(nowMs: number): void {
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

/** Nothing counted is nothing to wait for. */
function countOf(ring: Ring, allowed: boolean, limit: Limit, nowMs: number): Count {
  const resetMs = ring.count > 0 ? ring.timesMs[ring.head] + ring.windowMs : nowMs;
  return { allowed, remaining: Math.max(limit.requests - ring.count, 0), resetMs };
}

function forget(ring: Ring, nowMs: number): void {
  while (ring.count > 0 && ring.timesMs[ring.head] + ring.windowMs <= nowMs) {
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
