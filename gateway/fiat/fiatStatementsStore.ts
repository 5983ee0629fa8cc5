/**
 * Statements of providers, and their differences from our sessions (RULES.md 16.80 to 16.84), in control.db. Owner: the
 * gateway thread.
 *
 * Invariants:
 *   FIATSTATEMENTS-1  A transaction of a provider has one row for each kind of difference. A difference that an
 *                     operator has closed stays closed, whatever later statements say.
 *   FIATSTATEMENTS-2  A statement, the sessions that it has, and its differences are one transaction.
 */
import type { DifferenceKind } from '../../shared/api/fiatStatements.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export type FoundDifference = {
  readonly provider: string;
  readonly transactionId: string;
  readonly kind: DifferenceKind;
  readonly day: string;
  readonly sessionId: string | null;
  readonly account: number | null;
  /** Micro-USDC moved by the exchange; null if none. */
  readonly oursMicro: number | null;
  /** Amount in the statement; null if it has no row, or no valid amount of USDC. */
  readonly theirsMicro: number | null;
  /** Amount that the account owes. */
  readonly claimMicro: number;
};

export type Difference = FoundDifference & {
  readonly sequence: number;
  readonly foundMs: number;
  readonly closedMs: number | null;
  readonly closedBy: string | null;
  readonly note: string | null;
};

type Statement = { readonly provider: string; readonly day: string; readonly rowCount: number; readonly nowMs: number };

/** Open differences are counted only up to this number. */
const MOST_COUNTED = 10_000;
const COLUMNS = `sequence, provider, transaction_id AS transactionId, kind, day, session_id AS sessionId,
  account_index AS account, ours_micro AS oursMicro, theirs_micro AS theirsMicro, claim_micro AS claimMicro,
  found_ms AS foundMs, closed_ms AS closedMs, closed_by AS closedBy, note`;

export class FiatStatements {
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  readonly #statements;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE) {
    this.#database = database;
    this.#changes = changes;
    this.#statements = prepare(database);
  }

  /** FIATSTATEMENTS-2. @param change adds what was found. */
  compared(statement: Statement, change: () => void): void {
    this.#changes.write(
      this.#database.transaction(() => {
        this.#statements.addStatement.run(statement);
        change();
      }),
    );
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /** Inside `compared`: records that a statement includes the session. */
  addStated(sessionId: string, day: string): void {
    this.#statements.addStated.run(sessionId, day);
  }

  isCompared(provider: string, day: string): boolean {
    return this.#statements.isCompared.get(provider, day) !== undefined;
  }

  isStated(sessionId: string): boolean {
    return this.#statements.isStated.get(sessionId) !== undefined;
  }

  /** FIATSTATEMENTS-1, inside `compared`. @returns true if it is new, or open again */
  add(found: FoundDifference, nowMs: number): boolean {
    const known = this.#statements.known.get(found.provider, found.transactionId, found.kind);
    const isClosed = known !== undefined && known.closedMs !== null;
    if (isClosed && known.closedBy !== '') return false;
    this.#statements.add.run({ ...found, nowMs });
    return known === undefined || isClosed;
  }

  /** Inside `compared`: differences of these kinds no longer exist. */
  settle(provider: string, transactionId: string, kinds: readonly DifferenceKind[], nowMs: number): void {
    for (const kind of kinds) this.#statements.settle.run(nowMs, provider, transactionId, kind);
  }

  /** Newest first. */
  list(isOpenOnly: boolean, limit: number, offset: number): Difference[] {
    const { listOpen, listAll } = this.#statements;
    return (isOpenOnly ? listOpen : listAll).all(limit, offset);
  }

  ofTransaction(provider: string, transactionId: string): Difference[] {
    return this.#statements.ofTransaction.all(provider, transactionId);
  }

  find(sequence: number): Difference | undefined {
    return this.#statements.find.get(sequence);
  }

  close(sequence: number, closedBy: string, note: string, nowMs: number): void {
    this.#changes.write(() => this.#statements.close.run({ sequence, closedBy, note, nowMs }));
  }

  get openCount(): number {
    return this.#statements.openCount.get() ?? 0;
  }

  /** The sum owed by accounts in open differences. */
  get claimMicro(): number {
    return this.#statements.claimMicro.get() ?? 0;
  }
}

function prepare(database: ControlDatabase) {
  return {
    addStatement: database.prepare<Statement>(
      `INSERT INTO fiat_statements (provider, day, row_count, compared_ms) VALUES ($provider, $day, $rowCount, $nowMs)
       ON CONFLICT (provider, day) DO UPDATE SET row_count = $rowCount, compared_ms = $nowMs`,
    ),
    isCompared: database.prepare<[string, string], number>(
      'SELECT 1 FROM fiat_statements WHERE provider = ? AND day = ?',
    ),
    addStated: database.prepare<[string, string]>(
      'INSERT INTO fiat_stated (session_id, day) VALUES (?, ?) ON CONFLICT (session_id) DO NOTHING',
    ),
    isStated: database.prepare<[string], number>('SELECT 1 FROM fiat_stated WHERE session_id = ?').pluck(),
    known: database.prepare<[string, string, string], Difference>(
      `SELECT ${COLUMNS} FROM fiat_differences WHERE provider = ? AND transaction_id = ? AND kind = ?`,
    ),
    ofTransaction: database.prepare<[string, string], Difference>(
      `SELECT ${COLUMNS} FROM fiat_differences WHERE provider = ? AND transaction_id = ? ORDER BY kind`,
    ),
    add: database.prepare<FoundDifference & { nowMs: number }>(
      `INSERT INTO fiat_differences (provider, transaction_id, kind, day, session_id, account_index, ours_micro,
         theirs_micro, claim_micro, found_ms)
       VALUES ($provider, $transactionId, $kind, $day, $sessionId, $account, $oursMicro, $theirsMicro, $claimMicro,
         $nowMs)
       ON CONFLICT (provider, transaction_id, kind) DO UPDATE SET day = $day, session_id = $sessionId,
         account_index = $account, ours_micro = $oursMicro, theirs_micro = $theirsMicro, claim_micro = $claimMicro,
         closed_ms = NULL, closed_by = NULL, note = NULL`,
    ),
    settle: database.prepare<[number, string, string, string]>(
      `UPDATE fiat_differences SET closed_ms = ?, closed_by = ''
       WHERE provider = ? AND transaction_id = ? AND kind = ? AND closed_ms IS NULL`,
    ),
    listOpen: database.prepare<[number, number], Difference>(
      `SELECT ${COLUMNS} FROM fiat_differences WHERE closed_ms IS NULL ORDER BY sequence DESC LIMIT ? OFFSET ?`,
    ),
    listAll: database.prepare<[number, number], Difference>(
      `SELECT ${COLUMNS} FROM fiat_differences ORDER BY sequence DESC LIMIT ? OFFSET ?`,
    ),
    find: database.prepare<[number], Difference>(`SELECT ${COLUMNS} FROM fiat_differences WHERE sequence = ?`),
    close: database.prepare<{ sequence: number; closedBy: string; note: string; nowMs: number }>(
      `UPDATE fiat_differences SET closed_ms = $nowMs, closed_by = $closedBy, note = $note
       WHERE sequence = $sequence AND closed_ms IS NULL`,
    ),
    openCount: database
      .prepare<[], number>(
        `SELECT COUNT(*) FROM (SELECT 1 FROM fiat_differences WHERE closed_ms IS NULL LIMIT ${MOST_COUNTED})`,
      )
      .pluck(),
    claimMicro: database
      .prepare<[], number>(
        `SELECT COALESCE(SUM(claim_micro), 0) FROM
           (SELECT claim_micro FROM fiat_differences WHERE closed_ms IS NULL LIMIT ${MOST_COUNTED})`,
      )
      .pluck(),
  };
}
