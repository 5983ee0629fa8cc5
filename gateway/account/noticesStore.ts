/**
 * Notices to accounts: notifications that are not derived from the journals, such as those about a session's security.
 * Owner: the gateway thread; read from control.db when an account asks, because few accounts have any.
 *
 * Invariants:
 *   NOTICES-1  An account has at most MOST_KEPT notices: the next one replaces the oldest.
 *   NOTICES-2  Sequences grow and are never used again, so "read up to a sequence" stays true.
 */
import { randomUUID } from 'node:crypto';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

type NoticeType = 'security';

export type Notice = {
  readonly id: string;
  readonly sequence: number;
  readonly type: NoticeType;
  readonly title: string;
  readonly body: string;
  readonly createdMs: number;
};

const MOST_KEPT = 100;
const COLUMNS = 'id, sequence, type, title, body, created_ms AS createdMs';

export class Notices {
  readonly #changes: Changes;
  readonly #add: (account: number, type: NoticeType, title: string, body: string, nowMs: number) => void;
  readonly #ofAccount;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    const insert = database.prepare<[string, number, NoticeType, string, string, number]>(
      'INSERT INTO notices (id, account_index, type, title, body, created_ms) VALUES (?, ?, ?, ?, ?, ?)',
    );
    const prune = database.prepare<[number, number, number]>(
      `DELETE FROM notices WHERE account_index = ? AND sequence IN (
         SELECT sequence FROM notices WHERE account_index = ?
         ORDER BY created_ms DESC, sequence DESC LIMIT -1 OFFSET ?)`,
    );
    this.#add = database.transaction((account, type, title, body, nowMs) => {
      insert.run(randomUUID(), account, type, title, body, nowMs);
      prune.run(account, account, MOST_KEPT);
    });
    this.#ofAccount = database.prepare<[number], Notice>(
      `SELECT ${COLUMNS} FROM notices WHERE account_index = ? ORDER BY created_ms DESC, sequence DESC`,
    );
  }

  /** Durable once `durable` says so. */
  add(account: number, type: NoticeType, title: string, body: string, nowMs: number): void {
    this.#changes.write(() => this.#add(account, type, title, body, nowMs));
  }

  /** Newest first. */
  of(account: number): Notice[] {
    return this.#ofAccount.all(account);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }
}
