/**
 * Available USDC per account: one 64-bit cell each in memory that all shards share. It is the only state two shards
 * both write, and the only place where bigint touches the hot path.
 *
 * Invariants:
 *   B1  A debit happens at once, by compare-and-swap, before the command that needs it is applied; a credit happens
 *       only after the journal transaction that holds it is durable. So whatever a crash takes away, money that was
 *       spent in one shard had durably arrived from another.
 *   B2  When nothing is in flight, a cell is the sum over shards of the account's net (ledger.ts). At start the cells
 *       are made from exactly that sum.
 *   B3  No cell is negative while collateral is checked.
 */
import { MAX_ACCOUNTS } from './codes.ts';

export function createBalances(): SharedArrayBuffer {
  return new SharedArrayBuffer(MAX_ACCOUNTS * 8);
}

export class Balances {
  readonly #cells: BigInt64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(buffer);
  }

  availableMicro(account: number): number {
    return Number(Atomics.load(this.#cells, account));
  }

  /** Takes the amount if it is all there; two shards after the same last dollar cannot both succeed. */
  tryDebit(account: number, micro: number): boolean {
    const amount = BigInt(micro);
    let seen = Atomics.load(this.#cells, account);
    for (;;) {
      if (seen < amount) return false;
      const found = Atomics.compareExchange(this.#cells, account, seen, seen - amount);
      if (found === seen) return true;
      seen = found;
    }
  }

  /** Takes the amount whether it is there or not (collateral check off). */
  debit(account: number, micro: number): void {
    Atomics.sub(this.#cells, account, BigInt(micro));
  }

  credit(account: number, micro: number): void {
    Atomics.add(this.#cells, account, BigInt(micro));
  }

  /** Start-up only, before any shard takes commands (B2). */
  set(account: number, micro: number): void {
    Atomics.store(this.#cells, account, BigInt(micro));
  }
}
