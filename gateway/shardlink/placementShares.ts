/**
 * Fair shares of a shard: how many placements of one account may wait for it. Checking a signature is the slowest part
 * of an order, and a shard decides orders in the order of their arrival, so an account that could enqueue without limit
 * would make all others wait. An account may have as many placements waiting as there is free room left: alone it gets
 * half of the room, beside another greedy account a third, and an account with nothing waiting always finds room. An
 * account whose signature was wrong is a suspect: it gets a sixty-fourth of the room (one order, if signatures are
 * slow) until the shard has accepted one of its orders. Owner: the gateway thread, one for each thread of a shard.
 *
 * Invariants:
 *   SHARES-1  `waiting` is the sum of the accounts' waiting placements.
 *   SHARES-2  An account that is no suspect and has fewer than ALWAYS waiting is never refused here; one with more has
 *             at most as many waiting as `most` leaves free.
 *   SHARES-3  An account is a suspect if, of its orders that were accepted or refused for their signature, the last was
 *             refused.
 */
import { assert } from '../../shared/base/assert.ts';
import { OK } from '../../shared/base/errors.ts';
import { isWronglySigned, type OrderReply } from '../../shared/wire/hashStart.ts';

/** One more than the largest batch of orders: a request of an account with nothing waiting is carried out whole. */
const ALWAYS = 16;
const SUSPECTS_SHARE = 1 / 64;
const FIRST_ACCOUNTS = 64;

export class PlacementShares {
  /** Placements that were sent to the shard and have no reply yet. */
  waiting = 0;
  readonly #most: number;
  readonly #mostOfSuspect: number;
  /** SHARES-3. At most one entry per account. */
  readonly #suspects = new Set<number>();
  /** By account. */
  #waitingOf = new Uint32Array(FIRST_ACCOUNTS);

  /** @param most the placements that should wait at once: what the shard checks in an acceptable time. */
  constructor(most: number) {
    this.#most = most;
    this.#mostOfSuspect = Math.max(1, Math.floor(most * SUSPECTS_SHARE));
  }

  admits(account: number): boolean {
    const own = account < this.#waitingOf.length ? this.#waitingOf[account] : 0;
    if (this.#suspects.has(account) && own >= this.#mostOfSuspect) return false;
    return own < ALWAYS || own < this.#most - this.waiting;
  }

  add(account: number): void {
    if (account >= this.#waitingOf.length) this.#grow(account);
    this.#waitingOf[account]++;
    this.waiting++;
  }

  remove(account: number, reply: OrderReply): void {
    assert(this.#waitingOf[account] > 0, 'SHARES-1: what has a reply was waiting');
    this.#waitingOf[account]--;
    this.waiting--;
    if (isWronglySigned(reply)) this.#suspects.add(account);
    else if (reply.code === OK && this.#suspects.size > 0) this.#suspects.delete(account);
  }

  #grow(account: number): void {
    let size = this.#waitingOf.length;
    while (size <= account) size *= 2;
    const grown = new Uint32Array(size);
    grown.set(this.#waitingOf);
    this.#waitingOf = grown;
  }
}
