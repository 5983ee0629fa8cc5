/** The route for one market of the public catalogue. */
import { MARKET } from '../../shared/api/markets.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog } from './catalog.ts';
import type { MarketResponses } from './marketJson.ts';
import { requireMarket } from './requireMarket.ts';

type MarketDeps = { readonly catalog: Catalog; readonly views: Views; readonly responses: MarketResponses };

const SHOW_MARKET = {
  method: 'GET',
  path: '/v1/markets/:id',
  id: 'getMarket',
  summary: 'One market.',
  access: 'public',
  limit: 'market',
  params: ID_PARAM,
  answers: { 200: MARKET },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

export function marketRoutes(deps: MarketDeps): Route[] {
  return [route(SHOW_MARKET, (call) => showMarket(call, deps))];
}

function showMarket(call: CallOf<typeof SHOW_MARKET>, deps: MarketDeps): void {
  const market = requireMarket(call, deps, call.params.id);
  if (market !== null) ok(call, deps.responses.toJson(market));
}
