/**
 * The bounds on the open orders of accounts (RULES.md 2.11): those of the configuration, or those that the
 * administrator has set for the account.
 * Owner: the gateway thread; in memory, written through to control.db.
 */
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';

type OpenOrderBounds = {
  readonly inAll: number;
  readonly inMarket: number;
};
/** Null: the bound of the configuration. */
type OwnBounds = { readonly [K in keyof OpenOrderBounds]: number | null };

type BoundsRow = { account_index: number; in_all: number | null; in_market: number | null };

export class OpenOrderBoundsStore {
  readonly #usual: OpenOrderBounds;
  readonly #own = new Map<number, OwnBounds>();
  readonly #replace;
  readonly #select;

  constructor(database: ControlDatabase, usual: OpenOrderBounds) {
    this.#usual = usual;
    const select = database.prepare<[], BoundsRow>('SELECT * FROM open_order_bounds');
    for (const row of select.iterate()) this.#load(row);
    this.#select = database.prepare<[number], BoundsRow>('SELECT * FROM open_order_bounds WHERE account_index = ?');
    this.#replace = database.prepare<[number, number | null, number | null]>(
      'INSERT OR REPLACE INTO open_order_bounds (account_index, in_all, in_market) VALUES (?, ?, ?)',
    );
  }

  /** A row is replaced, never taken away. */
  reload(changed: TakenRows): void {
    for (const account of changed.numbersOf('open_order_bounds')) this.#load(this.#select.get(account)!);
  }

  /** The bounds that hold for an account. */
  of(account: number): OpenOrderBounds {
    const own = this.#own.get(account);
    if (own === undefined) return this.#usual;
    return { inAll: own.inAll ?? this.#usual.inAll, inMarket: own.inMarket ?? this.#usual.inMarket };
  }

  set(account: number, own: OwnBounds): void {
    this.#replace.run(account, own.inAll, own.inMarket);
    this.#own.set(account, own);
  }

  #load({ account_index, in_all, in_market }: BoundsRow): void {
    this.#own.set(account_index, { inAll: in_all, inMarket: in_market });
  }
}
