/**
 * Asks history whether an order was accepted before, where the shards may have forgotten it (RULES.md 2.13): no answer
 * may deny an order that traded. Owner: the gateway thread.
 *
 * Invariants:
 *   PAST-1  Of an account at most MOST_AT_ONCE questions are under way; one beyond them is not asked.
 *   PAST-2  A question is answered within LONGEST_MS.
 */
import type { AccountReads } from '../account/reads.ts';
import type { Refusal } from '../base/refusal.ts';

/** `unknown`: history did not answer in time, or does not go back far enough. */
export type Past = 'accepted' | 'never' | 'unknown';

export type PastReads = Pick<AccountReads, 'ofAccountByNow'> & { readonly historyFromMs: number };

/** More than the rows of a batch. */
const MOST_AT_ONCE = 256;
const LONGEST_MS = 1000;

export class PastOrders {
  readonly #queries: PastReads;
  readonly #underWay = new Map<number, number>();

  constructor(queries: PastReads) {
    this.#queries = queries;
  }

  /** @param start of the hash of an order that the account may send: its signature and signer are right */
  anyOrder(account: number, start: Uint8Array): Promise<Past> {
    return this.#ask(account, start, false);
  }

  /** An order of another account counts as never accepted: a hash reveals nothing to a stranger. */
  ownOrder(account: number, hash: Uint8Array): Promise<Past> {
    return this.#ask(account, hash, true);
  }

  async #ask(account: number, start: Uint8Array, isOwn: boolean): Promise<Past> {
    const before = this.#underWay.get(account) ?? 0;
    if (before >= MOST_AT_ONCE) return 'unknown';
    this.#underWay.set(account, before + 1);
    try {
      return await within(LONGEST_MS, this.#find(account, start, isOwn));
    } finally {
      const left = this.#underWay.get(account)! - 1;
      if (left === 0) this.#underWay.delete(account);
      else this.#underWay.set(account, left);
    }
  }

  async #find(account: number, start: Uint8Array, isOwn: boolean): Promise<Past> {
    const found = await this.#queries.ofAccountByNow(account, 'wasAccepted', { account, start, isOwn });
    if (!found.ok) return 'unknown';
    if (found.value === true) return 'accepted';
    return found.value === null || this.#queries.historyFromMs > 0 ? 'unknown' : 'never';
  }
}

/** The refusal of an order that is not known to have been accepted. */
export function refusalAfter(past: Past, refusal: Refusal): Refusal {
  if (past !== 'unknown') return refusal;
  return { ...refusal, details: { ...refusal.details, may_have_been_accepted: true } };
}

async function within(ms: number, answer: Promise<Past>): Promise<Past> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Past>((resolve) => {
    timer = setTimeout(resolve, ms, 'unknown');
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
