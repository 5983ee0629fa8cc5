/**
 * The public names of accounts (RULES.md 13.3): a handle of their own once they ask for it, else a pseudonym.
 * Owner: the gateway thread; in memory, written through to control.db.
 *
 * Invariants:
 *   PROFILES-1  A handle belongs to one account, also while its profile is not public.
 */
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
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
  /** By account index. */
  readonly #profiles = new Map<number, PublicProfile>();
  readonly #accountOf = new Map<string, number>();
  readonly #replace;
  readonly #select;

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
    for (const row of database.prepare<[], ProfileRow>('SELECT * FROM public_profiles').iterate()) this.#load(row);
  }

  /** A row is replaced, never taken away. */
  reload(changed: TakenRows): void {
    const rows = changed.numbersOf('public_profiles').map((account) => this.#select.get(account)!);
    for (const { account_index } of rows) this.#accountOf.delete(this.of(account_index)?.handle ?? '');
    for (const row of rows) this.#load(row);
  }

  of(account: number): PublicProfile | null {
    return this.#profiles.get(account) ?? null;
  }

  /** False when the handle is another account's. */
  isFree(handle: string, account: number): boolean {
    return (this.#accountOf.get(handle) ?? account) === account;
  }

  /** Durable once `durable` says so. */
  set(account: number, profile: PublicProfile): void {
    const { handle, avatarUrl, isPublic } = profile;
    assert(this.isFree(handle, account), 'PROFILES-1: a handle belongs to one account');
    const row = { account_index: account, handle, avatar_url: avatarUrl, is_public: isPublic ? 1 : 0 } as const;
    this.#changes.write(() => this.#replace.run(row));
    this.#accountOf.delete(this.of(account)?.handle ?? '');
    this.#load(row);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #load({ account_index, handle, avatar_url: avatarUrl, is_public }: ProfileRow): void {
    this.#profiles.set(account_index, { handle, avatarUrl, isPublic: is_public === 1 });
    this.#accountOf.set(handle, account_index);
  }

  shown(account: number): Shown {
    const profile = this.#profiles.get(account);
    if (profile?.isPublic) {
      return { handle: profile.handle, userId: this.#userIdOf(account), avatarUrl: profile.avatarUrl };
    }
    return { handle: this.pseudonyms.of(account), userId: null, avatarUrl: null };
  }
}
