/**
 * Outcome tokens per (account, market): columns beside the rows of a table of pairs. Rows are never freed: a holder of
 * a market tends to come back, and a row is 56 bytes. Owner: the shard thread. Units: atomic tokens.
 *
 * Invariants (walked by core/invariants.ts):
 *   POSITIONS-1  reserved[row * 2 + outcome] is the sum of the tokens that the account's open SELL orders of that
 *                outcome hold in that market.
 *   POSITIONS-2  While collateral is checked, no order takes available[row * 2 + outcome] below 0. It may stand below 0
 *                since a rehearsal in which collateral was not checked.
 */
import { assert } from '../../shared/base/assert.ts';
import { PairTable } from '../../shared/base/pairTable.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

export class Positions {
  readonly pairs = new PairTable();
  /** Two per row: index = row * 2 + outcome. */
  available: Float64Array = new Float64Array(this.pairs.capacity * 2);
  reserved: Float64Array = new Float64Array(this.pairs.capacity * 2);
  /** Number of the command that last touched the row (ledger.ts). */
  touched: Float64Array = new Float64Array(this.pairs.capacity);

  get count(): number {
    return this.pairs.count;
  }

  /** The row of an account in a market, or NO_ROW when it never held anything there. */
  find(account: number, market: number): number {
    return this.pairs.find(account, market);
  }

  /** The row of an account in a market; it is made if there is none. */
  rowOf(account: number, market: number): number {
    const row = this.pairs.rowOf(account, market);
    if (row >= this.touched.length) this.#grow();
    return row;
  }

  validate(): void {
    this.pairs.validate();
    assert(this.available.length === this.pairs.capacity * 2, 'POSITIONS-1: a row has two cells of available tokens');
    assert(this.reserved.length === this.pairs.capacity * 2, 'POSITIONS-1: a row has two cells of reserved tokens');
    for (let cell = this.count * 2; cell < this.available.length; cell++) {
      assert(this.available[cell] === 0 && this.reserved[cell] === 0, 'POSITIONS-1: an unused row holds nothing');
    }
  }

  persist(io: SnapshotIo): void {
    const count = io.number(this.count);
    const accounts = io.u32(this.pairs.accounts);
    const markets = io.u32(this.pairs.markets);
    if (accounts !== this.pairs.accounts) this.pairs.load(count, accounts, markets);
    this.available = io.f64(this.available);
    this.reserved = io.f64(this.reserved);
    this.touched = new Float64Array(this.pairs.capacity);
  }

  #grow(): void {
    const n = this.pairs.capacity;
    this.available = extend(this.available, new Float64Array(n * 2));
    this.reserved = extend(this.reserved, new Float64Array(n * 2));
    this.touched = extend(this.touched, new Float64Array(n));
  }
}
