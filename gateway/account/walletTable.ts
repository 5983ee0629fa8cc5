/**
 * The wallets that accounts ever had, over typed arrays: an exchange may have tens of millions, and they are searched
 * for each order. A wallet takes some 50 bytes. Addresses are 0x and 40 lowercase hex digits. Owner: the gateway
 * thread.
 *
 * Strangers choose their addresses, so the place of one is a hash under a key of this process. The cells are divided
 * by the first bits of that hash: when a division is full, only its own wallets find new cells, which takes a few
 * milliseconds at most.
 *
 * Invariants:
 *   WALLETTABLE-1  A wallet has one row for ever. At most half of the cells of a division are in use.
 *   WALLETTABLE-2  The wallets of an account form a chain, in the order in which they came to it.
 */
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, toHex, tryParseHex } from '../../shared/base/hex.ts';
import { KeyedHash } from '../../shared/base/keyedHash.ts';
import { PartedWords } from '../../shared/base/partedWords.ts';

/** The result of a search that finds nothing. */
export const NO_WALLET = -1;

const ADDRESS_WORDS = ADDRESS_BYTES / 4;
/** The words of a row: its address, then these. */
const OWNER = 5;
const GRANT = 6;
const NEXT = 7;
const ROW_WORDS = 8;

const DIVISION_BITS = 10;
const FIRST_CELLS = 16;

const asked = new Uint32Array(ADDRESS_WORDS);
const askedBytes = new Uint8Array(asked.buffer);

export class WalletTable {
  #count = 0;
  readonly #rows = new PartedWords();
  /** By account: row + 1 of its first wallet. */
  readonly #first = new PartedWords();
  /** By division: row + 1, or 0 for a free cell. */
  readonly #cells: Uint32Array[] = Array.from({ length: 1 << DIVISION_BITS }, () => new Uint32Array(FIRST_CELLS));
  readonly #counts = new Uint32Array(1 << DIVISION_BITS);
  readonly #hash: KeyedHash;

  /** @param hash only tests pass it */
  constructor(hash = new KeyedHash()) {
    this.#hash = hash;
  }

  get count(): number {
    return this.#count;
  }

  /** The row of a wallet, or NO_WALLET. */
  find(address: string): number {
    if (!tryParseHex(address, ADDRESS_BYTES, askedBytes, 0)) return NO_WALLET;
    const hash = this.#hash.of(asked, 0);
    const cells = this.#cells[hash >>> (32 - DIVISION_BITS)];
    return cells[this.#cellOf(cells, hash)] - 1;
  }

  /** The row of a wallet, which gets a new one without owner and grant if it has none. */
  rowOf(address: string): number {
    const isAddress = tryParseHex(address, ADDRESS_BYTES, askedBytes, 0);
    assert(isAddress, 'WALLETTABLE-1: a wallet is an address');
    const hash = this.#hash.of(asked, 0);
    const division = hash >>> (32 - DIVISION_BITS);
    const cells = this.#cells[division];
    const cell = this.#cellOf(cells, hash);
    if (cells[cell] !== 0) return cells[cell] - 1;
    const row = this.#count++;
    this.#rows.partOf(row * ROW_WORDS).set(asked, PartedWords.placeOf(row * ROW_WORDS));
    cells[cell] = row + 1;
    if (++this.#counts[division] * 2 > cells.length) this.#grow(division);
    return row;
  }

  addressOf(row: number): string {
    const part = this.#rows.partOf(row * ROW_WORDS);
    return toHex(new Uint8Array(part.buffer), PartedWords.placeOf(row * ROW_WORDS) * 4, ADDRESS_BYTES);
  }

  /** The account index; 0 while the wallet belongs to none. */
  ownerOf(row: number): number {
    return this.#rows.get(row * ROW_WORDS + OWNER);
  }

  /** The number of the grant under which the wallet signs for itself; 0 while it is not linked. */
  grantOf(row: number): number {
    return this.#rows.get(row * ROW_WORDS + GRANT);
  }

  setGrant(row: number, number: number): void {
    this.#rows.set(row * ROW_WORDS + GRANT, number);
  }

  /** Gives a wallet to an account, as its last one. */
  own(row: number, account: number): void {
    const owner = this.ownerOf(row);
    if (owner === account) return;
    assert(owner === 0 && account !== 0, 'ACCOUNTS-2: a wallet belongs to one account for ever');
    this.#rows.set(row * ROW_WORDS + OWNER, account);
    const rows = this.of(account);
    const last = rows.at(-1);
    if (last === undefined) this.#first.set(account, row + 1);
    else this.#rows.set(last * ROW_WORDS + NEXT, row + 1);
  }

  /** The row of the account's first wallet, or NO_WALLET. */
  firstOf(account: number): number {
    return this.#first.get(account) - 1;
  }

  /** The rows of the account's wallets (WALLETTABLE-2). */
  of(account: number): number[] {
    const rows: number[] = [];
    for (let row = this.firstOf(account); row !== NO_WALLET; ) {
      rows.push(row);
      row = this.#rows.get(row * ROW_WORDS + NEXT) - 1;
    }
    return rows;
  }

  /** The cell of the address in `asked`, or the free cell where it would be stored. */
  #cellOf(cells: Uint32Array, hash: number): number {
    const mask = cells.length - 1;
    for (let cell = hash & mask; ; cell = (cell + 1) & mask) {
      if (cells[cell] === 0) return cell;
      const at = (cells[cell] - 1) * ROW_WORDS;
      const part = this.#rows.partOf(at);
      const place = PartedWords.placeOf(at);
      let differences = 0;
      for (let i = 0; i < ADDRESS_WORDS; i++) differences |= part[place + i] ^ asked[i];
      if (differences === 0) return cell;
    }
  }

  #grow(division: number): void {
    const cells = this.#cells[division];
    const grown = new Uint32Array(cells.length * 2);
    const mask = grown.length - 1;
    for (const used of cells) {
      if (used === 0) continue;
      const at = (used - 1) * ROW_WORDS;
      let cell = this.#hash.of(this.#rows.partOf(at), PartedWords.placeOf(at)) & mask;
      while (grown[cell] !== 0) cell = (cell + 1) & mask;
      grown[cell] = used;
    }
    this.#cells[division] = grown;
  }
}
