/**
 * The bound that keeps every sum exact in trading without collateral (RULES.md 3.2): everything that the shard's
 * accounts have and owe (USDC and tokens, available and reserved), added up without signs. Owner: the shard thread.
 *
 * While orders must be covered, the amount of money bounds every sum. Without cover an account may accumulate tokens
 * that others sell on credit, so this one total is bounded instead, and with it every sum of its parts: an account's
 * net, a position, the fees, a level (its orders reserve at least a micro a lot), a market's collateral (its Yes
 * tokens), and what is left of the collateral anywhere in a settlement (the worth of the tokens not paid yet).
 *
 * The most by which one command can change the total, including all its consequences:
 *   order over T tokens   4 T: its reservation leaves one side of its account and enters the other (2 T), its fills
 *                         bring it at most T, and those of its makers at most T again; fees are parts of these
 *   split of A            3 A: A of USDC owed, A tokens of each outcome
 *   deposit, withdrawal   its amount
 *   anything else         nothing: cancels, expiries, merges and payouts turn parts into parts that are no larger,
 *                         except for a micro that rounding adds to a debt; the bound has room for 7 * 10^12 of those
 *
 * Invariants (walked by core/invariants.ts):
 *   BOUND-1  total = sum of |netMicro| + reservedMicro over all accounts, plus the sum of |available| + reserved over
 *            all positions.
 */
import { assert } from '../../shared/base/assert.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import { larger } from '../base/columns.ts';
import type { Ledger } from '../money/ledger.ts';

/** Below 2^53 - 1, so that also the sums over all shards are exact. */
const LIMIT = 9e15;
assert(LIMIT < MAX_SAFE, 'BOUND-1: the bound is a safe integer');

export const ORDER_WEIGHT = 4;
export const SPLIT_WEIGHT = 3;

export class ExactBound {
  total = 0;
  readonly #limit: number;
  readonly #ledger: Ledger;
  #accounts = new Float64Array(64);
  #rows = new Float64Array(64);

  /** @param shards the number of shards that share the bound */
  constructor(ledger: Ledger, shards: number) {
    this.#ledger = ledger;
    this.#limit = Math.floor(LIMIT / shards);
  }

  /** The amount that a command may still add. */
  get room(): number {
    return Math.max(0, this.#limit - this.total);
  }

  /**
   * Updates the total for the accounts and positions that the current command touched. Positions come first: a merge or
   * payout removes their tokens before it adds their value, so the total stays exact in between.
   */
  update(): void {
    const { touchedAccounts, touchedAccountCount, touchedRows, touchedRowCount } = this.#ledger;
    for (let i = 0; i < touchedRowCount; i++) this.#row(touchedRows[i]);
    for (let i = 0; i < touchedAccountCount; i++) this.#account(touchedAccounts[i]);
  }

  /** Recomputes the total from scratch, after a snapshot was read. */
  rebuild(): void {
    for (let account = 0; account < this.#ledger.accountCapacity; account++) this.#account(account);
    for (let row = 0; row < this.#ledger.positions.count; row++) this.#row(row);
  }

  #account(account: number): void {
    if (account >= this.#accounts.length) this.#accounts = larger(this.#accounts, account, newColumn);
    const { netMicro, reservedMicro } = this.#ledger;
    const now = Math.abs(netMicro[account]) + reservedMicro[account];
    this.total += now - this.#accounts[account];
    this.#accounts[account] = now;
  }

  #row(row: number): void {
    if (row >= this.#rows.length) this.#rows = larger(this.#rows, row, newColumn);
    const { available, reserved } = this.#ledger.positions;
    let now = 0;
    for (let cell = row * 2; cell < row * 2 + 2; cell++) now += Math.abs(available[cell]) + reserved[cell];
    this.total += now - this.#rows[row];
    this.#rows[row] = now;
  }
}

function newColumn(length: number): Float64Array<ArrayBuffer> {
  return new Float64Array(length);
}
