/** Statements of providers, for operators (RULES.md 16.80 to 16.84). */
import {
  CLOSE_BODY,
  CLOSED_DIFFERENCE,
  DIFFERENCE_PARAM,
  DIFFERENCES,
  DIFFERENCES_QUERY,
  MAX_STATEMENT_BYTES,
  STATEMENT_BODY,
  STATEMENT_REPORT,
} from '../../shared/api/fiatStatements.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Accounts } from '../account/accounts.ts';
import { ProviderDown } from '../http/providerCalls.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Fiat } from './fiat.ts';
import { timeOf } from './fiatJson.ts';
import type { Difference } from './fiatStatementsStore.ts';
import type { StatedRow } from './provider.ts';
import { DAY_MS, startOfDay } from './statements.ts';

type StatementDeps = { readonly fiat: Fiat; readonly accounts: Pick<Accounts, 'idOf'>; readonly clock: Clock };

const ACT = { method: 'POST', access: 'treasury' } as const;
const ASK_MS = 10_000;

const COMPARE = {
  ...ACT,
  path: '/admin/fiat/statements',
  id: 'adminCompareFiatStatement',
  summary: "Compares a provider's statement of a day with our sessions; it may be repeated.",
  body: STATEMENT_BODY,
  maxBodyBytes: MAX_STATEMENT_BYTES,
  answers: { 200: STATEMENT_REPORT },
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

const LIST = {
  method: 'GET',
  access: 'viewer',
  path: '/admin/fiat/differences',
  id: 'adminListFiatDifferences',
  summary: 'What statements of providers have that does not agree with our sessions, and what accounts owe.',
  query: DIFFERENCES_QUERY,
  answers: { 200: DIFFERENCES },
} as const satisfies RouteSpec;

const CLOSE = {
  ...ACT,
  path: '/admin/fiat/differences/:difference/close',
  id: 'adminCloseFiatDifference',
  summary: 'Closes a difference once it is cleared up, with a note of how.',
  params: DIFFERENCE_PARAM,
  body: CLOSE_BODY,
  answers: { 200: CLOSED_DIFFERENCE },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

export function fiatStatementRoutes(deps: StatementDeps): Route[] {
  return [
    route(COMPARE, (call) => compare(call, deps)),
    route(LIST, (call) => list(call, deps)),
    route(CLOSE, (call) => close(call, deps)),
  ];
}

async function compare(call: CallOf<typeof COMPARE>, deps: StatementDeps): Promise<void> {
  const { fiat, clock } = deps;
  const { provider, day, rows } = call.body;
  const startMs = startOfDay(day);
  const wrong = (message: string): void => refuse(call, { row: ERRORS.VALIDATION_ERROR, message });
  if (startMs === null) return wrong('day: there is no such day');
  if (startMs + DAY_MS > clock.nowMs()) return wrong('day: it is not over yet');
  const stated = rows?.map((row): StatedRow => ({ ...row, transactionId: row.transaction_id }));
  const all = stated ?? (await askedOf(call, deps, provider, startMs));
  if (all === null) return;
  const names = new Set(all.map(({ transactionId }) => transactionId));
  if (names.size < all.length) return wrong('rows: a transaction is there twice');
  const { matched, differences } = fiat.statements.compare(provider, day, all);
  await fiat.statementRows.durable();
  ok(call, { provider, day, rows: all.length, matched, differences: differences.map((each) => shown(each, deps)) });
}

/** Null: the call is refused. */
async function askedOf(
  call: CallOf<typeof COMPARE>,
  { fiat }: StatementDeps,
  name: string,
  startMs: number,
): Promise<readonly StatedRow[] | null> {
  const provider = fiat.providers.get(name);
  if (provider?.statement === undefined) {
    const message = provider === undefined ? 'provider: it is not open here' : 'it gives no statements: send the rows';
    refuse(call, { row: provider === undefined ? ERRORS.VALIDATION_ERROR : ERRORS.CONFLICT, message });
    return null;
  }
  try {
    return await provider.statement(startMs, AbortSignal.timeout(ASK_MS));
  } catch (error) {
    if (!(error instanceof ProviderDown)) throw error;
    refuse(call, { row: ERRORS.FIAT_UNAVAILABLE, message: 'the provider gives no statement now' });
    return null;
  }
}

function list(call: CallOf<typeof LIST>, deps: StatementDeps): void {
  const { statementRows } = deps.fiat;
  const { all, limit, offset } = call.query;
  ok(call, {
    open: statementRows.openCount,
    claim_micro: String(statementRows.claimMicro),
    differences: statementRows.list(!all, limit, offset).map((each) => shown(each, deps)),
  });
}

async function close(call: CallOf<typeof CLOSE>, deps: StatementDeps): Promise<void> {
  const { statementRows } = deps.fiat;
  const sequence = Number(call.params.difference);
  const before = statementRows.find(sequence);
  if (before === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'difference not found' });
  if (before.closedMs !== null) return refuse(call, { row: ERRORS.CONFLICT, message: 'it is closed already' });
  statementRows.close(sequence, call.principal.name, call.body.note, deps.clock.nowMs());
  await statementRows.durable();
  ok(call, shown(statementRows.find(sequence)!, deps));
}

function shown(difference: Difference, { accounts }: StatementDeps) {
  const { sequence, account, oursMicro, theirsMicro, claimMicro, foundMs, closedMs } = difference;
  const micro = (value: number | null): string | null => (value === null ? null : String(value));
  return {
    id: sequence,
    provider: difference.provider,
    transaction_id: difference.transactionId,
    kind: difference.kind,
    day: difference.day,
    session_id: difference.sessionId,
    user_id: account === null ? null : accounts.idOf(account),
    ours_micro: micro(oursMicro),
    theirs_micro: micro(theirsMicro),
    claim_micro: String(claimMicro),
    found_at: timeOf(foundMs),
    closed_at: closedMs === null ? null : timeOf(closedMs),
    closed_by: difference.closedBy,
    note: difference.note,
  };
}
