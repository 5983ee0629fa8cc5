/**
 * Available USDC of every account: one 64-bit cell each, in memory that all shards share. It is the only state that
 * several shards write. The memory outlives the thread of a shard.
 *
 *   row 0       cells: available USDC of each account             one 64-bit integer each, written by every shard
 *   row 1 + k   applied: the sum shard k has added to each cell   one double each, written by shard k
 *
 * After its MAX_ACCOUNTS cells an applied row has the number of cells that may differ from 0, so that `restore` need
 * not visit a million.
 *
 * A single shard needs no cells: its applied row is the balance, so row 0 stays untouched, nothing is atomic and
 * nothing is allocated. With several shards, every atomic operation on a 64-bit cell allocates a bigint.
 *
 * Invariants:
 *   BALANCES-1  A debit is applied at once, by compare-and-swap, before the command that needs it; a credit is applied
 *               only after its record is held: durable in the journal, and in a cluster in the replicated log as well.
 *               So money that was spent in one shard had durably arrived from another, whatever a crash destroys.
 *   BALANCES-2  The available USDC of an account is the sum of all applied rows; with several shards, its cell holds
 *               that sum. When nothing is in flight, applied is the account's net in that shard (ledger.ts).
 *   BALANCES-3  A shard accepts commands only after `restore`, which makes applied equal to the net of its journal.
 *               Until then the cells lack the debits of its former thread for commands that were never committed, so
 *               the other shards may refuse too much meanwhile, never too little. At a start no shard gets a command
 *               before all have restored, because the net of one alone may be negative or include money that
 *               another has spent.
 *   BALANCES-4  `applied` is decreased after the cell and increased before it. A thread that ends between the two
 *               leaves the cell too low by that one amount until the process ends, never too high.
 *   BALANCES-5  No cell is negative while collateral is checked.
 */
import { assert } from '../base/assert.ts';
import { MAX_ACCOUNTS } from '../base/codes.ts';
import { addSafe } from '../base/int.ts';

const TOUCHED = MAX_ACCOUNTS;
const ROW_BYTES = (MAX_ACCOUNTS + 1) * 8;

/** Rows that are never written need no memory. */
export function createBalances(shards = 1): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + shards) * ROW_BYTES);
}

/** The cells, read and changed by one shard. */
export class Balances {
  /** The number of shards that share the cells. */
  readonly shards: number;
  readonly #cells: BigInt64Array;
  readonly #applied: Float64Array;
  /** True if no other shard has a row in this memory. */
  readonly #isAlone: boolean;

  constructor(buffer: SharedArrayBuffer, shard = 0) {
    this.shards = buffer.byteLength / ROW_BYTES - 1;
    this.#isAlone = this.shards === 1;
    this.#cells = new BigInt64Array(buffer, 0, MAX_ACCOUNTS);
    this.#applied = new Float64Array(buffer, (1 + shard) * ROW_BYTES, MAX_ACCOUNTS + 1);
  }

  availableMicro(account: number): number {
    if (this.#isAlone) return this.#applied[account];
    return Number(Atomics.load(this.#cells, account));
  }

  /** Debits the amount if all of it is available; if two shards need the same last dollar, only one succeeds. */
  tryDebit(account: number, micro: number): boolean {
    if (this.#isAlone ? this.#applied[account] < micro : !this.#tryDebitCell(account, BigInt(micro))) return false;
    this.#note(account, -micro);
    return true;
  }

  /** Debits the amount whether it is available or not (collateral check off). */
  debit(account: number, micro: number): void {
    if (!this.#isAlone) Atomics.sub(this.#cells, account, BigInt(micro));
    this.#note(account, -micro);
  }

  credit(account: number, micro: number): void {
    this.#note(account, micro);
    if (!this.#isAlone) Atomics.add(this.#cells, account, BigInt(micro));
  }

  /** Sets this shard's part of every cell to the recovered net (BALANCES-3). Accounts beyond `netMicro` have no net. */
  restore(netMicro: Float64Array): void {
    const accounts = Math.max(netMicro.length, this.#applied[TOUCHED]);
    for (let account = 0; account < accounts; account++) {
      const net = account < netMicro.length ? netMicro[account] : 0;
      const missing = addSafe(net, -this.#applied[account]);
      if (missing > 0) this.credit(account, missing);
      else if (missing < 0) this.debit(account, -missing);
    }
  }

  #tryDebitCell(account: number, amount: bigint): boolean {
    let seen = Atomics.load(this.#cells, account);
    for (;;) {
      if (seen < amount) return false;
      const found = Atomics.compareExchange(this.#cells, account, seen, seen - amount);
      if (found === seen) return true;
      seen = found;
    }
  }

  #note(account: number, micro: number): void {
    const applied = this.#applied;
    assert(account >= 0 && account < MAX_ACCOUNTS, 'balances: an account has a cell');
    applied[account] = addSafe(applied[account], micro);
    if (account >= applied[TOUCHED]) applied[TOUCHED] = account + 1;
  }
}
