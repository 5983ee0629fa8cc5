/**
 * The limit stage (RULES.md 4.6): which subject a call is counted as, under which limit, and what the answer's headers
 * say about it. A key is counted per endpoint under its tier or override; everything else per address and endpoint. The
 * two have their own stores, so a flood of addresses can fill the one without ever refusing a key.
 *
 * While a shared store cannot decide, what must pass (cancels and heartbeats) is counted in this process instead: it
 * goes on, and is still no way to flood the shards.
 */
import type { ApiKey } from '../auth/apiKeys.ts';
import type { Route } from '../route.ts';
import { LIMIT_CLASSES, type Limit, limitOfKey, mustPass } from './classes.ts';
import { type Count, type Counted, type CounterStore, MemoryCounterStore } from './counterStore.ts';

/** About 200 bytes each while idle addresses come and go. */
const MAX_ADDRESS_SUBJECTS = 100_000;
/** Keys are issued by the administrator, so their number times the endpoints is bounded by what was issued. */
const MAX_KEY_SUBJECTS = 1_000_000;

export type Decision = 'allowed' | 'quota_denied' | 'dependency_unavailable';

export type Verdict = {
  readonly decision: Decision;
  /** Value of the first rate-limit header together with the lines of the others, ready to write. */
  readonly headers: string;
  readonly resetMs: number;
};

/** What one endpoint still admits from a key. */
export type Allowance = { readonly route: Route; readonly limit: Limit; readonly count: Count };

type Endpoint = Pick<Route, 'method' | 'path' | 'limit'>;

export class Limiter {
  readonly #keys: CounterStore;
  readonly #addresses: CounterStore;
  /** How often each was made. */
  readonly decisions: Record<Decision, number> = { allowed: 0, quota_denied: 0, dependency_unavailable: 0 };
  readonly #meanwhile = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS);

  constructor(
    keys: CounterStore = new MemoryCounterStore(MAX_KEY_SUBJECTS),
    addresses: CounterStore = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS),
  ) {
    this.#keys = keys;
    this.#addresses = addresses;
  }

  takeForKey(key: ApiKey, route: Endpoint, nowMs: number): Verdict | Promise<Verdict> | null {
    const limit = limitOfKey(key, route.limit);
    return limit === null ? null : this.#take(this.#keys, keySubject(key, route), limit, route, nowMs);
  }

  takeForAddress(address: string, route: Endpoint, nowMs: number): Verdict | Promise<Verdict> | null {
    const limit = LIMIT_CLASSES[route.limit];
    if (limit === null) return null;
    return this.#take(this.#addresses, `${address} ${route.method} ${route.path}`, limit, route, nowMs);
  }

  /** Of the routes that have a limit, in their order. */
  async allowances(key: ApiKey, routes: readonly Route[], nowMs: number): Promise<Allowance[] | 'unavailable'> {
    const limited = routes.flatMap((route) => {
      const limit = limitOfKey(key, route.limit);
      return limit === null ? [] : [{ route, limit, subject: keySubject(key, route) }];
    });
    const counts = await this.#keys.peek(limited, nowMs);
    if (counts === 'unavailable') return counts;
    return limited.map(({ route, limit }, index) => ({ route, limit, count: counts[index]! }));
  }

  #take(
    store: CounterStore,
    subject: string,
    limit: Limit,
    route: Endpoint,
    nowMs: number,
  ): Verdict | Promise<Verdict> {
    const counted = store.take(subject, limit, nowMs);
    if (counted instanceof Promise) return counted.then((late) => this.#judge(late, subject, limit, route, nowMs));
    return this.#judge(counted, subject, limit, route, nowMs);
  }

  #judge(counted: Counted, subject: string, limit: Limit, route: Endpoint, nowMs: number): Verdict {
    const isUndecided = counted === 'unavailable' && mustPass(route.limit);
    const verdict = verdictOf(isUndecided ? this.#meanwhile.take(subject, limit, nowMs) : counted, limit);
    this.decisions[verdict.decision]++;
    return verdict;
  }
}

/** No address looks like this: both kinds of subjects may be in one store. */
function keySubject(key: ApiKey, { method, path }: Endpoint): string {
  return `key ${key.keyId} ${method} ${path}`;
}

function verdictOf(counted: Counted, limit: Limit): Verdict {
  const window = `X-RateLimit-Limit: ${limit.requests}\r\nX-RateLimit-Window-Seconds: ${limit.windowSec}`;
  if (counted === 'unavailable') {
    const decision = 'dependency_unavailable';
    return { decision, headers: `${decision}\r\n${window}`, resetMs: 0 };
  }
  const decision = counted.allowed ? 'allowed' : 'quota_denied';
  const state = `X-RateLimit-Remaining: ${counted.remaining}\r\nX-RateLimit-Reset: ${resetSec(counted)}`;
  return { decision, headers: `${decision}\r\n${window}\r\n${state}`, resetMs: counted.resetMs };
}

/** A whole second that is not too early for the request to pass. */
export function resetSec({ resetMs }: Count): number {
  return Math.ceil(resetMs / 1000);
}
