/**
 * Trading timeouts (RULES.md 11): the reminders that users have chosen, and the times in which an account may not
 * trade.
 * Owner: the gateway thread; in memory, written through to control.db.
 *
 * Invariants:
 *   TIMEOUT-1  An account has at most one active timeout: started, not cancelled, not yet ended.
 *   TIMEOUT-2  A timeout is durable before its request is answered, so a restart does not lift it.
 */
import { randomUUID } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export const DURATION_HOURS = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 } as const;
export type DurationLabel = keyof typeof DURATION_HOURS | 'custom';

/** Null: no reminder. */
type ReminderPreferences = {
  readonly realityCheckMinutes: number | null;
  readonly sessionTimeoutMinutes: number | null;
};

export type TradingTimeout = {
  readonly id: string;
  readonly durationLabel: DurationLabel;
  readonly startedMs: number;
  readonly endsMs: number;
};

type PreferenceRow = {
  account_index: number;
  reality_check_minutes: number | null;
  session_timeout_minutes: number | null;
};

type TimeoutRow = {
  id: string;
  account_index: number;
  duration_label: DurationLabel;
  started_ms: number;
  ends_ms: number;
  cancelled_ms: number | null;
};

const MS_PER_HOUR = 3_600_000;
const OFF: ReminderPreferences = Object.freeze({ realityCheckMinutes: null, sessionTimeoutMinutes: null });

export class TradingTimeouts {
  readonly #preferences = new Map<number, ReminderPreferences>();
  /** By account: the last timeout that was not cancelled; it may have ended. */
  readonly #timeouts = new Map<number, TradingTimeout>();
  readonly #changes: Changes;
  readonly #writePreferences;
  readonly #insertTimeout;
  readonly #cancelTimeout;
  readonly #selectPreferences;
  readonly #selectTimeout;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    const preferences = 'SELECT * FROM gaming_preferences';
    this.#selectPreferences = database.prepare<[number], PreferenceRow>(`${preferences} WHERE account_index = ?`);
    for (const row of database.prepare<[], PreferenceRow>(preferences).iterate()) this.#loadPreferences(row);
    const timeouts = 'SELECT * FROM trading_timeouts WHERE';
    this.#selectTimeout = database.prepare<[string], TimeoutRow>(`${timeouts} id = ?`);
    const open = database.prepare<[], TimeoutRow>(`${timeouts} cancelled_ms IS NULL ORDER BY started_ms`);
    for (const row of open.iterate()) this.#loadTimeout(row);
    this.#writePreferences = database.prepare<[number, number | null, number | null]>(
      `INSERT INTO gaming_preferences (account_index, reality_check_minutes, session_timeout_minutes) VALUES (?, ?, ?)
       ON CONFLICT (account_index) DO UPDATE SET
         reality_check_minutes = excluded.reality_check_minutes,
         session_timeout_minutes = excluded.session_timeout_minutes`,
    );
    this.#insertTimeout = database.prepare<[string, number, string, number, number]>(
      `INSERT INTO trading_timeouts (id, account_index, duration_label, started_ms, ends_ms) VALUES (?, ?, ?, ?, ?)`,
    );
    this.#cancelTimeout = database.prepare<[number, string]>(
      'UPDATE trading_timeouts SET cancelled_ms = ? WHERE id = ?',
    );
  }

  reload(changed: TakenRows): void {
    for (const account of changed.numbersOf('gaming_preferences')) {
      this.#loadPreferences(this.#selectPreferences.get(account)!);
    }
    for (const id of changed.textsOf('trading_timeouts')) {
      const row = this.#selectTimeout.get(id)!;
      if (row.cancelled_ms === null) this.#loadTimeout(row);
      else if (this.#timeouts.get(row.account_index)?.id === id) this.#timeouts.delete(row.account_index);
    }
  }

  preferences(account: number): ReminderPreferences {
    return this.#preferences.get(account) ?? OFF;
  }

  setPreferences(account: number, preferences: ReminderPreferences): void {
    const { realityCheckMinutes, sessionTimeoutMinutes } = preferences;
    this.#changes.write(() => this.#writePreferences.run(account, realityCheckMinutes, sessionTimeoutMinutes));
    this.#preferences.set(account, preferences);
  }

  /** Resolves when every change so far is durable (TIMEOUT-2). */
  durable(): Promise<void> {
    return this.#changes.durable();
  }

  activeTimeout(account: number, nowMs: number): TradingTimeout | null {
    const timeout = this.#timeouts.get(account);
    return timeout === undefined || timeout.endsMs <= nowMs ? null : timeout;
  }

  startTimeout(account: number, durationLabel: DurationLabel, hours: number, nowMs: number): TradingTimeout {
    assert(this.activeTimeout(account, nowMs) === null, 'TIMEOUT-1: one timeout at a time');
    const timeout = { id: randomUUID(), durationLabel, startedMs: nowMs, endsMs: nowMs + hours * MS_PER_HOUR };
    const { id, startedMs, endsMs } = timeout;
    this.#changes.write(() => this.#insertTimeout.run(id, account, durationLabel, startedMs, endsMs));
    this.#timeouts.set(account, timeout);
    return timeout;
  }

  /** @returns the timeout that was active, or null. */
  cancelTimeout(account: number, nowMs: number): TradingTimeout | null {
    const timeout = this.activeTimeout(account, nowMs);
    if (timeout === null) return null;
    this.#changes.write(() => this.#cancelTimeout.run(nowMs, timeout.id));
    this.#timeouts.delete(account);
    return timeout;
  }

  #loadPreferences(row: PreferenceRow): void {
    this.#preferences.set(row.account_index, {
      realityCheckMinutes: row.reality_check_minutes,
      sessionTimeoutMinutes: row.session_timeout_minutes,
    });
  }

  #loadTimeout(row: TimeoutRow): void {
    this.#timeouts.set(row.account_index, {
      id: row.id,
      durationLabel: row.duration_label,
      startedMs: row.started_ms,
      endsMs: row.ends_ms,
    });
  }
}
