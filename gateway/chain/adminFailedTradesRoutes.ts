/** The administrator's routes for trades that the contract refuses for good (RULES.md 17.40 to 17.42). */
import { APPROVAL } from '../../shared/api/approvals.ts';
import { FAILED_TRADES, FAILED_TRADES_QUERY, MENDED_TRADE } from '../../shared/api/failedTrades.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import type { FailedTrade } from '../../shared/wire/tradeQuestions.ts';
import type { Accounts } from '../account/accounts.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { FailedTrades } from './failedTrades.ts';

type FailedTradeDeps = ApprovalDeps & {
  readonly accounts: Pick<Accounts, 'idOf'>;
  readonly catalog: Pick<Catalog, 'byIndex'>;
  readonly failedTrades: FailedTrades;
};

const LIST = {
  method: 'GET',
  path: '/admin/settlement/failed',
  id: 'adminListFailedTrades',
  summary: 'Trades that the contract refuses for good: each is tried again or unwound.',
  access: 'viewer',
  query: FAILED_TRADES_QUERY,
  answers: { 200: FAILED_TRADES },
} as const satisfies RouteSpec;

const ACT = {
  access: 'treasury',
  method: 'POST',
  params: ID_PARAM,
  answers: { 200: MENDED_TRADE },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const;

const RETRY = {
  ...ACT,
  path: '/admin/settlement/trades/:id/retry',
  id: 'adminRetryTrade',
  summary: 'Has a trade that has failed tried again, once its cause is mended.',
} as const satisfies RouteSpec;

const UNWIND = {
  ...ACT,
  path: '/admin/settlement/trades/:id/unwind',
  id: 'adminUnwindTrade',
  summary: 'Undoes a trade that has failed in the ledger, for both parties; a repeat changes nothing.',
  answers: { 200: MENDED_TRADE, 202: APPROVAL },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'INSUFFICIENT_BALANCE', 'MARKET_NOT_ACTIVE', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function failedTradeRoutes(deps: FailedTradeDeps): Route[] {
  return [
    route(LIST, (call) => list(call, deps)),
    route(RETRY, (call) => retry(call, deps)),
    route(UNWIND, (call) => unwind(call, deps)),
  ];
}

async function list(call: CallOf<typeof LIST>, deps: FailedTradeDeps): Promise<void> {
  const found = await deps.failedTrades.list(call.query.cursor, call.query.limit);
  if ('row' in found) refuse(call, found);
  else ok(call, { trades: found.trades.map((trade) => shown(trade, deps)), next_cursor: found.next });
}

function shown(trade: FailedTrade, { accounts, catalog }: FailedTradeDeps) {
  const { shard, tradeSequence, matchedMs, lots, yesTicks, reason, failedMs } = trade;
  const { id, ticksPerUnit } = catalog.byIndex(trade.market);
  return {
    trade_id: timeOrderedId(matchedMs, shard, ID_KIND.TRADE, tradeSequence),
    market_id: id,
    maker_user_id: accounts.idOf(trade.maker),
    taker_user_id: accounts.idOf(trade.taker),
    price: tickToPrice8(yesTicks, ticksPerUnit),
    token_quantity_atomic: String(mulSafe(lots, ticksPerUnit)),
    reason,
    matched_at: new Date(matchedMs).toISOString(),
    failed_at: new Date(failedMs).toISOString(),
  };
}

async function retry(call: CallOf<typeof RETRY>, { failedTrades }: FailedTradeDeps): Promise<void> {
  const { id } = call.params;
  const refusal = await failedTrades.retry(id);
  if (refusal !== null) return refuse(call, refusal);
  noteBefore(call, { settlement_status: 'failed' });
  ok(call, { trade_id: id.toLowerCase(), settlement: 'tried_again' });
}

async function unwind(call: CallOf<typeof UNWIND>, deps: FailedTradeDeps): Promise<void> {
  const id = call.params.id.toLowerCase();
  const early = await deps.failedTrades.whyNotUnwound(id);
  if (early !== null) return refuse(call, early);
  if (waitsForSecond(call, deps, `unwinding ${id}`, { kind: 'unwinding', trade_id: id })) return;
  const refusal = await deps.failedTrades.unwind(id);
  if (refusal !== null) return refuse(call, refusal);
  noteBefore(call, { settlement_status: 'failed' });
  ok(call, { trade_id: id, settlement: 'unwound' });
}
