/**
 * Credits of batches that are committed here, but that the cluster's log does not hold yet (ledger.ts), in the order in
 * which they were sealed. Owner: the ledger of the shard.
 *
 * Invariants:
 *   SEALED-1  leftMicro of an account is the sum of its entries, less spentMicro, which is the part that the shard has
 *             since spent. Neither is negative.
 *   SEALED-2  Spending is taken from the oldest entries, and an entry releases only its own remainder. So a later
 *             credit is never released in place of an earlier one that was spent: the released sum never exceeds the
 *             balance that the account has by the held records.
 */
import { assert } from '../../shared/base/assert.ts';
import { addSafe } from '../../shared/base/int.ts';
import type { Balances } from '../../shared/wire/balances.ts';
import { extend } from '../base/columns.ts';

const INITIAL_ENTRIES = 256;

export class SealedCredits {
  /** The number of entries ever made, and the number of entries released. An entry is stored at its number & mask. */
  end = 0;
  #first = 0;
  #accounts = new Uint32Array(INITIAL_ENTRIES);
  #micro: Float64Array = new Float64Array(INITIAL_ENTRIES);
  #leftMicro: Float64Array = new Float64Array(64);
  #spentMicro: Float64Array = new Float64Array(64);

  get isEmpty(): boolean {
    return this.#first === this.end;
  }

  /** The part of its sealed credits that the account has not spent. */
  of(account: number): number {
    return account < this.#leftMicro.length ? this.#leftMicro[account] : 0;
  }

  push(account: number, micro: number): void {
    if (this.end - this.#first === this.#accounts.length) this.#grow();
    if (account >= this.#leftMicro.length) this.#ensureAccount(account);
    const at = this.end & (this.#accounts.length - 1);
    this.#accounts[at] = account;
    this.#micro[at] = micro;
    this.end++;
    this.#leftMicro[account] = addSafe(this.#leftMicro[account], micro);
  }

  /** Records that the shard spends a sealed credit itself. */
  spend(account: number, micro: number): void {
    const left = this.#leftMicro[account] - micro;
    assert(left >= 0, 'SEALED-1: no more is spent of sealed credits than is left');
    this.#leftMicro[account] = left;
    this.#spentMicro[account] = addSafe(this.#spentMicro[account], micro);
  }

  /** Releases the entries with lower numbers. */
  release(end: number, balances: Balances): void {
    assert(end >= this.#first && end <= this.end, 'SEALED-1: entries are released once, in order');
    const mask = this.#accounts.length - 1;
    for (; this.#first < end; this.#first++) {
      const account = this.#accounts[this.#first & mask];
      const entry = this.#micro[this.#first & mask];
      const spent = Math.min(entry, this.#spentMicro[account]);
      this.#spentMicro[account] = this.#spentMicro[account] - spent;
      if (entry === spent) continue;
      this.#leftMicro[account] = this.#leftMicro[account] - (entry - spent);
      balances.credit(account, entry - spent);
    }
  }

  validate(): void {
    const sums = new Float64Array(this.#leftMicro.length);
    for (let entry = this.#first; entry < this.end; entry++) {
      const at = entry & (this.#accounts.length - 1);
      sums[this.#accounts[at]] = addSafe(sums[this.#accounts[at]], this.#micro[at]);
    }
    for (let account = 0; account < sums.length; account++) {
      const [left, spent] = [this.#leftMicro[account], this.#spentMicro[account]];
      const isComplete = left >= 0 && spent >= 0 && left + spent === sums[account];
      assert(isComplete, 'SEALED-1: what is left and what is spent are the entries');
    }
  }

  #ensureAccount(account: number): void {
    let size = this.#leftMicro.length * 2;
    while (size <= account) size *= 2;
    this.#leftMicro = extend(this.#leftMicro, new Float64Array(size));
    this.#spentMicro = extend(this.#spentMicro, new Float64Array(size));
  }

  #grow(): void {
    const size = this.#accounts.length * 2;
    const accounts = new Uint32Array(size);
    const micro = new Float64Array(size);
    for (let entry = this.#first; entry < this.end; entry++) {
      const from = entry & (this.#accounts.length - 1);
      accounts[entry & (size - 1)] = this.#accounts[from];
      micro[entry & (size - 1)] = this.#micro[from];
    }
    this.#accounts = accounts;
    this.#micro = micro;
  }
}
