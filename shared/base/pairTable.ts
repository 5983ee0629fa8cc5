/**
 * Dense row numbers for the (account, market) pairs that ever held something. A row is found through open addressing
 * with linear probing. Rows are never freed: a pair that once traded keeps its few words for ever. Owner: the thread
 * that made it.
 *
 * Invariants:
 *   PAIRS-1  A pair has one row, and rows count from 0 without gaps.
 *   PAIRS-2  At most half of the cells are in use, so every search ends.
 */
import { assert } from './assert.ts';

/** The result of a search that finds nothing. */
export const NO_ROW = -1;

const FIRST_ROWS = 1024;

assert((FIRST_ROWS & (FIRST_ROWS - 1)) === 0, 'PAIRS-2: the cells are a power of two');

export class PairTable {
  count = 0;
  /** By row; as long as the memory, which grows by doubling. */
  accounts: Uint32Array = new Uint32Array(FIRST_ROWS);
  markets: Uint32Array = new Uint32Array(FIRST_ROWS);
  /** Row + 1, or 0 for a free cell. */
  #cells = new Uint32Array(FIRST_ROWS * 2);

  /** The number of rows for which `accounts` and `markets` have room. */
  get capacity(): number {
    return this.accounts.length;
  }

  /** The row of a pair, or NO_ROW if the account never held anything in that market. */
  find(account: number, market: number): number {
    return this.#cells[this.#cellOf(account, market)] - 1;
  }

  /** The row of a pair, which gets a new one if it has none. */
  rowOf(account: number, market: number): number {
    const known = this.#cells[this.#cellOf(account, market)];
    if (known !== 0) return known - 1;
    if (this.count === this.capacity) this.#grow();
    const row = this.count++;
    this.accounts[row] = account;
    this.markets[row] = market;
    const cell = this.#cellOf(account, market);
    assert(this.#cells[cell] === 0, 'PAIRS-1: a new pair takes a free cell');
    this.#cells[cell] = row + 1;
    return row;
  }

  /** Loads the rows of a snapshot. The two arrays are as long as the memory was then. */
  load(count: number, accounts: Uint32Array, markets: Uint32Array): void {
    assert(accounts.length === markets.length && count <= accounts.length, 'PAIRS-1: every row is a pair');
    this.count = count;
    this.accounts = accounts;
    this.markets = markets;
    this.#index();
  }

  /** Asserts PAIRS-1 and PAIRS-2. */
  validate(): void {
    assert(this.count * 2 <= this.#cells.length, 'PAIRS-2: at most half of the cells are in use');
    for (let row = 0; row < this.count; row++) {
      assert(this.find(this.accounts[row], this.markets[row]) === row, 'PAIRS-1: a pair leads to its row');
    }
  }

  /** The cell of a pair, or the free cell where it would be stored. */
  #cellOf(account: number, market: number): number {
    const cells = this.#cells;
    const mask = cells.length - 1;
    let cell = home(account, market) & mask;
    for (;;) {
      const row = cells[cell] - 1;
      if (row < 0 || (this.accounts[row] === account && this.markets[row] === market)) return cell;
      cell = (cell + 1) & mask;
    }
  }

  #grow(): void {
    const { accounts, markets, capacity } = this;
    this.accounts = new Uint32Array(capacity * 2);
    this.markets = new Uint32Array(capacity * 2);
    this.accounts.set(accounts);
    this.markets.set(markets);
    this.#index();
  }

  #index(): void {
    this.#cells = new Uint32Array(this.capacity * 2);
    for (let row = 0; row < this.count; row++)
      this.#cells[this.#cellOf(this.accounts[row], this.markets[row])] = row + 1;
  }
}

/** Both numbers are small and dense, so two odd factors and a fold spread them well. */
function home(account: number, market: number): number {
  const mixed = Math.imul(account, 0x9e3779b1) ^ Math.imul(market, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
