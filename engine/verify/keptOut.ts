/**
 * Accounts whose signatures take no part in batches for a minute because one of their signatures was wrong. A wrong
 * signature forces a second check of every other signature in its batch. An account can cause this once, and then not
 * for a minute.
 *
 * Accounts are excluded, not signers: the gateway has verified the account, but an account may name any signer.
 *
 * Invariants:
 *   KEPT-1  There are never more than MOST_KEPT_OUT entries. One more releases the first entry early: an attacker with
 *           so many accounts can spoil batches for longer, but a spoiled batch costs little more than no batch.
 *   KEPT-2  Time is taken from the commands, so a minute is measured by the exchange's clock and not by a thread's.
 */
import { assert } from '../../shared/base/assert.ts';

export const KEPT_OUT_MS = 60_000;
export const MOST_KEPT_OUT = 16_384;

export class KeptOut {
  /** The time from which each account may take part again, in the order of their last wrong signatures. */
  readonly #untilMs = new Map<number, number>();

  get size(): number {
    return this.#untilMs.size;
  }

  /** Call when a signature of the account is wrong. */
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
