/**
 * Outcome tokens per (account, market): columns beside the rows of a table of pairs. Rows are never freed: a former
 * holder often comes back, and a row is only 60 bytes. Owner: the shard thread. Units: atomic tokens.
 *
 * Invariants (walked by core/invariants.ts):
 *   POSITIONS-1  reserved[row * 2 + outcome] is the sum of the tokens that the account's open SELL orders of that
 *                outcome hold in that market.
 *   POSITIONS-2  While collateral is checked, no order takes available[row * 2 + outcome] below 0. It may already be
 *                below 0 after trading without collateral.
 *   POSITIONS-3  firstOf(market) and nextOf(row) visit all rows of the market in ascending order, which is the order in
 *                which its holders first had or sold tokens.
 */
import { assert } from '../../shared/base/assert.ts';
import { NO_ROW, PairTable } from '../../shared/base/pairTable.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

export class Positions {
  readonly pairs = new PairTable();
  /** Two per row: index = row * 2 + outcome. */
  available: Float64Array = new Float64Array(this.pairs.capacity * 2);
  reserved: Float64Array = new Float64Array(this.pairs.capacity * 2);
  /** The number of the command that last touched the row (ledger.ts). */
  touched: Float64Array = new Float64Array(this.pairs.capacity);
  /** By row: the next row of the same market. Zero stands for none, because row 0 is never a next row. */
  #next = new Uint32Array(this.pairs.capacity);
  /** By market: its first row + 1, and its last row. */
  #first = new Uint32Array(64);
  #last = new Uint32Array(64);

  get count(): number {
    return this.pairs.count;
  }

  /** Returns the row of an account in a market, or NO_ROW if the account never held anything there. */
  find(account: number, market: number): number {
    return this.pairs.find(account, market);
  }

  /** Returns the row of an account in a market; makes it if there is none. */
  rowOf(account: number, market: number): number {
    const { count } = this.pairs;
    const row = this.pairs.rowOf(account, market);
    if (row < count) return row;
    if (row >= this.touched.length) this.#grow();
    this.#link(row, market);
    return row;
  }

  /** Returns the row of the market's first holder, or NO_ROW. */
  firstOf(market: number): number {
    return market < this.#first.length ? this.#first[market] - 1 : NO_ROW;
  }

  /** Returns the row of the next holder, or NO_ROW. */
  nextOf(row: number): number {
    assert(row >= 0 && row < this.count, 'POSITIONS-3: only a row has one after it');
    const next = this.#next[row];
    return next === 0 ? NO_ROW : next;
  }

  validate(): void {
    this.pairs.validate();
    assert(this.available.length === this.pairs.capacity * 2, 'POSITIONS-1: a row has two cells of available tokens');
    assert(this.reserved.length === this.pairs.capacity * 2, 'POSITIONS-1: a row has two cells of reserved tokens');
    for (let cell = this.count * 2; cell < this.available.length; cell++) {
      assert(this.available[cell] === 0 && this.reserved[cell] === 0, 'POSITIONS-1: an unused row holds nothing');
    }
    let linked = 0;
    for (let market = 0; market < this.#first.length; market++) {
      for (let row = this.firstOf(market); row !== NO_ROW; row = this.nextOf(row)) {
        assert(this.pairs.markets[row] === market, 'POSITIONS-3: a market leads to its own rows');
        const next = this.nextOf(row);
        assert(next === NO_ROW ? this.#last[market] === row : next > row, 'POSITIONS-3: rows of a market ascend');
        linked++;
      }
    }
    assert(linked === this.count, 'POSITIONS-3: every row belongs to the list of its market');
  }

  persist(io: SnapshotIo): void {
    const count = io.number(this.count);
    const accounts = io.u32(this.pairs.accounts);
    const markets = io.u32(this.pairs.markets);
    const isRead = accounts !== this.pairs.accounts;
    if (isRead) this.pairs.load(count, accounts, markets);
    this.available = io.f64(this.available);
    this.reserved = io.f64(this.reserved);
    this.touched = new Float64Array(this.pairs.capacity);
    if (!isRead) return;
    this.#next = new Uint32Array(this.pairs.capacity);
    for (let row = 0; row < count; row++) this.#link(row, this.pairs.markets[row]);
  }

  #link(row: number, market: number): void {
    if (market >= this.#first.length) {
      let n = this.#first.length * 2;
      while (n <= market) n *= 2;
      this.#first = extend(this.#first, new Uint32Array(n));
      this.#last = extend(this.#last, new Uint32Array(n));
    }
    if (this.#first[market] === 0) this.#first[market] = row + 1;
    else this.#next[this.#last[market]] = row;
    this.#last[market] = row;
  }

  #grow(): void {
    const n = this.pairs.capacity;
    this.available = extend(this.available, new Float64Array(n * 2));
    this.reserved = extend(this.reserved, new Float64Array(n * 2));
    this.touched = extend(this.touched, new Float64Array(n));
    this.#next = extend(this.#next, new Uint32Array(n));
  }
}
