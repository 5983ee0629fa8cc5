/**
 * The public names of accounts (RULES.md 13.3): a handle of their own once they ask for it, else a pseudonym.
 * Owner: the gateway thread; read from control.db.
 *
 * Invariants:
 *   PROFILES-1  A handle belongs to one account, also while its profile is not public.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import type { Pseudonyms } from './pseudonymsStore.ts';

export type PublicProfile = {
  readonly handle: string;
  readonly avatarUrl: string | null;
  readonly isPublic: boolean;
};

/** An account as everyone may see it. */
type Shown = { readonly handle: string; readonly userId: string | null; readonly avatarUrl: string | null };

type ProfileRow = { account_index: number; handle: string; avatar_url: string | null; is_public: 0 | 1 };

export class PublicProfiles {
  readonly pseudonyms: Pseudonyms;
  readonly #changes: Changes;
  readonly #userIdOf: (account: number) => string;
  readonly #replace;
  readonly #select;
  readonly #selectOwner;

  constructor(
    database: ControlDatabase,
    pseudonyms: Pseudonyms,
    userIdOf: (account: number) => string,
    changes = SYNCED_AT_ONCE,
  ) {
    this.pseudonyms = pseudonyms;
    this.#userIdOf = userIdOf;
    this.#changes = changes;
    this.#replace = database.prepare<ProfileRow>(
      'INSERT OR REPLACE INTO public_profiles VALUES ($account_index, $handle, $avatar_url, $is_public)',
    );
    this.#select = database.prepare<[number], ProfileRow>('SELECT * FROM public_profiles WHERE account_index = ?');
    this.#selectOwner = database
      .prepare<[string], number>('SELECT account_index FROM public_profiles WHERE handle = ?')
      .pluck();
  }

  of(account: number): PublicProfile | null {
    const row = this.#select.get(account);
    return row === undefined ? null : { handle: row.handle, avatarUrl: row.avatar_url, isPublic: row.is_public === 1 };
  }

  /** False when the handle is another account's. */
  isFree(handle: string, account: number): boolean {
    return (this.#selectOwner.get(handle) ?? account) === account;
  }

  /** Durable once `durable` says so. */
  set(account: number, profile: PublicProfile): void {
    const { handle, avatarUrl, isPublic } = profile;
    assert(this.isFree(handle, account), 'PROFILES-1: a handle belongs to one account');
    const row = { account_index: account, handle, avatar_url: avatarUrl, is_public: isPublic ? 1 : 0 } as const;
    this.#changes.write(() => this.#replace.run(row));
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  shown(account: number): Shown {
    const profile = this.of(account);
    if (profile?.isPublic) {
      return { handle: profile.handle, userId: this.#userIdOf(account), avatarUrl: profile.avatarUrl };
    }
    return { handle: this.pseudonyms.of(account), userId: null, avatarUrl: null };
  }
}
