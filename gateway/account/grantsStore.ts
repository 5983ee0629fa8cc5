/**
 * Grants: who may sign orders that a wallet pays for. In memory for the request path, written through to control.db.
 * Owner: the gateway thread. Addresses are 0x and 40 lowercase hex digits everywhere in here.
 *
 * Invariants:
 *   GRANTS-1  A pair of maker and signer has at most one grant in force. Its number is never reused, not even for the
 *             same pair: orders refer to it, and the number of a removed grant must not stand for a later one.
 *   GRANTS-2  A removal is durable before it is answered. Until every shard has cancelled the orders under it, it stays
 *             in the list of the unswept, across restarts.
 *   GRANTS-3  A grant that is removed and swept is deleted from control.db, because clients may add and remove any
 *             number. Only the row with the highest number stays until there is a higher one (GRANTS-1).
 */
import { assert } from '../../shared/base/assert.ts';
import { UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import { NO_WALLET, WalletTable } from './walletTable.ts';

export type Grant = { readonly number: number; readonly maker: string; readonly signer: string };

type GrantRow = Grant & { readonly removed_ms: number | null; readonly is_swept: number };

export class Grants {
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  /** They have the grants of wallets for themselves. */
  readonly #wallets: WalletTable;
  /** By maker and signer, only makers that have delegates. */
  readonly #delegates = new Map<string, Map<string, number>>();
  readonly #unswept = new Map<number, Grant>();
  #lastNumber = 0;
  readonly #insert;
  readonly #remove;
  readonly #setSwept;
  readonly #deleteSwept;
  readonly #select;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE, wallets = new WalletTable()) {
    this.#database = database;
    this.#changes = changes;
    this.#wallets = wallets;
    this.#insert = database.prepare<Grant>(
      'INSERT INTO grants (number, maker, signer) VALUES ($number, $maker, $signer)',
    );
    this.#remove = database.prepare<[number, number]>('UPDATE grants SET removed_ms = ? WHERE number = ?');
    this.#setSwept = database.prepare<[number]>('UPDATE grants SET is_swept = 1 WHERE number = ?');
    this.#deleteSwept = database.prepare<[number]>('DELETE FROM grants WHERE number = ? AND is_swept = 1');
    this.#select = database.prepare<[number], GrantRow>('SELECT * FROM grants WHERE number = ?');
    const all = database.prepare<[], GrantRow>('SELECT * FROM grants ORDER BY number');
    for (const row of all.iterate()) this.#load(row);
  }

  /** Reads these grants again. @returns the makers that they belong to */
  reload(changed: TakenRows): ReadonlySet<string> {
    const makers = new Set<string>();
    for (const [number, owner] of changed.keysOf('grants')) {
      const [key, maker] = [Number(number), String(owner)];
      makers.add(maker);
      this.#forget(key, maker);
      const row = this.#select.get(key);
      if (row !== undefined) this.#load(row);
    }
    return makers;
  }

  /** UNKNOWN_GRANT when the signer may not sign for the maker. */
  numberOf(maker: string, signer: string): number {
    if (maker !== signer) return this.#delegates.get(maker)?.get(signer) ?? UNKNOWN_GRANT;
    const wallet = this.#wallets.find(maker);
    return wallet === NO_WALLET ? UNKNOWN_GRANT : this.#wallets.grantOf(wallet);
  }

  /** True while the wallet is linked to its account. */
  isLinked(wallet: string): boolean {
    return this.numberOf(wallet, wallet) !== UNKNOWN_GRANT;
  }

  /** The delegates of a wallet. */
  delegatesOf(maker: string): string[] {
    return [...(this.#delegates.get(maker)?.keys() ?? [])];
  }

  /** Writes a new grant to control.db; `use` is called once the caller's transaction is durable. */
  insert(maker: string, signer: string): Grant {
    assert(this.numberOf(maker, signer) === UNKNOWN_GRANT, 'GRANTS-1: a pair has one grant in force');
    const grant = { number: this.#lastNumber + 1, maker, signer };
    this.#insert.run(grant);
    this.#deleteSwept.run(this.#lastNumber);
    return grant;
  }

  use({ number, maker, signer }: Grant): void {
    assert(number === this.#lastNumber + 1, 'GRANTS-1: a number is used once');
    this.#lastNumber = number;
    this.#enforce(number, maker, signer);
  }

  /** Removes the grant of this signer, or of every signer, from a wallet. @returns the removed grants */
  remove(maker: string, signer: string | null, nowMs: number): Grant[] {
    const signers = signer === null ? [maker, ...this.delegatesOf(maker)] : [signer];
    const removed = signers
      .map((each) => ({ number: this.numberOf(maker, each), maker, signer: each }))
      .filter(({ number }) => number !== UNKNOWN_GRANT);
    const write = this.#database.transaction(() => {
      for (const { number } of removed) this.#remove.run(nowMs, number);
    });
    this.#changes.write(write);
    for (const grant of removed) {
      this.#lift(maker, grant.signer);
      this.#unswept.set(grant.number, grant);
    }
    return removed;
  }

  /** Removed grants under which a shard may still have open orders. */
  unswept(): Grant[] {
    return [...this.#unswept.values()];
  }

  swept(number: number): void {
    const write = this.#database.transaction(() => {
      this.#setSwept.run(number);
      if (number < this.#lastNumber) this.#deleteSwept.run(number);
    });
    this.#changes.write(write);
    this.#unswept.delete(number);
  }

  #forget(number: number, maker: string): void {
    this.#unswept.delete(number);
    for (const signer of [maker, ...this.delegatesOf(maker)]) {
      if (this.numberOf(maker, signer) === number) this.#lift(maker, signer);
    }
  }

  #load({ number, maker, signer, removed_ms, is_swept }: GrantRow): void {
    this.#lastNumber = Math.max(this.#lastNumber, number);
    if (removed_ms === null) this.#enforce(number, maker, signer);
    else if (is_swept === 0) this.#unswept.set(number, { number, maker, signer });
  }

  #enforce(number: number, maker: string, signer: string): void {
    if (maker === signer) {
      this.#wallets.setGrant(this.#wallets.rowOf(maker), number);
      return;
    }
    const signers = this.#delegates.get(maker);
    if (signers === undefined) this.#delegates.set(maker, new Map([[signer, number]]));
    else signers.set(signer, number);
  }

  /** Ends a grant that is in force. */
  #lift(maker: string, signer: string): void {
    if (maker === signer) {
      this.#wallets.setGrant(this.#wallets.find(maker), UNKNOWN_GRANT);
      return;
    }
    const signers = this.#delegates.get(maker)!;
    signers.delete(signer);
    if (signers.size === 0) this.#delegates.delete(maker);
  }
}
