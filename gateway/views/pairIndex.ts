/**
 * Dense row numbers for the (account, market) pairs that ever held something: the key of positions and of an account's
 * open orders in a market. Rows are never given back; a pair that once traded costs its few words for ever.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   P1  A pair has one row, and rows count from 0 without gaps.
 *   P2  The rows of an account form one chain, newest first.
 */
import { grown, NONE } from './columns.ts';

const FIRST_ROWS = 1024;
const EMPTY = 0;

export class PairIndex {
  accounts = new Uint32Array(FIRST_ROWS);
  markets = new Uint32Array(FIRST_ROWS);
  count = 0;
  /** Row + 1 of the next row of the same account, 0 at the end: zero-filled growth needs no second pass. */
  #next = new Uint32Array(FIRST_ROWS);
  /** By account: row + 1 of its newest row. */
  #newest = new Uint32Array(FIRST_ROWS);
  /** Row + 1, or EMPTY; at most half full. */
  #cells = new Uint32Array(FIRST_ROWS * 2);

  /** The row of a pair, or NONE when the account never held anything in that market. */
  find(account: number, market: number): number {
    const cells = this.#cells;
    const mask = cells.length - 1;
    for (let cell = home(account, market) & mask; cells[cell] !== EMPTY; cell = (cell + 1) & mask) {
      const row = cells[cell]! - 1;
      if (this.accounts[row] === account && this.markets[row] === market) return row;
    }
    return NONE;
  }

  /** The row of a pair, given out now if it has none. */
  rowOf(account: number, market: number): number {
    const known = this.find(account, market);
    if (known !== NONE) return known;
    const row = this.count++;
    this.accounts = grown(this.accounts, this.count);
    this.markets = grown(this.markets, this.count);
    this.#next = grown(this.#next, this.count);
    this.#newest = grown(this.#newest, account + 1);
    this.accounts[row] = account;
    this.markets[row] = market;
    this.#next[row] = this.#newest[account]!;
    this.#newest[account] = row + 1;
    if (this.count * 2 > this.#cells.length) this.#growCells();
    else this.#put(row);
    return row;
  }

  newestRow(account: number): number {
    return account < this.#newest.length ? this.#newest[account]! - 1 : NONE;
  }

  nextRow(row: number): number {
    return this.#next[row]! - 1;
  }

  #put(row: number): void {
    const mask = this.#cells.length - 1;
    let cell = home(this.accounts[row]!, this.markets[row]!) & mask;
    while (this.#cells[cell] !== EMPTY) cell = (cell + 1) & mask;
    this.#cells[cell] = row + 1;
  }

  #growCells(): void {
    this.#cells = new Uint32Array(this.#cells.length * 2);
    for (let row = 0; row < this.count; row++) this.#put(row);
  }
}

/** Both numbers are small and dense, so two odd factors and a fold spread them well. */
function home(account: number, market: number): number {
  const mixed = Math.imul(account, 0x9e3779b1) ^ Math.imul(market, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
