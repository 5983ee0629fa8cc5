/**
 * Accounts whose signatures take no part in batches for a minute, because one of theirs was wrong. A wrong signature
 * costs the batch around it a second check of every other one; so an account has that effect once, and then not for a
 * minute.
 *
 * The account counts and not the signer: it is the account that the gateway knows, and it may name any signer.
 *
 * Invariants:
 *   KEPT-1  There are never more than MOST_KEPT_OUT. One more lets the first of them go early: an attacker with so many
 *           accounts spoils batches for longer, and a spoiled batch costs its orders little more than no batch.
 *   KEPT-2  Time is that of the commands, so a minute is one of the exchange and not of a thread.
 */
import { assert } from '../../shared/base/assert.ts';

export const KEPT_OUT_MS = 60_000;
export const MOST_KEPT_OUT = 16_384;

export class KeptOut {
  /** When each may take part again; in the order of their last wrong signature. */
  readonly #untilMs = new Map<number, number>();

  get size(): number {
    return this.#untilMs.size;
  }

  /** A signature of the account is wrong. */
  add(account: number, timeMs: number): void {
    const kept = this.#untilMs;
    kept.delete(account);
    if (kept.size === MOST_KEPT_OUT) {
      const [first] = kept.keys();
      kept.delete(first);
    }
    kept.set(account, timeMs + KEPT_OUT_MS);
    assert(kept.size <= MOST_KEPT_OUT, 'KEPT-1: the table is bounded');
  }

  has(account: number, timeMs: number): boolean {
    const untilMs = this.#untilMs.get(account);
    if (untilMs === undefined) return false;
    if (timeMs < untilMs) return true;
    this.#untilMs.delete(account);
    return false;
  }
}
