/**
 * Available USDC of every account: one 64-bit cell each, in memory that all shards share. It is the only state that
 * several shards write. The memory outlives the thread of a shard.
 *
 *   row 0       cells: available USDC of each account             one 64-bit integer each, written by every shard
 *   row 1 + k   applied: the sum shard k has added to each cell   one double each, written by shard k
 *
 * The memory has a part of every row for 8,192 accounts, then one for the next, and grows by such parts when an account
 * beyond them is used. Addresses for MAX_ACCOUNTS are reserved, which takes no memory, so that all threads go on with
 * the same buffer. Before the first part, shard k has the number of its cells that may differ from 0, so that `restore`
 * need not visit all.
 *
 * A single shard needs no cells: its applied row is the balance, so there is no row 0, nothing is atomic and nothing is
 * allocated. With several shards, every atomic operation on a 64-bit cell allocates a bigint.
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

const PART_SHIFT = 13;
const PART = 1 << PART_SHIFT;
/** The numbers that several threads write are as far apart as the lines of a processor's cache. */
const LINE_WORDS = 8;

/** In words of 64 bits. */
const headWords = (shards: number): number => (1 + shards) * LINE_WORDS;
const partWords = (shards: number): number => rowsOf(shards) * PART;
const rowsOf = (shards: number): number => (shards === 1 ? 1 : 1 + shards);

/** Memory for MAX_ACCOUNTS, of which only what is used exists. */
export function createBalances(shards = 1): SharedArrayBuffer {
  const bytesOf = (parts: number): number => (headWords(shards) + parts * partWords(shards)) * 8;
  const buffer = new SharedArrayBuffer(bytesOf(1), { maxByteLength: bytesOf(MAX_ACCOUNTS / PART) });
  new Float64Array(buffer)[0] = shards;
  return buffer;
}

/** The cells, read and changed by one shard. */
export class Balances {
  /** The number of shards that share the cells. */
  readonly shards: number;
  readonly #buffer: SharedArrayBuffer;
  readonly #partWords: number;
  /** Where the row of this shard, and where its head begins. */
  readonly #firstApplied: number;
  readonly #firstCell: number;
  readonly #touched: number;
  /** True if no other shard has a row in this memory. */
  readonly #isAlone: boolean;
  /** The accounts of the parts that this thread has seen. */
  #accounts = 0;
  /** The same memory; a row is in pieces. */
  #cells: BigInt64Array;
  #applied: Float64Array;

  constructor(buffer: SharedArrayBuffer, shard = 0) {
    this.shards = new Float64Array(buffer, 0, 1)[0];
    this.#buffer = buffer;
    this.#partWords = partWords(this.shards);
    this.#isAlone = this.shards === 1;
    this.#firstCell = headWords(this.shards);
    this.#firstApplied = this.#firstCell + (this.#isAlone ? 0 : (1 + shard) * PART);
    this.#touched = (1 + shard) * LINE_WORDS;
    [this.#cells, this.#applied] = this.#views();
  }

  availableMicro(account: number): number {
    const at = this.#placeOf(account);
    if (this.#isAlone) return this.#applied[this.#firstApplied + at];
    return Number(Atomics.load(this.#cells, this.#firstCell + at));
  }

  /** Debits the amount if all of it is available; if two shards need the same last dollar, only one succeeds. */
  tryDebit(account: number, micro: number): boolean {
    const at = this.#placeOf(account);
    const isThere = this.#isAlone
      ? this.#applied[this.#firstApplied + at] >= micro
      : this.#tryDebitCell(this.#firstCell + at, BigInt(micro));
    if (!isThere) return false;
    this.#note(account, at, -micro);
    return true;
  }

  /** Debits the amount whether it is available or not (collateral check off). */
  debit(account: number, micro: number): void {
    const at = this.#placeOf(account);
    if (!this.#isAlone) Atomics.sub(this.#cells, this.#firstCell + at, BigInt(micro));
    this.#note(account, at, -micro);
  }

  credit(account: number, micro: number): void {
    const at = this.#placeOf(account);
    this.#note(account, at, micro);
    if (!this.#isAlone) Atomics.add(this.#cells, this.#firstCell + at, BigInt(micro));
  }

  /** Sets this shard's part of every cell to the recovered net (BALANCES-3). Accounts beyond `netMicro` have no net. */
  restore(netMicro: Float64Array): void {
    let known = netMicro.length;
    while (known > 0 && netMicro[known - 1] === 0) known--;
    const accounts = Math.max(known, this.#applied[this.#touched]);
    for (let account = 0; account < accounts; account++) {
      const net = account < known ? netMicro[account] : 0;
      const at = this.#placeOf(account);
      const missing = addSafe(net, -this.#applied[this.#firstApplied + at]);
      if (missing > 0) this.credit(account, missing);
      else if (missing < 0) this.debit(account, -missing);
    }
  }

  /** Where the account is in its row, counted from the first account's place. */
  #placeOf(account: number): number {
    if (account >= this.#accounts) this.#reach(account);
    return (account >>> PART_SHIFT) * this.#partWords + (account & (PART - 1));
  }

  /** Makes sure that the account has cells; another thread may do the same. */
  #reach(account: number): void {
    assert(account >= 0 && account < MAX_ACCOUNTS, 'balances: an account has a cell');
    const bytes = (headWords(this.shards) + ((account >>> PART_SHIFT) + 1) * this.#partWords) * 8;
    try {
      if (this.#buffer.byteLength < bytes) this.#buffer.grow(bytes);
    } catch (error) {
      // A thread that was faster has made it longer.
      if (this.#buffer.byteLength < bytes) throw error;
    }
    [this.#cells, this.#applied] = this.#views();
  }

  /** Of a fixed length, because V8 is slow with views that grow. */
  #views(): [BigInt64Array, Float64Array] {
    const words = this.#buffer.byteLength / 8;
    this.#accounts = ((words - headWords(this.shards)) / this.#partWords) * PART;
    return [new BigInt64Array(this.#buffer, 0, words), new Float64Array(this.#buffer, 0, words)];
  }

  #tryDebitCell(at: number, amount: bigint): boolean {
    let seen = Atomics.load(this.#cells, at);
    for (;;) {
      if (seen < amount) return false;
      const found = Atomics.compareExchange(this.#cells, at, seen, seen - amount);
      if (found === seen) return true;
      seen = found;
    }
  }

  #note(account: number, at: number, micro: number): void {
    const applied = this.#applied;
    applied[this.#firstApplied + at] = addSafe(applied[this.#firstApplied + at], micro);
    if (account >= applied[this.#touched]) applied[this.#touched] = account + 1;
  }
}
