/**
 * Changes that wait for a second operator, or were decided by one, in control.db.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   APPROVALS-1  A decision is durable before the change is carried out, and its end afterwards: a change that a crash
 *                left `approved` is carried out by the next start.
 *   APPROVALS-2  A status only advances: from pending to approved or rejected, from approved to carried out or failed.
 *   APPROVALS-3  At most one request about a subject is open: pending and not expired, or approved.
 */
import { randomUUID } from 'node:crypto';
import type { EventPatch } from '../../shared/api/events.ts';
import type { MarketPatch } from '../../shared/api/markets.ts';
import { assert } from '../../shared/base/assert.ts';
import type { ControlDatabase } from '../base/database.ts';

/** Everything needed to carry the change out later, whatever happens to the request. */
export type ApprovalRequest =
  | {
      readonly kind: 'withdrawal';
      readonly user_id: string;
      readonly amount_usdc_micro: string;
      readonly reference: string;
    }
  | {
      readonly kind: 'resolution';
      readonly market_id: string;
      readonly status: 'resolved' | 'cancelled';
      readonly payouts: readonly [yes: number, no: number];
    }
  | {
      readonly kind: 'set_resolution';
      readonly event_id: string;
      readonly status: 'resolved' | 'cancelled';
      /** Millionths of a USDC for each Yes, by market; null: equal parts. */
      readonly payouts: Readonly<Record<string, number>> | null;
    }
  | {
      readonly kind: 'contracts';
      readonly chain_id: number;
      readonly exchange_address: string;
      readonly market_factory_address: string;
      readonly usdc_address: string;
      readonly ctf_address: string;
      readonly fee_sweeper_address: string;
    }
  | { readonly kind: 'unwinding'; readonly trade_id: string }
  /** `replaces`: what the terms that people rely on are when the change is asked for. */
  | {
      readonly kind: 'market_terms';
      readonly market_id: string;
      readonly change: MarketPatch;
      readonly replaces: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'event_terms';
      readonly event_id: string;
      readonly change: EventPatch;
      readonly replaces: Readonly<Record<string, unknown>>;
    };
export type ApprovalKind = ApprovalRequest['kind'];

type ApprovalStatus = 'pending' | 'approved' | 'carried_out' | 'failed' | 'rejected';
export type ApprovalFailure = { readonly code: string; readonly error: string };

export type ApprovalEntry = {
  readonly sequence: number;
  readonly id: string;
  readonly request: ApprovalRequest;
  readonly requestedBy: string;
  readonly requestedMs: number;
  readonly expiresMs: number;
  readonly status: ApprovalStatus;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
  readonly failure: ApprovalFailure | null;
};

type ApprovalRow = Omit<ApprovalEntry, 'request' | 'failure'> & {
  readonly kind: ApprovalKind;
  readonly subject: string;
  readonly request: string;
  readonly failure: string | null;
};

const COLUMNS = `sequence, id, kind, subject, request, requested_by AS requestedBy, requested_ms AS requestedMs,
  expires_ms AS expiresMs, status, decided_by AS decidedBy, decided_ms AS decidedMs, failure`;
const NO_MORE = Number.MAX_SAFE_INTEGER;

export class Approvals {
  readonly #insert;
  readonly #find;
  readonly #openOf;
  readonly #countOpen;
  readonly #page;
  readonly #approved;
  readonly #lastMs;
  readonly #decide;
  readonly #end;

  constructor(database: ControlDatabase) {
    this.#insert = database.prepare<[string, ApprovalKind, string, string, string, number, number]>(
      `INSERT INTO approvals (id, kind, subject, request, requested_by, requested_ms, expires_ms, status)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'pending')`,
    );
    this.#find = database.prepare<[string], ApprovalRow>(`SELECT ${COLUMNS} FROM approvals WHERE id = ?`);
    this.#openOf = database.prepare<[string, number], ApprovalRow>(
      `SELECT ${COLUMNS} FROM approvals
       WHERE subject = ? AND (status = 'approved' OR (status = 'pending' AND expires_ms > ?))
       ORDER BY sequence DESC`,
    );
    this.#countOpen = database
      .prepare<[number], number>(
        `SELECT count(*) FROM approvals WHERE status = 'approved' OR (status = 'pending' AND expires_ms > ?)`,
      )
      .pluck();
    this.#page = database.prepare<[number, number], ApprovalRow>(
      `SELECT ${COLUMNS} FROM approvals WHERE sequence < ? ORDER BY sequence DESC LIMIT ?`,
    );
    this.#approved = database.prepare<[], ApprovalRow>(
      `SELECT ${COLUMNS} FROM approvals WHERE status = 'approved' ORDER BY sequence`,
    );
    this.#lastMs = database
      .prepare<[], number>('SELECT requested_ms FROM approvals ORDER BY sequence DESC LIMIT 1')
      .pluck();
    this.#decide = database.prepare<[ApprovalStatus, string, number, string]>(
      `UPDATE approvals SET status = ?, decided_by = ?, decided_ms = ? WHERE id = ? AND status = 'pending'`,
    );
    this.#end = database.prepare<[ApprovalStatus, string | null, string]>(
      `UPDATE approvals SET status = ?, failure = ? WHERE id = ? AND status = 'approved'`,
    );
  }

  /** The caller has found no open request about the subject. */
  add(subject: string, request: ApprovalRequest, requestedBy: string, nowMs: number, forMs: number): ApprovalEntry {
    const id = randomUUID();
    this.#insert.run(id, request.kind, subject, JSON.stringify(request), requestedBy, nowMs, nowMs + forMs);
    return this.#require(id);
  }

  find(id: string): ApprovalEntry | undefined {
    const row = this.#find.get(id.toLowerCase());
    return row === undefined ? undefined : fromRow(row);
  }

  openOf(subject: string, nowMs: number): ApprovalEntry[] {
    return this.#openOf.all(subject, nowMs).map(fromRow);
  }

  countOpen(nowMs: number): number {
    return this.#countOpen.get(nowMs)!;
  }

  /** The newest first, beginning before this sequence number. */
  page(limit: number, before = NO_MORE): ApprovalEntry[] {
    return this.#page.all(before, limit).map(fromRow);
  }

  /** Approvals that have to be carried out, in the order in which they were requested. */
  approved(): ApprovalEntry[] {
    return this.#approved.all().map(fromRow);
  }

  /**
   * The time of the newest request; an operator created afterwards has a later time, even within the same millisecond.
   */
  lastRequestedMs(): number {
    return this.#lastMs.get() ?? 0;
  }

  decide({ id }: ApprovalEntry, status: 'approved' | 'rejected', operatorId: string, nowMs: number): ApprovalEntry {
    const { changes } = this.#decide.run(status, operatorId, nowMs, id);
    assert(changes === 1, 'APPROVALS-2: only a pending request is decided');
    return this.#require(id);
  }

  /** The change was carried out, or refused for good. */
  end({ id }: ApprovalEntry, failure: ApprovalFailure | null): ApprovalEntry {
    const text = failure === null ? null : JSON.stringify(failure);
    const { changes } = this.#end.run(failure === null ? 'carried_out' : 'failed', text, id);
    assert(changes === 1, 'APPROVALS-2: only an approved request ends');
    return this.#require(id);
  }

  #require(id: string): ApprovalEntry {
    const approval = this.find(id);
    assert(approval !== undefined, 'APPROVALS-1: a request is stored before it is used');
    return approval;
  }
}

function fromRow({ kind: _kind, subject: _subject, request, failure, ...row }: ApprovalRow): ApprovalEntry {
  return { ...row, request: JSON.parse(request), failure: failure === null ? null : JSON.parse(failure) };
}
