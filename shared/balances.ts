/**
 * Available USDC per account: one 64-bit cell each in memory that all shards share. It is the only state two shards
 * both write. The memory outlives the thread of a shard.
 *
 *   row 0       cells: what an account can still spend            one 64-bit integer each, every shard
 *   row 1 + k   applied: what shard k has added to each cell      one double each, only shard k
 *
 * Behind the MAX_ACCOUNTS cells of an applied row stands how many of them may be other than 0: `restore` need not walk
 * a million.
 *
 * A shard that is the only one needs no cell: what it has applied is all there is, so row 0 stays untouched, nothing is
 * atomic and nothing is allocated. Where there are several, an atomic operation on a 64-bit cell makes a bigint.
 *
 * Invariants:
 *   B1  A debit happens at once, by compare-and-swap, before the command that needs it is applied; a credit happens
 *       only after the journal transaction that holds it is durable. So whatever a crash takes away, money that was
 *       spent in one shard had durably arrived from another.
 *   B2  What an account can spend is the sum of what all shards have applied; of several, the cell holds it. When
 *       nothing is in flight, what a shard has applied is the account's net in that shard (ledger.ts).
 *   B3  A shard takes commands only after `restore`, which makes what it has applied equal to what its journal says.
 *       Until then the cells lack what the thread before it took for commands that were never committed, so the other
 *       shards may refuse too much in the meantime, never too little. At a start no shard gets a command before all
 *       have restored, because the net of one alone may be negative or include what another has spent.
 *   B4  `applied` goes down after the cell and up before it. A thread that ends between the two leaves the cell short
 *       by that one amount until the process ends, never with money that is not there.
 *   B5  No cell is negative while collateral is checked.
 */
import { MAX_ACCOUNTS } from './codes.ts';
import { addSafe } from './int.ts';

const TOUCHED = MAX_ACCOUNTS;
const ROW_BYTES = (MAX_ACCOUNTS + 1) * 8;

/** Rows that are never touched take no memory. */
export function createBalances(shards = 1): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + shards) * ROW_BYTES);
}

/** The cells as one shard sees and changes them. */
export class Balances {
  /** How many shards have a part of them. */
  readonly shards: number;
  readonly #cells: BigInt64Array;
  readonly #applied: Float64Array;
  /** No other shard has a row in this memory. */
  readonly #isAlone: boolean;

  constructor(buffer: SharedArrayBuffer, shard = 0) {
    this.shards = buffer.byteLength / ROW_BYTES - 1;
    this.#isAlone = this.shards === 1;
    this.#cells = new BigInt64Array(buffer, 0, MAX_ACCOUNTS);
    this.#applied = new Float64Array(buffer, (1 + shard) * ROW_BYTES, MAX_ACCOUNTS + 1);
  }

  availableMicro(account: number): number {
    if (this.#isAlone) return this.#applied[account]!;
    return Number(Atomics.load(this.#cells, account));
  }

  /** Takes the amount if it is all there; two shards after the same last dollar cannot both succeed. */
  tryDebit(account: number, micro: number): boolean {
    if (this.#isAlone ? this.#applied[account]! < micro : !this.#tryDebitCell(account, BigInt(micro))) return false;
    this.#note(account, -micro);
    return true;
  }

  /** Takes the amount whether it is there or not (collateral check off). */
  debit(account: number, micro: number): void {
    if (!this.#isAlone) Atomics.sub(this.#cells, account, BigInt(micro));
    this.#note(account, -micro);
  }

  credit(account: number, micro: number): void {
    this.#note(account, micro);
    if (!this.#isAlone) Atomics.add(this.#cells, account, BigInt(micro));
  }

  /** Makes this shard's part of every cell what it recovered (B3). Accounts beyond `netMicro` have no net. */
  restore(netMicro: Float64Array): void {
    const accounts = Math.max(netMicro.length, this.#applied[TOUCHED]!);
    for (let account = 0; account < accounts; account++) {
      const net = account < netMicro.length ? netMicro[account]! : 0;
      const missing = addSafe(net, -this.#applied[account]!);
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
    applied[account] = addSafe(applied[account]!, micro);
    if (account >= applied[TOUCHED]!) applied[TOUCHED] = account + 1;
  }
}
