/**
 * The floor under the signed nonce of the orders of a wallet (RULES.md 5.12): an order below it is refused, for ever.
 * A wallet belongs to one account for ever, so its floor is found by account; it stays when the wallet is unlinked.
 * Owner: the shard thread.
 *
 * Invariants (walked by core/invariants.ts):
 *   NONCEFLOORS-1  A floor never falls.
 *   NONCEFLOORS-2  highest[account] is the highest floor of the wallets of the account: an order with at least this
 *                  nonce needs no other look.
 *   NONCEFLOORS-3  No open order is signed with a nonce below the floor of its maker.
 */
import { assert } from '../../shared/base/assert.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

/** An address of 20 bytes as words. */
export const ADDRESS_WORDS = 5;
/** For a wallet without a floor: its orders may have any nonce. */
export const NO_FLOOR = 0;

export type NonceFloor = { readonly account: number; readonly wallet: Uint32Array; floor: number };

export class NonceFloors {
  /** By account; may be shorter than the number of accounts. */
  #highest = new Float64Array(0);
  readonly #ofAccount = new Map<number, NonceFloor[]>();

  /**
   * Returns true if the nonce may be below a floor of the account. Every order is checked, so this is one comparison.
   */
  mayBeBelow(account: number, nonce: number): boolean {
    return account < this.#highest.length && nonce < this.#highest[account];
  }

  /** The floor of the wallet whose address starts at `word`. */
  of(account: number, words: Uint32Array, word: number): number {
    return this.#find(account, words, word)?.floor ?? NO_FLOOR;
  }

  raise(account: number, words: Uint32Array, word: number, floor: number): NonceFloor {
    const known = this.#find(account, words, word);
    assert(floor > (known?.floor ?? NO_FLOOR), 'NONCEFLOORS-1: a floor never sinks');
    const row = known ?? this.#add({ account, wallet: words.slice(word, word + ADDRESS_WORDS), floor });
    row.floor = floor;
    this.#highest[account] = Math.max(this.#highest[account], floor);
    return row;
  }

  *all(): Generator<NonceFloor> {
    for (const rows of this.#ofAccount.values()) yield* rows;
  }

  persist(io: SnapshotIo): void {
    const rows = [...this.all()];
    const accounts = io.u32(Uint32Array.from(rows, ({ account }) => account));
    const wallets = io.u32(Uint32Array.from(rows.flatMap(({ wallet }) => [...wallet])));
    const floors = io.f64(Float64Array.from(rows, ({ floor }) => floor));
    if (rows.length > 0) return;
    for (const [index, account] of accounts.entries())
      this.raise(account, wallets, index * ADDRESS_WORDS, floors[index]);
  }

  validate(): void {
    const highest = new Map<number, number>();
    const seen = new Set<string>();
    for (const { account, floor, wallet } of this.all()) {
      highest.set(account, Math.max(highest.get(account) ?? 0, floor));
      seen.add(`${account} ${wallet.join()}`);
    }
    assert(seen.size === [...this.all()].length, 'NONCEFLOORS-1: a wallet has one floor');
    for (const [account, floor] of this.#highest.entries())
      assert(floor === (highest.get(account) ?? 0), 'NONCEFLOORS-2: the highest floor of an account is known');
  }

  #find(account: number, words: Uint32Array, word: number): NonceFloor | undefined {
    return this.#ofAccount.get(account)?.find(({ wallet }) => wallet.every((each, i) => each === words[word + i]));
  }

  #add(row: NonceFloor): NonceFloor {
    const { account } = row;
    if (account >= this.#highest.length) {
      const longer = new Float64Array(Math.max(64, 2 ** Math.ceil(Math.log2(account + 1))));
      longer.set(this.#highest);
      this.#highest = longer;
    }
    const rows = this.#ofAccount.get(account);
    if (rows === undefined) this.#ofAccount.set(account, [row]);
    else rows.push(row);
    return row;
  }
}
