/**
 * The accounts whose orders are refused for their signature (RULES.md 5.8). A wrong signature costs the shard as much
 * time as a correct one, and its sender nothing. So after a number of them within a window, the account's orders are
 * refused before they reach a shard. Accepted orders are never counted. Owner: the gateway thread. The counts are local
 * even if requests are counted in Redis: they protect this process's shards, and an order must not wait for another
 * machine because of them.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { type Count, MemoryCounterStore } from '../access/counterStore.ts';
import { resultOf } from '../access/limiter.ts';
import type { Refusal } from '../base/refusal.ts';

const LIMIT = { requests: 20, windowSec: 10 };
const DOCUMENTED = { requests: LIMIT.requests, window_seconds: LIMIT.windowSec };
/** The most accounts counted; beyond that the least recently counted one is forgotten. */
const CAPACITY = 10_000;

export class BadSignatures {
  readonly #clock: Clock;
  readonly #counts = new MemoryCounterStore(CAPACITY);
  /** The accounts that have used up the limit, with their counts then; at most one entry an account. */
  readonly #over = new Map<number, Count>();
  /** Orders that were refused here, since the start. */
  refused = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The refusal of the account's next order; null while it may send one. */
  refusalFor(account: number): Refusal | null {
    if (this.#over.size === 0) return null;
    const count = this.#over.get(account);
    if (count === undefined) return null;
    const waitMs = count.retryMs - this.#clock.nowMs();
    if (waitMs <= 0) {
      this.#over.delete(account);
      return null;
    }
    this.refused++;
    const details = { reason: 'refused order signatures', ...DOCUMENTED };
    const rateLimitHeaders = resultOf({ ...count, allowed: false }, LIMIT).headers;
    return { row: ERRORS.RATE_LIMITED, details, retryAfterSec: Math.ceil(waitMs / 1000), rateLimitHeaders };
  }

  /** A shard has refused the signature of an order of this account. */
  count(account: number): void {
    const count = this.#counts.count(String(account), LIMIT, this.#clock.nowMs());
    if (count.remaining === 0) this.#over.set(account, count);
  }
}
