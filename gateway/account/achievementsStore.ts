/**
 * The achievements that accounts were granted (RULES.md 14.70), in control.db. `joined` has no row: the account itself
 * is its evidence, so both are one transaction.
 * Owner: the gateway thread; read when an account asks.
 *
 * Invariants:
 *   ACHIEVEMENTS-1  A grant is never changed and never taken back.
 */
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export const STORED_ACHIEVEMENTS = [
  'first_trade',
  'markets_traded_10',
  'markets_traded_100',
  'sharp',
  'top_5pct_nfl',
] as const;
export type StoredAchievement = (typeof STORED_ACHIEVEMENTS)[number];

type GrantRow = { readonly id: StoredAchievement; readonly granted_ms: number };

export class Achievements {
  readonly #changes: Changes;
  readonly #ofAccount;
  readonly #insert: (account: number, ids: readonly StoredAchievement[], nowMs: number) => void;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#ofAccount = database.prepare<[number], GrantRow>(
      'SELECT id, granted_ms FROM achievements WHERE account_index = ?',
    );
    const insert = database.prepare<[number, StoredAchievement, number]>(
      'INSERT OR IGNORE INTO achievements (account_index, id, granted_ms) VALUES (?, ?, ?)',
    );
    this.#insert = database.transaction((account: number, ids: readonly StoredAchievement[], nowMs: number) => {
      for (const id of ids) insert.run(account, id, nowMs);
    });
  }

  /** When each was granted. */
  of(account: number): ReadonlyMap<StoredAchievement, number> {
    return new Map(this.#ofAccount.all(account).map(({ id, granted_ms }) => [id, granted_ms]));
  }

  /** Achievements granted before keep their time. Durable once `durable` resolves. */
  grant(account: number, ids: readonly StoredAchievement[], nowMs: number): void {
    this.#changes.write(() => this.#insert(account, ids, nowMs));
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }
}
