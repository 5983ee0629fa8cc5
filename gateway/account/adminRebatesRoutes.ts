/** The administrator's route for the share of fees that makers of a market get back (RULES.md 14.45). */
import { MARKET_REBATE, NEW_REBATE } from '../../shared/api/rewards.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { type MarketDeps, requireMarket } from '../markets/requireMarket.ts';
import type { RebateRates } from './rebateRatesStore.ts';

type RebateDeps = MarketDeps & { readonly rebateRates: RebateRates; readonly clock: Clock };

const SET_REBATE = {
  method: 'PUT',
  path: '/admin/markets/:id/rebate',
  id: 'adminSetRebate',
  summary: 'The part of their fees that makers of the market get back from now on; 0 for none.',
  access: 'treasury',
  storing: true,
  params: ID_PARAM,
  body: NEW_REBATE,
  answers: { 200: MARKET_REBATE },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

export function adminRebateRoutes(deps: RebateDeps): Route[] {
  return [route(SET_REBATE, (call) => setRebate(call, deps))];
}

function setRebate(call: CallOf<typeof SET_REBATE>, deps: RebateDeps): void {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const { rebateRates, clock } = deps;
  noteBefore(call, { rebate_bps: rebateRates.of(market.index) });
  const { bps, sinceMs } = rebateRates.set(market.index, call.body.rebate_bps, clock.nowMs());
  ok(call, { market_id: market.id, rebate_bps: bps, since: new Date(sinceMs).toISOString() });
}
