/**
 * The limit stage: which subject a call is counted as, under which limit, and what the answer's headers say about it.
 * A key is counted per endpoint under its tier or override; everything else per address and endpoint. The two have
 * their own stores, so a flood of addresses can fill the one without ever refusing a key.
 */
import type { ApiKey } from '../auth/apiKeys.ts';
import type { Route } from '../route.ts';
import { LIMIT_CLASSES, type Limit, TIER_LIMITS } from './classes.ts';
import { type CounterStore, MemoryCounterStore } from './counterStore.ts';

/** About 200 bytes each while idle addresses come and go. */
const MAX_ADDRESS_SUBJECTS = 100_000;
/** Keys are issued by the administrator, so their number times the endpoints is bounded by what was issued. */
const MAX_KEY_SUBJECTS = 1_000_000;

export type Verdict = {
  readonly decision: 'allowed' | 'quota_denied' | 'dependency_unavailable';
  /** Value of the first rate-limit header together with the lines of the others, ready to write. */
  readonly headers: string;
  readonly resetMs: number;
};

export class Limiter {
  readonly #keys: CounterStore;
  readonly #addresses: CounterStore;

  constructor(
    keys: CounterStore = new MemoryCounterStore(MAX_KEY_SUBJECTS),
    addresses: CounterStore = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS),
  ) {
    this.#keys = keys;
    this.#addresses = addresses;
  }

  takeForKey(key: ApiKey, route: Route, nowMs: number): Verdict | null {
    if (LIMIT_CLASSES[route.limit] === null) return null;
    const limit = key.rateLimitOverride ?? TIER_LIMITS[key.tier];
    return take(this.#keys, `${key.keyId} ${route.method} ${route.path}`, limit, nowMs);
  }

  takeForAddress(address: string, route: Route, nowMs: number): Verdict | null {
    const limit = LIMIT_CLASSES[route.limit];
    if (limit === null) return null;
    return take(this.#addresses, `${address} ${route.method} ${route.path}`, limit, nowMs);
  }
}

function take(store: CounterStore, subject: string, limit: Limit, nowMs: number): Verdict {
  const count = store.take(subject, limit, nowMs);
  const window = `X-RateLimit-Limit: ${limit.requests}\r\nX-RateLimit-Window-Seconds: ${limit.windowSec}`;
  if (count === 'unavailable') {
    const decision = 'dependency_unavailable';
    return { decision, headers: `${decision}\r\n${window}`, resetMs: 0 };
  }
  const decision = count.allowed ? 'allowed' : 'quota_denied';
  // A whole second that is not too early for the request to pass.
  const resetSec = Math.ceil(count.resetMs / 1000);
  const state = `X-RateLimit-Remaining: ${count.remaining}\r\nX-RateLimit-Reset: ${resetSec}`;
  return { decision, headers: `${decision}\r\n${window}\r\n${state}`, resetMs: count.resetMs };
}
