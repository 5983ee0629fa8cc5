/**
 * The accounts of people who sign in through a provider, by the provider's subject for the person (RULES.md 15.9). A
 * wallet needs no row here: it belongs to its account (ACCOUNTS-2). Owner: the gateway thread; in memory, written
 * through to control.db.
 *
 * Invariants:
 *   IDENTITIES-1  A subject of an issuer belongs to one account, for ever. An e-mail address identifies no one.
 */
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';

export type Identity = {
  /** The provider's `iss`. */
  readonly issuer: string;
  /** The person's `sub` at the provider. */
  readonly subject: string;
};

type IdentityRow = { issuer: string; subject: string; account_index: number; created_ms: number };

export class Identities {
  readonly #accounts = new Map<string, number>();
  readonly #insert;
  readonly #select;

  constructor(database: ControlDatabase) {
    this.#insert = database.prepare<IdentityRow>(
      'INSERT INTO identities VALUES ($issuer, $subject, $account_index, $created_ms)',
    );
    this.#select = database.prepare<[string, string], IdentityRow>(
      'SELECT * FROM identities WHERE issuer = ? AND subject = ?',
    );
    const rows = database.prepare<[], IdentityRow>('SELECT * FROM identities');
    for (const row of rows.iterate()) this.#accounts.set(keyOf(row), row.account_index);
  }

  /** IDENTITIES-1: a row never changes. */
  reload(changed: TakenRows): void {
    for (const [issuer, subject] of changed.keysOf('identities')) {
      const row = this.#select.get(String(issuer), String(subject));
      if (row !== undefined) this.#accounts.set(keyOf(row), row.account_index);
    }
  }

  /** The account index; null for a person who has not signed up. */
  accountOf(identity: Identity): number | null {
    return this.#accounts.get(keyOf(identity)) ?? null;
  }

  /** Writes the row, within the transaction that makes the account. */
  keep(identity: Identity, account: number, nowMs: number): void {
    assert(this.accountOf(identity) === null, 'IDENTITIES-1: a subject belongs to one account');
    const { issuer, subject } = identity;
    this.#insert.run({ issuer, subject, account_index: account, created_ms: nowMs });
  }

  /** Called when the transaction is committed. */
  kept(identity: Identity, account: number): void {
    this.#accounts.set(keyOf(identity), account);
  }
}

/** No URL has a line break. */
function keyOf({ issuer, subject }: Identity): string {
  return `${issuer}\n${subject}`;
}
