/** The request that a market is deployed (RULES.md 9.19). */
import { DEPLOYMENT } from '../../../shared/api/markets.ts';
import { isDecided } from '../../../shared/base/codes.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import type { Deployment } from '../../operator/deployment.ts';
import { deployStatus } from '../../store/deployments.ts';
import { ID_PARAM, type MarketDeps, requireMarket } from '../json/pathParams.ts';

type DeployDeps = MarketDeps & { readonly deployment: Deployment };

const DEPLOY = {
  method: 'POST',
  path: '/v1/markets/:id/deploy',
  summary: 'Deploys a market: its condition and question get their ids. A repeat changes nothing.',
  access: 'trade:orders',
  limit: 'deployMarket',
  storing: true,
  params: ID_PARAM,
  answers: { 200: DEPLOYMENT },
  errors: ['MARKET_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

export function deployRoutes(deps: DeployDeps): Route[] {
  return [route(DEPLOY, (call) => deploy(call, deps))];
}

async function deploy(call: CallOf<typeof DEPLOY>, deps: DeployDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const refusal = await deps.deployment.request(market, isDecided(deps.views.markets.status(market.index)));
  if (refusal === null) ok(call, { status: deployStatus(market), market_id: market.id });
  else refuse(call, refusal);
}
