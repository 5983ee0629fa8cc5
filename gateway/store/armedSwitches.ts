/**
 * The accounts whose dead-man's switch is armed; durable, so that a restart does not disarm it.
 * Owner: the gateway thread.
 */
import type { ControlDatabase } from './database.ts';
import { type Changes, SYNCED_AT_ONCE } from './laterSync.ts';

export class ArmedSwitches {
  readonly #changes: Changes;
  readonly #select;
  readonly #insert;
  readonly #delete;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#select = database.prepare<[], number>('SELECT account_index FROM armed_switches').pluck();
    this.#insert = database.prepare<[number, number]>(
      'INSERT OR IGNORE INTO armed_switches (account_index, armed_ms) VALUES (?, ?)',
    );
    this.#delete = database.prepare<[number]>('DELETE FROM armed_switches WHERE account_index = ?');
  }

  all(): number[] {
    return this.#select.all();
  }

  arm(account: number, nowMs: number): void {
    this.#changes.write(() => this.#insert.run(account, nowMs));
  }

  disarm(account: number): void {
    this.#changes.write(() => this.#delete.run(account));
  }

  /** Null when every change so far is durable; otherwise resolves when it is. */
  durable(): Promise<void> | null {
    return this.#changes.isDurable ? null : this.#changes.durable();
  }
}
