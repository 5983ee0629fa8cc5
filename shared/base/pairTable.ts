/**
 * Dense row numbers for the (account, market) pairs that ever held something. A row is found through open addressing
 * with linear probing. Rows are never freed: a pair that once traded keeps its few words for ever. Owner: the thread
 * that made it.
 *
 * The cells are divided by the hash of the pair. When a division is full, only its own pairs find new cells, because
 * for tens of millions of pairs that would stop a shard for seconds.
 *
 * Invariants:
 *   PAIRS-1  A pair has one row, and rows count from 0 without gaps.
 *   PAIRS-2  At most half of the cells of a division are in use, so every search ends.
 */
import { assert } from './assert.ts';

/** The result of a search that finds nothing. */
export const NO_ROW = -1;

const FIRST_ROWS = 1024;
const DIVISION_BITS = 6;
const DIVISION_SHIFT = 32 - DIVISION_BITS;
const FIRST_CELLS = 16;
/** The cells of a division without pairs; nothing is written here. */
const NO_CELLS = new Uint32Array(1);

assert((FIRST_CELLS & (FIRST_CELLS - 1)) === 0, 'PAIRS-2: the cells are a power of two');

export class PairTable {
  count = 0;
  /** By row; as long as the memory, which grows by doubling. */
  accounts: Uint32Array = new Uint32Array(FIRST_ROWS);
  markets: Uint32Array = new Uint32Array(FIRST_ROWS);
  /** By division: row + 1, or 0 for a free cell. */
  readonly #cells: Uint32Array[] = new Array(1 << DIVISION_BITS).fill(NO_CELLS);
  /** By division: its pairs. */
  readonly #counts = new Uint32Array(1 << DIVISION_BITS);

  /** The number of rows for which `accounts` and `markets` have room. */
  get capacity(): number {
    return this.accounts.length;
  }

  /** The row of a pair, or NO_ROW if the account never held anything in that market. */
  find(account: number, market: number): number {
    const mixed = mix(account, market);
    const cells = this.#cells[mixed >>> DIVISION_SHIFT];
    return cells[this.#cellOf(cells, mixed, account, market)] - 1;
  }

  /** The row of a pair, which gets a new one if it has none. */
  rowOf(account: number, market: number): number {
    const mixed = mix(account, market);
    const cells = this.#cells[mixed >>> DIVISION_SHIFT];
    const known = cells[this.#cellOf(cells, mixed, account, market)];
    if (known !== 0) return known - 1;
    if (this.count === this.capacity) this.#growRows();
    const row = this.count++;
    this.accounts[row] = account;
    this.markets[row] = market;
    this.#add(row);
    return row;
  }

  /** Loads the rows of a snapshot. The two arrays are as long as the memory was then. */
  load(count: number, accounts: Uint32Array, markets: Uint32Array): void {
    assert(accounts.length === markets.length && count <= accounts.length, 'PAIRS-1: every row is a pair');
    this.count = count;
    this.accounts = accounts;
    this.markets = markets;
    this.#cells.fill(NO_CELLS);
    this.#counts.fill(0);
    for (let row = 0; row < count; row++) this.#add(row);
  }

  /** Asserts PAIRS-1 and PAIRS-2. */
  validate(): void {
    let inCells = 0;
    for (const [division, cells] of this.#cells.entries()) {
      const pairs = this.#counts[division];
      assert(pairs * 2 <= cells.length, 'PAIRS-2: at most half of the cells are in use');
      inCells += pairs;
    }
    assert(inCells === this.count, 'PAIRS-1: every row is in one division');
    for (let row = 0; row < this.count; row++) {
      assert(this.find(this.accounts[row], this.markets[row]) === row, 'PAIRS-1: a pair leads to its row');
    }
  }

  /** The cell of a pair, or the free cell where it would be stored. */
  #cellOf(cells: Uint32Array, mixed: number, account: number, market: number): number {
    const mask = cells.length - 1;
    let cell = (mixed ^ (mixed >>> 15)) & mask;
    for (;;) {
      const row = cells[cell] - 1;
      if (row < 0 || (this.accounts[row] === account && this.markets[row] === market)) return cell;
      cell = (cell + 1) & mask;
    }
  }

  /** Gives the newest row of a pair a cell. */
  #add(row: number): void {
    const [account, market] = [this.accounts[row], this.markets[row]];
    const mixed = mix(account, market);
    const division = mixed >>> DIVISION_SHIFT;
    if (++this.#counts[division] * 2 > this.#cells[division].length) this.#growCells(division);
    const cells = this.#cells[division];
    const cell = this.#cellOf(cells, mixed, account, market);
    assert(cells[cell] === 0, 'PAIRS-1: a new pair takes a free cell');
    cells[cell] = row + 1;
  }

  #growRows(): void {
    const { accounts, markets, capacity } = this;
    this.accounts = new Uint32Array(capacity * 2);
    this.markets = new Uint32Array(capacity * 2);
    this.accounts.set(accounts);
    this.markets.set(markets);
  }

  #growCells(division: number): void {
    const cells = this.#cells[division];
    const grown = new Uint32Array(Math.max(FIRST_CELLS, cells.length * 2));
    for (const used of cells) {
      if (used === 0) continue;
      const [account, market] = [this.accounts[used - 1], this.markets[used - 1]];
      grown[this.#cellOf(grown, mix(account, market), account, market)] = used;
    }
    this.#cells[division] = grown;
  }
}

/** Both numbers are small and dense, so two odd factors spread them well; the low bits need a fold. */
function mix(account: number, market: number): number {
  return Math.imul(account, 0x9e3779b1) ^ Math.imul(market, 0x85ebca6b);
}
