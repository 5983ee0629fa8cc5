/**
 * Compares a provider's statement of a day with the exchange's sessions and the USDC that they have moved (RULES.md
 * 16.80). It changes no balance: differences are kept for operators, and a debt of an account is recorded with its
 * difference as a claim.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   STATEMENTS-1  A statement may be compared again, in any order with others: the result is the same differences. A
 *                 difference that a later statement explains is closed.
 *   STATEMENTS-2  Only an operator closes a difference about money that came back after a success.
 */
import type { DifferenceKind } from '../../shared/api/fiatStatements.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { NOT_A_NUMBER, tryParseUnits } from '../../shared/base/units.ts';
import type { FiatChanges } from './changes.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { Difference, FiatStatements, FoundDifference } from './fiatStatementsStore.ts';
import type { FiatTransfers } from './fiatTransfersStore.ts';
import type { StatedRow } from './provider.ts';

type Comparison = { readonly matched: number; readonly differences: readonly Difference[] };

type StatementDeps = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly statements: FiatStatements;
  readonly changes: FiatChanges;
  readonly clock: Clock;
};

export const DAY_MS = 86_400_000;
/** A session that is completed on a day was begun at most this long before. */
const LONGEST_MS = 3 * DAY_MS;
/** Kinds of differences that a later statement may explain. */
const PASSING: readonly DifferenceKind[] = ['missing_here', 'missing_there', 'other_amount', 'not_completed_here'];

/** Returns the first moment of a day in UTC; null if there is no such day. */
export function startOfDay(day: string): number | null {
  const startMs = Date.parse(`${day}T00:00:00.000Z`);
  return Number.isNaN(startMs) || new Date(startMs).toISOString().slice(0, 10) !== day ? null : startMs;
}

export class Statements {
  readonly #deps: StatementDeps;

  constructor(deps: StatementDeps) {
    this.#deps = deps;
  }

  /** STATEMENTS-1. @param rows all rows of the day, each transaction once. */
  compare(provider: string, day: string, rows: readonly StatedRow[]): Comparison {
    const { statements, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const judged = rows.map((row) => ({ row, ...this.#judge(provider, day, row) }));
    const fresh: FoundDifference[] = [];
    const stated = new Set(judged.flatMap(({ session }) => session?.id ?? []));
    const missing = this.#missingThere(provider, day, stated);
    statements.compared({ provider, day, rowCount: rows.length, nowMs }, () => {
      for (const { row, session, found } of judged) {
        if (session !== null) {
          statements.addStated(session.id, day);
          statements.settle(provider, session.id, ['missing_there'], nowMs);
        }
        const gone = PASSING.filter((kind) => kind !== found?.kind);
        statements.settle(provider, row.transactionId, gone, nowMs);
        if (found !== null && statements.add(found, nowMs)) fresh.push(found);
      }
      for (const found of missing) if (statements.add(found, nowMs)) fresh.push(found);
    });
    this.#raiseAlarms(fresh);
    const names = [...rows.map(({ transactionId }) => transactionId), ...missing.map((each) => each.transactionId)];
    const differences = names.flatMap((name) => statements.ofTransaction(provider, name));
    return {
      matched: judged.filter(({ found }) => found === null).length,
      differences: differences.filter(({ closedMs }) => closedMs === null),
    };
  }

  #judge(
    provider: string,
    day: string,
    row: StatedRow,
  ): { readonly session: FiatSession | null; readonly found: FoundDifference | null } {
    const { transactionId, reference, kind, status } = row;
    const named = reference === '' ? undefined : this.#deps.sessions.ofReference(reference);
    const session = named?.provider === provider && named.kind === kind ? named : null;
    const parsed = row.currency.toUpperCase() === 'USDC' ? tryParseUnits(row.amount) : NOT_A_NUMBER;
    const theirsMicro = parsed === NOT_A_NUMBER ? null : parsed;
    const oursMicro = session === null ? null : this.#movedMicro(session);
    const found = (difference: DifferenceKind, claimMicro = 0) => {
      const [sessionId, account] = [session?.id ?? null, session?.account ?? null];
      const amounts = { oursMicro, theirsMicro, claimMicro };
      return { session, found: { provider, transactionId, kind: difference, day, sessionId, account, ...amounts } };
    };
    if (session === null) return found('missing_here');
    if (status === 'settled') {
      if (oursMicro === null || session.status !== 'completed') return found('not_completed_here');
      return oursMicro === theirsMicro ? { session, found: null } : found('other_amount');
    }
    // There is no difference if the money came back before any USDC had moved, or if the session knows it.
    const isKnown = oursMicro === null || session.failureCode === 'provider_refunded';
    if (isKnown) return { session, found: null };
    // The buyer has both the USDC and the money. In a sale the provider has both, and owes one.
    const claimMicro = kind === 'onramp' ? Math.min(oursMicro, theirsMicro ?? oursMicro) : 0;
    return found(status, claimMicro);
  }

  /** Null if no USDC has moved for it. */
  #movedMicro({ id, kind }: FiatSession): number | null {
    const { sessions, transfers } = this.#deps;
    if (transfers.claimsOf(id).length === 0) return null;
    if (kind === 'offramp') return transfers.intentOf(id)?.valueMicro ?? null;
    const credited = sessions.transitionsOf(id).findLast(({ cause }) => cause === 'deposit_credited');
    const { credited_micro } = JSON.parse(credited?.evidence ?? '{}') as { readonly credited_micro?: number };
    return credited_micro ?? null;
  }

  #missingThere(provider: string, day: string, stated: ReadonlySet<string>): FoundDifference[] {
    const { sessions, statements } = this.#deps;
    const startMs = startOfDay(day)!;
    const begun = sessions.completedOf(provider, startMs - LONGEST_MS, startMs + DAY_MS);
    return begun.flatMap((session): FoundDifference[] => {
      if (stated.has(session.id) || statements.isStated(session.id)) return [];
      const steps = sessions.transitionsOf(session.id);
      const completed = steps.find(({ subject, toState }) => subject === 'status' && toState === 'completed');
      const isOfDay = completed !== undefined && completed.atMs >= startMs && completed.atMs < startMs + DAY_MS;
      const oursMicro = this.#movedMicro(session);
      if (!isOfDay || oursMicro === null) return [];
      const { id: sessionId, account } = session;
      const amounts = { oursMicro, theirsMicro: null, claimMicro: 0 };
      return [{ provider, transactionId: sessionId, kind: 'missing_there', day, sessionId, account, ...amounts }];
    });
  }

  #raiseAlarms(fresh: readonly FoundDifference[]): void {
    const { sessions, changes } = this.#deps;
    for (const { kind, sessionId, transactionId, claimMicro } of fresh) {
      if (PASSING.includes(kind) || sessionId === null) continue;
      changes.alarm(sessions.find(sessionId)!, kind, { transaction: transactionId, claim_micro: claimMicro });
    }
  }
}
