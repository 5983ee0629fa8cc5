/**
 * Fair shares of a shard: how many placements of one account may wait for it. Checking a signature is the slowest part
 * of an order, and a shard decides orders in the order of their arrival, so an account that could enqueue without end
 * would make all others wait. An account may have as many waiting as there is room for more: alone it gets half of the
 * room, beside another that wants all a third, and an account that had nothing waiting always finds room.
 * Owner: the gateway thread, one for each thread of a shard.
 *
 * Invariants:
 *   SHARES-1  `waiting` is the sum of what the accounts have waiting.
 *   SHARES-2  An account that has fewer than ALWAYS waiting is never refused here; one with more has at most as many
 *             waiting as `most` leaves free.
 */
import { assert } from '../../shared/base/assert.ts';

/** The largest batch of orders and one more: a request of an account with nothing waiting is carried out whole. */
const ALWAYS = 16;
const FIRST_ACCOUNTS = 64;

export class PlacementShares {
  /** Placements that were sent to the shard and have no reply yet. */
  waiting = 0;
  readonly #most: number;
  /** By account. */
  #waitingOf = new Uint32Array(FIRST_ACCOUNTS);

  /** @param most the placements that should wait at once: what the shard checks in an acceptable time. */
  constructor(most: number) {
    this.#most = most;
  }

  admits(account: number): boolean {
    const own = account < this.#waitingOf.length ? this.#waitingOf[account] : 0;
    return own < ALWAYS || own < this.#most - this.waiting;
  }

  add(account: number): void {
    if (account >= this.#waitingOf.length) this.#grow(account);
    this.#waitingOf[account]++;
    this.waiting++;
  }

  remove(account: number): void {
    assert(this.#waitingOf[account] > 0, 'SHARES-1: what has a reply was waiting');
    this.#waitingOf[account]--;
    this.waiting--;
  }

  #grow(account: number): void {
    let size = this.#waitingOf.length;
    while (size <= account) size *= 2;
    const grown = new Uint32Array(size);
    grown.set(this.#waitingOf);
    this.#waitingOf = grown;
  }
}
