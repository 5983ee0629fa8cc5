/**
 * Rows of (account, market) pairs, with the rows of each account: the key of positions and of an account's open orders
 * in a market. Owner: the gateway thread.
 *
 * Invariants:
 *   PAIRVIEW-1  The rows of an account form one chain, newest first.
 */
import { NO_ROW, PairTable } from '../../shared/base/pairTable.ts';
import { grown } from './growingColumn.ts';

export class PairIndex extends PairTable {
  /** Row + 1 of the next row of the same account, 0 at the end: zero-filled growth needs no second pass. */
  #next = new Uint32Array(this.capacity);
  /** By account: row + 1 of its newest row. */
  #newest = new Uint32Array(this.capacity);

  override rowOf(account: number, market: number): number {
    const countBefore = this.count;
    const row = super.rowOf(account, market);
    if (this.count === countBefore) return row;
    this.#next = grown(this.#next, this.count);
    this.#newest = grown(this.#newest, account + 1);
    this.#next[row] = this.#newest[account];
    this.#newest[account] = row + 1;
    return row;
  }

  /** The account's newest row, or NO_ROW. */
  newestRow(account: number): number {
    return account < this.#newest.length ? this.#newest[account] - 1 : NO_ROW;
  }

  /** The account's next older row, or NO_ROW. */
  nextRow(row: number): number {
    return this.#next[row] - 1;
  }
}
