/**
 * Accounts whose dead-man's switch is armed, and accounts whose switch was triggered but whose orders are not all
 * cancelled yet, with the shards that have finished. The rows are durable, so that no restart and no new leader forgets
 * a switch or cancels twice. Owner: the gateway thread.
 */
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export class ArmedSwitches {
  readonly #changes: Changes;
  readonly #selectArmed;
  readonly #selectTriggered;
  readonly #arm;
  readonly #trigger;
  readonly #finish;
  readonly #addShard;
  readonly #selectShards;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#selectArmed = database.prepare<[], number>('SELECT account_index FROM armed_switches').pluck();
    this.#selectTriggered = database.prepare<[], number>('SELECT account_index FROM triggered_switches').pluck();
    this.#arm = database.prepare<[number, number]>(
      'INSERT OR IGNORE INTO armed_switches (account_index, armed_ms) VALUES (?, ?)',
    );
    const disarm = database.prepare<[number]>('DELETE FROM armed_switches WHERE account_index = ?');
    const insert = database.prepare<[number, number]>(
      'INSERT OR IGNORE INTO triggered_switches (account_index, triggered_ms) VALUES (?, ?)',
    );
    const remove = database.prepare<[number]>('DELETE FROM triggered_switches WHERE account_index = ?');
    const forgetShards = database.prepare<[number]>('DELETE FROM cancelled_shards WHERE account_index = ?');
    this.#addShard = database.prepare<[number, number]>(
      'INSERT OR IGNORE INTO cancelled_shards (account_index, shard) VALUES (?, ?)',
    );
    this.#selectShards = database
      .prepare<[number], number>('SELECT shard FROM cancelled_shards WHERE account_index = ?')
      .pluck();
    this.#trigger = database.transaction((accounts: readonly number[], nowMs: number) => {
      for (const account of accounts) {
        disarm.run(account);
        insert.run(account, nowMs);
        forgetShards.run(account);
      }
    });
    this.#finish = database.transaction((account: number, isArmed: boolean) => {
      remove.run(account);
      forgetShards.run(account);
      if (!isArmed) disarm.run(account);
    });
  }

  armed(): number[] {
    return this.#selectArmed.all();
  }

  /** Accounts with orders that some shard may still have to cancel. */
  triggered(): number[] {
    return this.#selectTriggered.all();
  }

  /** The shards that have cancelled the orders of a triggered account. */
  cancelledShards(account: number): number[] {
    return this.#selectShards.all(account);
  }

  arm(account: number, nowMs: number): void {
    this.#changes.write(() => this.#arm.run(account, nowMs));
  }

  /** Records that the accounts are no longer armed and that their orders have to be cancelled. */
  trigger(accounts: readonly number[], nowMs: number): void {
    this.#changes.write(() => this.#trigger(accounts, nowMs));
  }

  /** Records that this shard has cancelled the account's orders, while others have not yet. */
  cancelled(account: number, shard: number): void {
    this.#changes.write(() => this.#addShard.run(account, shard));
  }

  /** Records that the account's orders are cancelled. @param isArmed true if it has sent a heartbeat since */
  finish(account: number, isArmed: boolean): void {
    this.#changes.write(() => this.#finish(account, isArmed));
  }

  /** Null when every change so far is durable; otherwise resolves when it is. */
  durable(): Promise<void> | null {
    return this.#changes.isDurable ? null : this.#changes.durable();
  }
}
