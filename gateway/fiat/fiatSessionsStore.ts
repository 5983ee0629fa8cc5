/**
 * Sessions of cashing in and out (RULES.md 16.1), in control.db; those that are open are in memory too. The permitted
 * transitions are defined in machine.ts. Owner: the gateway thread.
 *
 * Invariants:
 *   FIATROWS-1  A session and the transition that it makes are one transaction.
 *   FIATROWS-2  An account keeps at most MAX_UNPAID sessions in which no money was at stake: beyond that the oldest
 *               closed ones are deleted. Sessions with a signature or a transaction stay.
 *   FIATROWS-3  Each open session has exactly one object, which all code shares.
 */
import type { FiatKind, FiatStatus, TransferState } from '../../shared/api/fiat.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export type FiatSession = {
  readonly id: string;
  readonly account: number;
  readonly kind: FiatKind;
  readonly provider: string;
  readonly partnerReference: string;
  readonly walletAddress: string;
  readonly asset: string;
  readonly network: string;
  readonly fiatCurrency: string;
  readonly requestedAmount: string | null;
  readonly paymentMethod: string | null;
  readonly redirectPath: string | null;
  readonly idempotencyKey: string | null;
  /** Fingerprint of the request that created it. */
  readonly fingerprint: string;
  readonly createdMs: number;
} & FiatState;

/** The part of a session that changes. */
type FiatState = {
  status: FiatStatus;
  /** Amount in the provider's transaction, as last seen. */
  amountValue: string | null;
  amountCurrency: string | null;
  providerTransactionId: string | null;
  providerStatus: string;
  toAddress: string | null;
  txHash: string | null;
  deadlineMs: number | null;
  failureCode: string | null;
  /** Null for an on-ramp. */
  transferState: TransferState | null;
  heldState: TransferState | null;
  /** The trigger that caused the transfer's present error. */
  errorCause: string | null;
  /** The reason why an operator has to look. */
  alarm: string | null;
  /** A transaction that the provider reports and the relayer has not sent. */
  reportedHash: string | null;
  updatedMs: number;
  expiresMs: number;
  /** 1 while something is left to do. */
  isOpen: 0 | 1;
};

export type FiatPatch = Partial<FiatState>;

export type FiatTransition = {
  readonly subject: 'status' | 'transfer';
  readonly fromState: string | null;
  readonly toState: string;
  readonly cause: string;
  /** The facts behind the transition, as JSON. */
  readonly evidence: string | null;
  readonly atMs: number;
};

type Filter = { readonly kind: string | null; readonly status: string | null };
type Page = { readonly limit: number; readonly offset: number };

const MAX_UNPAID = 200;
/** Alarms are counted only up to this number. */
const MOST_COUNTED = 1000;

const COLUMNS = `id, account_index AS account, kind, provider, partner_reference AS partnerReference, status,
  wallet_address AS walletAddress, asset, network, fiat_currency AS fiatCurrency, requested_amount AS requestedAmount,
  payment_method AS paymentMethod, redirect_path AS redirectPath, idempotency_key AS idempotencyKey, fingerprint,
  amount_value AS amountValue, amount_currency AS amountCurrency, provider_transaction_id AS providerTransactionId,
  provider_status AS providerStatus, to_address AS toAddress, tx_hash AS txHash, deadline_ms AS deadlineMs,
  failure_code AS failureCode, transfer_state AS transferState, held_state AS heldState, error_cause AS errorCause,
  alarm, reported_hash AS reportedHash, created_ms AS createdMs, updated_ms AS updatedMs, expires_ms AS expiresMs,
  is_open AS isOpen`;

export class FiatSessions {
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  readonly #open = new Map<string, FiatSession>();
  readonly #statements;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE) {
    this.#database = database;
    this.#changes = changes;
    this.#statements = prepare(database);
    for (const session of this.#statements.open.all()) this.#open.set(session.id, session);
  }

  /** FIATROWS-3 */
  reload(changed: TakenRows): void {
    for (const id of changed.textsOf('fiat_sessions')) {
      const row = this.#statements.find.get(id);
      const session = this.#open.get(id);
      if (session !== undefined && row !== undefined) Object.assign(session, row);
      if (row?.isOpen === 1) this.#open.set(id, session ?? row);
      else this.#open.delete(id);
    }
  }

  /** Those that are open. */
  open(): IterableIterator<FiatSession> {
    return this.#open.values();
  }

  find(id: string): FiatSession | undefined {
    return this.#open.get(id) ?? this.#statements.find.get(id);
  }

  ofReference(partnerReference: string): FiatSession | undefined {
    const id = this.#statements.ofReference.get(partnerReference);
    return id === undefined ? undefined : this.find(id);
  }

  ofKey(account: number, idempotencyKey: string): FiatSession | undefined {
    const id = this.#statements.ofKey.get(account, idempotencyKey);
    return id === undefined ? undefined : this.find(id);
  }

  /** Newest first. */
  list(account: number, { kind, status }: Filter, { limit, offset }: Page): { rows: FiatSession[]; total: number } {
    const filter = { account, kind, status };
    const total = this.#statements.count.get(filter) ?? 0;
    return { rows: this.#statements.list.all({ ...filter, limit, offset }), total };
  }

  /** Sessions of all accounts, newest first. */
  recent(limit: number, offset: number): FiatSession[] {
    return this.#statements.recent.all(limit, offset);
  }

  /** Completed sessions of a provider that were begun between two moments. */
  completedOf(provider: string, fromMs: number, beforeMs: number): FiatSession[] {
    return this.#statements.completedOf.all(fromMs, beforeMs, provider);
  }

  /** Sessions that an operator has to look at, most recently changed first. */
  alarmed(limit: number): FiatSession[] {
    return this.#statements.alarmed.all(limit);
  }

  get alarmedCount(): number {
    return this.#statements.alarmedCount.get() ?? 0;
  }

  transitionsOf(id: string): FiatTransition[] {
    return this.#statements.transitionsOf.all(id);
  }

  /** Durable once `durable` says so. */
  add(session: FiatSession, transitions: readonly FiatTransition[]): void {
    this.#write(() => {
      this.#makeRoom(session.account);
      this.#statements.insert.run(session);
      for (const each of transitions) this.#statements.addTransition.run({ sessionId: session.id, ...each });
    });
    this.#open.set(session.id, session);
  }

  /** FIATROWS-1. Durable once `durable` says so. @param more statements of other tables, for the same transaction. */
  change(session: FiatSession, patch: FiatPatch, transitions: readonly FiatTransition[] = [], more = NOTHING): void {
    const changed = { ...session, ...patch };
    this.#write(() => {
      this.#statements.update.run(changed);
      for (const each of transitions) this.#statements.addTransition.run({ sessionId: session.id, ...each });
      more();
    });
    Object.assign(session, patch);
    if (session.isOpen === 1) this.#open.set(session.id, session);
    else this.#open.delete(session.id);
  }

  /** Several statements as one change; durable once `durable` says so. */
  write(statements: () => void): void {
    this.#write(statements);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #write(statements: () => void): void {
    this.#changes.write(this.#database.transaction(statements));
  }

  /** FIATROWS-2 */
  #makeRoom(account: number): void {
    const { countAll, unpaid, deletes } = this.#statements;
    const count = countAll.get(account) ?? 0;
    if (count < MAX_UNPAID) return;
    for (const id of unpaid.all(account, count + 1 - MAX_UNPAID)) for (const each of deletes) each.run(id);
  }
}

const NOTHING = (): void => {};

const FILTERED = `account_index = $account
  AND ($kind IS NULL OR kind = $kind) AND ($status IS NULL OR status = $status)`;

/** Deletes the rows that belong to a session, and finally the session itself. */
const DELETES = [
  'DELETE FROM fiat_transitions WHERE session_id = ?',
  'DELETE FROM fiat_intents WHERE session_id = ?',
  `DELETE FROM fiat_webhooks WHERE partner_reference = (SELECT partner_reference FROM fiat_sessions WHERE id = ?)`,
  'DELETE FROM fiat_sessions WHERE id = ?',
];

function prepare(database: ControlDatabase) {
  return {
    open: database.prepare<[], FiatSession>(
      `SELECT ${COLUMNS} FROM fiat_sessions WHERE is_open = 1 ORDER BY created_ms, id`,
    ),
    find: database.prepare<[string], FiatSession>(`SELECT ${COLUMNS} FROM fiat_sessions WHERE id = ?`),
    ofReference: database.prepare<[string], string>('SELECT id FROM fiat_sessions WHERE partner_reference = ?').pluck(),
    ofKey: database
      .prepare<[number, string], string>('SELECT id FROM fiat_sessions WHERE account_index = ? AND idempotency_key = ?')
      .pluck(),
    list: database.prepare<Filter & Page & { account: number }, FiatSession>(
      `SELECT ${COLUMNS} FROM fiat_sessions WHERE ${FILTERED}
       ORDER BY created_ms DESC, id DESC LIMIT $limit OFFSET $offset`,
    ),
    count: database
      .prepare<Filter & { account: number }, number>(`SELECT COUNT(*) FROM fiat_sessions WHERE ${FILTERED}`)
      .pluck(),
    countAll: database.prepare<[number], number>('SELECT COUNT(*) FROM fiat_sessions WHERE account_index = ?').pluck(),
    recent: database.prepare<[number, number], FiatSession>(
      `SELECT ${COLUMNS} FROM fiat_sessions ORDER BY created_ms DESC, id DESC LIMIT ? OFFSET ?`,
    ),
    completedOf: database.prepare<[number, number, string], FiatSession>(
      `SELECT ${COLUMNS} FROM fiat_sessions WHERE created_ms >= ? AND created_ms < ? AND provider = ?
       AND status = 'completed' ORDER BY created_ms, id`,
    ),
    alarmed: database.prepare<[number], FiatSession>(
      `SELECT ${COLUMNS} FROM fiat_sessions WHERE alarm IS NOT NULL ORDER BY updated_ms DESC LIMIT ?`,
    ),
    alarmedCount: database
      .prepare<[], number>(
        `SELECT COUNT(*) FROM (SELECT 1 FROM fiat_sessions WHERE alarm IS NOT NULL LIMIT ${MOST_COUNTED})`,
      )
      .pluck(),
    unpaid: database
      .prepare<[number, number], string>(
        `SELECT id FROM fiat_sessions AS s WHERE account_index = ? AND is_open = 0 AND alarm IS NULL
         AND NOT EXISTS (SELECT 1 FROM fiat_claims WHERE session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM fiat_intents WHERE session_id = s.id AND signature IS NOT NULL)
         ORDER BY created_ms, id LIMIT ?`,
      )
      .pluck(),
    deletes: DELETES.map((sql) => database.prepare<[string]>(sql)),
    transitionsOf: database.prepare<[string], FiatTransition>(
      `SELECT subject, from_state AS fromState, to_state AS toState, cause, evidence, at_ms AS atMs
       FROM fiat_transitions WHERE session_id = ? ORDER BY sequence`,
    ),
    addTransition: database.prepare<FiatTransition & { sessionId: string }>(
      `INSERT INTO fiat_transitions (session_id, subject, from_state, to_state, cause, evidence, at_ms)
       VALUES ($sessionId, $subject, $fromState, $toState, $cause, $evidence, $atMs)`,
    ),
    insert: database.prepare<FiatSession>(
      `INSERT INTO fiat_sessions VALUES (
         $id, $account, $kind, $provider, $partnerReference, $status, $walletAddress, $asset, $network, $fiatCurrency,
         $requestedAmount, $paymentMethod, $redirectPath, $idempotencyKey, $fingerprint, $amountValue,
         $amountCurrency, $providerTransactionId, $providerStatus, $toAddress, $txHash, $deadlineMs, $failureCode,
         $transferState, $heldState, $errorCause, $alarm, $reportedHash, $createdMs, $updatedMs, $expiresMs, $isOpen)`,
    ),
    update: database.prepare<FiatSession>(
      `UPDATE fiat_sessions SET
         status = $status, amount_value = $amountValue, amount_currency = $amountCurrency,
         provider_transaction_id = $providerTransactionId, provider_status = $providerStatus, to_address = $toAddress,
         tx_hash = $txHash, deadline_ms = $deadlineMs, failure_code = $failureCode, transfer_state = $transferState,
         held_state = $heldState, error_cause = $errorCause, alarm = $alarm, reported_hash = $reportedHash,
         updated_ms = $updatedMs, expires_ms = $expiresMs, is_open = $isOpen
       WHERE id = $id`,
    ),
  };
}
