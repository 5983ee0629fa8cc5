/**
 * Statements: everything that changed the balances of an account between two moments, with the balances before and
 * after it (RULES.md 14.42).
 *
 * An answer may have millions of lines. It is read a page at a time, each page while the previous one is written, so
 * two are in memory, and a slow client delays only its own answer. In the query pool each page waits for its account's
 * turn like any other query.
 */
import { STATEMENT, STATEMENT_QUERY } from '../../shared/api/ledger.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import { okInRows, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { Movements } from './movements.ts';
import type { AccountReads } from './reads.ts';
import { StatementReader } from './statementReader.ts';
import { csvRows, jsonRows } from './statementRows.ts';

type StatementDeps = {
  readonly queries: Pick<AccountReads, 'furtherOfAccount' | 'generation' | 'ofAccount'>;
  readonly movements: Pick<Movements, 'byHash'>;
  readonly markets: Pick<MarketViews, 'id'>;
  readonly clock: Clock;
};

const SHOW = {
  method: 'GET',
  path: '/v1/user/statement',
  id: 'getStatement',
  summary: 'Every change of the balances in a period, with the balances before and after it; as JSON or CSV.',
  access: 'authenticated',
  query: STATEMENT_QUERY,
  answers: { 200: STATEMENT },
} as const satisfies RouteSpec;

const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

export function statementRoutes(deps: StatementDeps): Route[] {
  return [route(SHOW, (call) => show(call, deps))];
}

async function show(call: CallOf<typeof SHOW>, { queries, movements, markets, clock }: StatementDeps): Promise<void> {
  const { from, to, format } = call.query;
  const nowMs = clock.nowMs();
  const fromMs = from === undefined ? null : parseTimeMs(from);
  const toMs = to === undefined ? null : parseTimeMs(to);
  if (fromMs !== null && (fromMs > nowMs || (toMs !== null && fromMs >= toMs))) {
    const details = { field: 'from', rule: 'before', value: from };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'from must be before to', details });
    return;
  }
  const reader = new StatementReader(queries, call, { fromMs, toMs, nowMs });
  const opened = await reader.open(format);
  if (!opened.ok) return refuse(call, { row: opened.row });
  const known = { movements, marketId: (index: number): string => markets.id(index) };
  if (format === 'csv') okInRows(call, csvRows(reader, known), CSV_TYPE);
  else okInRows(call, jsonRows(reader, known));
}
