/** The history of a market: its prices by interval, and its newest trades (RULES.md 13.4). */
import { MARKET_TRADES, PRICE_HISTORY, PRICE_HISTORY_QUERY } from '../../shared/api/statistics.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketReads } from './reads.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';

type HistoryDeps = MarketDeps & { readonly queries: Pick<MarketReads, 'ofPublic'> };

const READ = {
  method: 'GET',
  access: 'public',
  params: ID_PARAM,
  errors: ['MARKET_NOT_FOUND', 'ENGINE_BUSY'],
} as const;

const SHOW_HISTORY = {
  ...READ,
  path: '/v1/markets/:id/history',
  id: 'listPriceHistory',
  summary: 'The last price of each interval with trades, oldest first, at most 1,000 of them.',
  query: PRICE_HISTORY_QUERY,
  answers: { 200: PRICE_HISTORY },
} as const satisfies RouteSpec;

const SHOW_TRADES = {
  ...READ,
  path: '/v1/markets/:id/trades',
  id: 'listMarketTrades',
  summary: 'The newest 100 trades of a market.',
  answers: { 200: MARKET_TRADES },
} as const satisfies RouteSpec;

export function marketHistoryRoutes(deps: HistoryDeps): Route[] {
  return [route(SHOW_HISTORY, (call) => showHistory(call, deps)), route(SHOW_TRADES, (call) => showTrades(call, deps))];
}

async function showHistory(call: CallOf<typeof SHOW_HISTORY>, deps: HistoryDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const { interval } = call.query;
  call.readsPast();
  const result = await deps.queries.ofPublic(call, 'priceHistory', { market: market.index, interval });
  if (result.ok) ok(call, { market_id: market.id, history: result.value });
  else refuse(call, { row: result.row });
}

async function showTrades(call: CallOf<typeof SHOW_TRADES>, deps: HistoryDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  call.readsPast();
  const result = await deps.queries.ofPublic(call, 'marketTrades', { market: market.index });
  if (result.ok) ok(call, { trades: result.value });
  else refuse(call, { row: result.row });
}
