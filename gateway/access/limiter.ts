/**
 * The limit stage (RULES.md 4.6): the subject under which a call is counted, its limit, and the answer's headers. A key
 * is counted per endpoint under its tier or override, a session per account and endpoint, all else per address and
 * endpoint. Keys, accounts, addresses, the failed attempts of addresses and their new accounts have stores of their
 * own: a flood of addresses can fill their store without affecting keys or sessions, failed attempts use up no quota of
 * valid requests, and neither makes the exchange forget which addresses have made accounts today.
 *
 * While a shared store cannot decide, cancels and heartbeats are counted in this process instead: they continue to
 * work, and still cannot flood the shards.
 */
import { type KeyQuota, LIMIT_CLASSES, type Limit, type LimitClass, limitOfKey, mustPass } from '../base/classes.ts';
import { type Count, type Counted, type CounterStore, MemoryCounterStore, type Quota } from './counterStore.ts';
import { Prefixes } from './prefixes.ts';
import { NETWORKS_PERIOD_MS } from './sharedNetworks.ts';

/** About 200 bytes each while idle addresses come and go. */
const MAX_ADDRESS_SUBJECTS = 100_000;
/** Keys are issued by the administrator, so their number times the endpoints is bounded by what was issued. */
const MAX_KEY_SUBJECTS = 1_000_000;

/** Accounts that use sessions, times the endpoints that they use. */
const MAX_ACCOUNT_SUBJECTS = 250_000;

const DAY_MS = 86_400_000;

/** Not a real endpoint: every way of signing in may create an account. */
const SIGN_UP: Endpoint = { method: 'POST', path: 'sign-up', limit: 'signUp' };

type Decision = 'allowed' | 'quota_denied' | 'dependency_unavailable';

export type LimitResult = {
  readonly decision: Decision;
  /** Value of the first rate-limit header together with the lines of the others, ready to write. */
  readonly headers: string;
  /** The time at which the next request may come. */
  readonly retryMs: number;
};

/** The part of a route that counting needs. */
export type Endpoint = { readonly method: string; readonly path: string; readonly limit: LimitClass };

/** The requests that one endpoint still admits from a key. */
export type Allowance = { readonly endpoint: Endpoint; readonly limit: Limit; readonly count: Count };

export class Limiter {
  readonly #keys: CounterStore;
  readonly #addresses: CounterStore;
  /** The number of each decision. */
  readonly decisions: Record<Decision, number> = { allowed: 0, quota_denied: 0, dependency_unavailable: 0 };
  /**
   * A key's quota at an endpoint is cached, because hashing a newly built text is expensive; another quota object comes
   * with a changed key.
   */
  readonly #keyQuotas = new WeakMap<KeyQuota, Map<Endpoint, Quota | null>>();
  readonly #meanwhile = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS);
  readonly #failures: CounterStore;
  readonly #accounts: CounterStore;
  readonly #signUps: CounterStore;
  readonly #unlisted: CounterStore;
  readonly #prefixes: Pick<Prefixes, 'subjectOf'>;
  readonly #signUpPrefixes = new Prefixes(DAY_MS);

  /**
   * One that counts everything in the same store; null: in this process.
   * @param unlisted counts addresses at endpoints of that class; front threads count there, too
   * @param prefixes as what an IPv6 address is counted, where another thread sees or knows it
   */
  static in(store: CounterStore | null, unlisted?: CounterStore, prefixes?: Pick<Prefixes, 'subjectOf'>): Limiter {
    if (store !== null) return new Limiter(store, store, store, store, store, store, prefixes);
    return new Limiter(undefined, undefined, undefined, undefined, undefined, unlisted, prefixes);
  }

  constructor(
    keys: CounterStore = new MemoryCounterStore(MAX_KEY_SUBJECTS),
    addresses: CounterStore = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS),
    failures: CounterStore = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS),
    accounts: CounterStore = new MemoryCounterStore(MAX_ACCOUNT_SUBJECTS),
    signUps: CounterStore = new MemoryCounterStore(MAX_ADDRESS_SUBJECTS),
    unlisted: CounterStore = addresses,
    prefixes: Pick<Prefixes, 'subjectOf'> = new Prefixes(NETWORKS_PERIOD_MS),
  ) {
    this.#keys = keys;
    this.#addresses = addresses;
    this.#failures = failures;
    this.#accounts = accounts;
    this.#signUps = signUps;
    this.#unlisted = unlisted;
    this.#prefixes = prefixes;
  }

  countKey(key: KeyQuota, endpoint: Endpoint, nowMs: number): LimitResult | Promise<LimitResult> | null {
    const quota = this.#keyQuota(key, endpoint);
    return quota === null ? null : this.#count(this.#keys, quota.subject, quota.limit, endpoint, nowMs);
  }

  /** A request of a session: all sessions of an account have the endpoint's own limit together. */
  countAccount(account: number, endpoint: Endpoint, nowMs: number): LimitResult | Promise<LimitResult> | null {
    const quota = accountQuota(account, endpoint);
    return quota === null ? null : this.#count(this.#accounts, quota.subject, quota.limit, endpoint, nowMs);
  }

  /** The subject under which the address is counted. @param address a client's subject (base/clientAddress.ts) */
  subjectOf(address: string, nowMs: number): string {
    return this.#prefixes.subjectOf(address, nowMs);
  }

  /** @param address a client's subject (base/clientAddress.ts). */
  countAddress(address: string, endpoint: Endpoint, nowMs: number): LimitResult | Promise<LimitResult> | null {
    const limit = LIMIT_CLASSES[endpoint.limit];
    if (limit === null) return null;
    const subject = `${this.#prefixes.subjectOf(address, nowMs)} ${endpoint.method} ${endpoint.path}`;
    const store = endpoint.limit === 'unlisted' ? this.#unlisted : this.#addresses;
    return this.#count(store, subject, limit, endpoint, nowMs);
  }

  /** An account that a person at this address is about to make; counted for so long that no minute forgets a /64. */
  countSignUp(address: string, nowMs: number): LimitResult | Promise<LimitResult> | null {
    const subject = `${this.#signUpPrefixes.subjectOf(address, nowMs)} ${SIGN_UP.method} ${SIGN_UP.path}`;
    return this.#count(this.#signUps, subject, LIMIT_CLASSES.signUp, SIGN_UP, nowMs);
  }

  /**
   * A request whose credentials are refused or insufficient: counted separately from the other requests of its address.
   */
  countFailure(address: string, endpoint: Endpoint, nowMs: number): LimitResult | Promise<LimitResult> | null {
    const limit = LIMIT_CLASSES[endpoint.limit];
    if (limit === null) return null;
    const subject = `failed ${this.#prefixes.subjectOf(address, nowMs)} ${endpoint.method} ${endpoint.path}`;
    return this.#count(this.#failures, subject, limit, endpoint, nowMs);
  }

  /**
   * The counts of all endpoints with a limit, in the given order.
   * @param subject a key, or the account of a session.
   */
  async allowances(
    subject: KeyQuota | number,
    endpoints: readonly Endpoint[],
    nowMs: number,
  ): Promise<Allowance[] | 'unavailable'> {
    const isKey = typeof subject !== 'number';
    const limited = endpoints.flatMap((endpoint) => {
      const quota = isKey ? this.#keyQuota(subject, endpoint) : accountQuota(subject, endpoint);
      return quota === null ? [] : [{ endpoint, ...quota }];
    });
    const counts = await (isKey ? this.#keys : this.#accounts).peek(limited, nowMs);
    if (counts === 'unavailable') return counts;
    return limited.map(({ endpoint, limit }, index) => ({ endpoint, limit, count: counts[index] }));
  }

  /** Null: nothing is counted there. */
  #keyQuota(key: KeyQuota, endpoint: Endpoint): Quota | null {
    const quotas = this.#keyQuotas.get(key) ?? new Map<Endpoint, Quota | null>();
    const known = quotas.get(endpoint);
    if (known !== undefined) return known;
    const limit = limitOfKey(key, endpoint.limit);
    const quota = limit === null ? null : { subject: keySubject(key, endpoint), limit };
    this.#keyQuotas.set(key, quotas.set(endpoint, quota));
    return quota;
  }

  #count(
    store: CounterStore,
    subject: string,
    limit: Limit,
    endpoint: Endpoint,
    nowMs: number,
  ): LimitResult | Promise<LimitResult> {
    const counted = store.count(subject, limit, nowMs);
    if (counted instanceof Promise) return counted.then((late) => this.#judge(late, subject, limit, endpoint, nowMs));
    return this.#judge(counted, subject, limit, endpoint, nowMs);
  }

  #judge(counted: Counted, subject: string, limit: Limit, endpoint: Endpoint, nowMs: number): LimitResult {
    const isUndecided = counted === 'unavailable' && mustPass(endpoint.limit);
    const result = resultOf(isUndecided ? this.#meanwhile.count(subject, limit, nowMs) : counted, limit);
    this.decisions[result.decision]++;
    return result;
  }
}

/** No address looks like these subjects, or like `failed`: all kinds of subjects may share one store. */
function keySubject({ keyId }: KeyQuota, { method, path }: Endpoint): string {
  return `key ${keyId} ${method} ${path}`;
}

function accountQuota(account: number, { method, path, limit: limitClass }: Endpoint): Quota | null {
  const limit = LIMIT_CLASSES[limitClass];
  return limit === null ? null : { subject: `account ${account} ${method} ${path}`, limit };
}

export function resultOf(counted: Counted, limit: Limit): LimitResult {
  const window = `X-RateLimit-Limit: ${limit.requests}\r\nX-RateLimit-Window-Seconds: ${limit.windowSec}`;
  if (counted === 'unavailable') {
    const decision = 'dependency_unavailable';
    return { decision, headers: `${decision}\r\n${window}`, retryMs: 0 };
  }
  const decision = counted.allowed ? 'allowed' : 'quota_denied';
  const state = `X-RateLimit-Remaining: ${counted.remaining}\r\nX-RateLimit-Reset: ${resetSec(counted)}`;
  return { decision, headers: `${decision}\r\n${window}\r\n${state}`, retryMs: counted.retryMs };
}

/** A whole second in which the whole quota is free. */
export function resetSec({ resetMs }: Count): number {
  return Math.ceil(resetMs / 1000);
}
