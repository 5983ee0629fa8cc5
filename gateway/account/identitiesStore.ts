/**
 * The accounts of people who sign in through a provider, by the provider's subject for the person (RULES.md 15.9). A
 * wallet needs no row here: it belongs to its account (ACCOUNTS-2). Read from control.db at each sign-in. Owner: the
 * gateway thread.
 *
 * Invariants:
 *   IDENTITIES-1  A subject of an issuer belongs to one account, for ever. An e-mail address identifies no one.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ControlDatabase } from '../base/database.ts';

export type Identity = {
  /** The provider's `iss`. */
  readonly issuer: string;
  /** The person's `sub` at the provider. */
  readonly subject: string;
};

type IdentityRow = { issuer: string; subject: string; account_index: number; created_ms: number };

export class Identities {
  readonly #insert;
  readonly #select;

  constructor(database: ControlDatabase) {
    this.#insert = database.prepare<IdentityRow>(
      'INSERT INTO identities VALUES ($issuer, $subject, $account_index, $created_ms)',
    );
    this.#select = database
      .prepare<[string, string], number>('SELECT account_index FROM identities WHERE issuer = ? AND subject = ?')
      .pluck();
  }

  /** The account index; null for a person who has not signed up. */
  accountOf({ issuer, subject }: Identity): number | null {
    return this.#select.get(issuer, subject) ?? null;
  }

  /** Writes the row, within the transaction that makes the account. */
  keep(identity: Identity, account: number, nowMs: number): void {
    assert(this.accountOf(identity) === null, 'IDENTITIES-1: a subject belongs to one account');
    const { issuer, subject } = identity;
    this.#insert.run({ issuer, subject, account_index: account, created_ms: nowMs });
  }
}
