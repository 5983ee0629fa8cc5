/**
 * Outcome tokens per (account, market): pooled rows found through an open-addressing table of two 32-bit keys. Rows are
 * never freed: a holder of a market tends to come back, and a row is 56 bytes.
 * Owner: the shard thread. Units: atomic tokens.
 *
 * Invariant P1: reserved[yes|no] is the sum of tokens the account's open SELL orders of that outcome hold.
 */
import { extend } from './columns.ts';
import type { SnapshotIo } from './snapshotIo.ts';

const FREE = -1;

export class Positions {
  count = 0;
  account: Uint32Array;
  market: Uint32Array;
  /** Two per row: index = row * 2 + outcome. Available may be negative only with the collateral check off. */
  available: Float64Array;
  reserved: Float64Array;
  /** Number of the command that last touched the row (ledger.ts). */
  touched: Float64Array;
  #table: Int32Array;

  constructor(initialCapacity = 1024) {
    this.account = new Uint32Array(initialCapacity);
    this.market = new Uint32Array(initialCapacity);
    this.available = new Float64Array(initialCapacity * 2);
    this.reserved = new Float64Array(initialCapacity * 2);
    this.touched = new Float64Array(initialCapacity);
    this.#table = new Int32Array(initialCapacity * 2).fill(FREE);
  }

  /** The row of an account in a market, or -1 when it never held anything there. */
  find(account: number, market: number): number {
    return this.#table[this.#probe(account, market)]!;
  }

  /** The row of an account in a market, made when it is the first time. */
  rowOf(account: number, market: number): number {
    const found = this.#table[this.#probe(account, market)]!;
    if (found !== FREE) return found;
    if (this.count === this.account.length) this.#grow();
    const row = this.count++;
    this.account[row] = account;
    this.market[row] = market;
    this.#table[this.#probe(account, market)] = row;
    return row;
  }

  persist(io: SnapshotIo): void {
    this.count = io.number(this.count);
    this.account = io.u32(this.account);
    this.market = io.u32(this.market);
    this.available = io.f64(this.available);
    this.reserved = io.f64(this.reserved);
    this.touched = new Float64Array(this.account.length);
    this.#index();
  }

  #probe(account: number, market: number): number {
    const mask = this.#table.length - 1;
    let index = (Math.imul(account, 0x9e3779b1) ^ Math.imul(market, 0x85ebca6b)) & mask;
    for (;;) {
      const row = this.#table[index]!;
      if (row === FREE || (this.account[row] === account && this.market[row] === market)) return index;
      index = (index + 1) & mask;
    }
  }

  #grow(): void {
    const n = this.account.length * 2;
    this.account = extend(this.account, new Uint32Array(n));
    this.market = extend(this.market, new Uint32Array(n));
    this.available = extend(this.available, new Float64Array(n * 2));
    this.reserved = extend(this.reserved, new Float64Array(n * 2));
    this.touched = extend(this.touched, new Float64Array(n));
    this.#index();
  }

  #index(): void {
    this.#table = new Int32Array(this.account.length * 2).fill(FREE);
    for (let row = 0; row < this.count; row++) {
      this.#table[this.#probe(this.account[row]!, this.market[row]!)] = row;
    }
  }
}
