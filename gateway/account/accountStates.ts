/**
 * Accounts that the administrator has restricted (RULES.md 9.15): in memory for the request path, written through to
 * control.db.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   STATES-1  A state is durable before its request is answered, so a restart does not lift it.
 *   STATES-2  A command that a state may forbid is checked in the same turn of the event loop in which it is written
 *             into a ring: so no forbidden command is written after the state has changed.
 *   STATES-3  Until every shard has cancelled the orders that a state forbids, the account stays in the list of the
 *             unswept, across restarts.
 *   STATES-4  The state in memory always equals the rows, as on a standby and after a restart: the rows are read again
 *             after each change, and changes are rare.
 */
import { ACCOUNT_STATE, type AccountState, SIDE } from '../../shared/base/codes.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';

type ExitRow = { account_index: number; is_swept: number };
type StateRow = { account_index: number; state: AccountState; since_ms: number; is_swept: number };

const { ACTIVE, CLOSE_ONLY, FROZEN } = ACCOUNT_STATE;

export class AccountStates {
  /** Restricted accounts only. */
  readonly #states = new Map<number, AccountState>();
  /** Accounts whose wallet is leaving the escrow on the chain: frozen, whatever the administrator has set. */
  readonly #leaving = new Set<number>();
  readonly #unswept = new Set<number>();
  readonly #write;
  readonly #delete;
  readonly #setSwept;
  readonly #writeExit;
  readonly #deleteExit;
  readonly #setExitSwept;
  readonly #selectExit;
  readonly #selectState;

  constructor(database: ControlDatabase) {
    this.#write = database.prepare<StateRow>(
      'INSERT OR REPLACE INTO account_states VALUES ($account_index, $state, $since_ms, $is_swept)',
    );
    this.#delete = database.prepare<[number]>('DELETE FROM account_states WHERE account_index = ?');
    this.#setSwept = database.prepare<[number]>('UPDATE account_states SET is_swept = 1 WHERE account_index = ?');
    this.#writeExit = database.prepare<[number, number]>('INSERT OR REPLACE INTO account_exits VALUES (?, ?, 0)');
    this.#deleteExit = database.prepare<[number]>('DELETE FROM account_exits WHERE account_index = ?');
    this.#setExitSwept = database.prepare<[number]>('UPDATE account_exits SET is_swept = 1 WHERE account_index = ?');
    this.#selectExit = database.prepare<[number], ExitRow>('SELECT * FROM account_exits WHERE account_index = ?');
    this.#selectState = database.prepare<[number], StateRow>('SELECT * FROM account_states WHERE account_index = ?');
    for (const row of database.prepare<[], ExitRow>('SELECT * FROM account_exits').iterate()) this.#loadExit(row);
    for (const row of database.prepare<[], StateRow>('SELECT * FROM account_states').iterate()) this.#loadState(row);
  }

  /** Reads the rows of these accounts again. */
  reload(changed: TakenRows): void {
    const accounts = [...changed.numbersOf('account_exits'), ...changed.numbersOf('account_states')];
    for (const account of accounts) this.#read(account);
  }

  /** STATES-4. */
  #read(account: number): void {
    this.#leaving.delete(account);
    this.#states.delete(account);
    this.#unswept.delete(account);
    const exit = this.#selectExit.get(account);
    if (exit !== undefined) this.#loadExit(exit);
    const state = this.#selectState.get(account);
    if (state !== undefined) this.#loadState(state);
  }

  of(account: number): AccountState {
    return this.#leaving.has(account) ? FROZEN : (this.#states.get(account) ?? ACTIVE);
  }

  isLeaving(account: number): boolean {
    return this.#leaving.has(account);
  }

  /** The wallet leaves, or stays after all: then the state set by the administrator applies again. */
  setLeaving(account: number, isLeaving: boolean, nowMs: number): void {
    if (isLeaving) this.#writeExit.run(account, nowMs);
    else this.#deleteExit.run(account);
    this.#read(account);
  }

  set(account: number, state: AccountState, nowMs: number): void {
    if (state === ACTIVE) this.#delete.run(account);
    else this.#write.run({ account_index: account, state, since_ms: nowMs, is_swept: 0 });
    this.#read(account);
  }

  /** Restricted accounts of which a shard may still have orders that their state forbids. */
  unswept(): number[] {
    return [...this.#unswept];
  }

  swept(account: number): void {
    this.#setSwept.run(account);
    this.#setExitSwept.run(account);
    this.#read(account);
  }

  /** The reason why the account may not place an order on this side now, or null. */
  placingRefusal(account: number, side: number): ErrorRow | null {
    const state = this.of(account);
    return state === FROZEN || (state === CLOSE_ONLY && side === SIDE.BUY) ? refusalIn(state) : null;
  }

  /** The reason why the account may not acquire a position by means other than an order, or null. */
  addingRefusal(account: number): ErrorRow | null {
    const state = this.of(account);
    return state === ACTIVE ? null : refusalIn(state);
  }

  #loadExit({ account_index, is_swept }: ExitRow): void {
    this.#leaving.add(account_index);
    if (is_swept === 0) this.#unswept.add(account_index);
  }

  #loadState({ account_index, state, is_swept }: StateRow): void {
    this.#states.set(account_index, state);
    if (is_swept === 0) this.#unswept.add(account_index);
  }

  /** The reason why the account may not turn its holdings into money, or null. */
  reducingRefusal(account: number): ErrorRow | null {
    return this.of(account) === FROZEN ? refusalIn(FROZEN) : null;
  }
}

function refusalIn(state: AccountState): ErrorRow {
  return state === FROZEN ? ERRORS.ACCOUNT_FROZEN : ERRORS.ACCOUNT_CLOSE_ONLY;
}
