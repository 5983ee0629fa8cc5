/** The administrator's routes for the end of a market: resolve, cancel, settle (RULES.md 9.6). */
import { MARKET_STATUS, OUTCOME, type Outcome } from '../../shared/codes.ts';
import { ERRORS } from '../../shared/errors.ts';
import { PPM } from '../../shared/payout.ts';
import type { Call } from '../call.ts';
import type { MarketEntry } from '../control/catalog.ts';
import type { MarketDesk, Refusal } from '../control/marketDesk.ts';
import type { MarketResponses } from '../control/marketResponse.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { type MarketDeps, requireMarketParam } from './pathParams.ts';

export type AdminResolutionDeps = MarketDeps & { readonly desk: MarketDesk; readonly responses: MarketResponses };

type Payouts = readonly [yes: number, no: number];
type ResolveBody = { outcome_index: Outcome } | { payouts: Payouts };
type CancelBody = { payouts?: Payouts };

const REFUND: Payouts = [PPM / 2, PPM / 2];
const PAYOUTS = { type: 'array', minItems: 2, maxItems: 2, items: { type: 'integer', minimum: 0, maximum: PPM } };

const RESOLVE_BODY = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO] }, payouts: PAYOUTS },
};

const CANCEL_BODY = { type: 'object', additionalProperties: false, properties: { payouts: PAYOUTS } };

const ADMIN = { access: 'admin', limit: 'unlisted', method: 'POST' } as const;

export function adminResolutionRoutes(deps: AdminResolutionDeps): Route[] {
  const { desk } = deps;
  return [
    {
      ...ADMIN,
      path: '/admin/markets/:id/resolve',
      limit: 'resolveMarket',
      body: RESOLVE_BODY,
      handler: (call) => decide(call, deps, MARKET_STATUS.RESOLVED, payoutsOf(call.json as ResolveBody)),
    },
    {
      ...ADMIN,
      path: '/admin/markets/:id/cancel',
      body: CANCEL_BODY,
      bodyOptional: true,
      handler: (call) => decide(call, deps, MARKET_STATUS.CANCELLED, (call.json as CancelBody).payouts ?? REFUND),
    },
    {
      ...ADMIN,
      path: '/admin/markets/:id/settle',
      handler: (call) => end(call, deps, (market) => desk.settle(market)),
    },
  ];
}

function payoutsOf(body: ResolveBody): Payouts {
  if ('payouts' in body) return body.payouts;
  return body.outcome_index === OUTCOME.YES ? [PPM, 0] : [0, PPM];
}

async function decide(
  call: Call,
  deps: AdminResolutionDeps,
  status: typeof MARKET_STATUS.RESOLVED | typeof MARKET_STATUS.CANCELLED,
  [yes, no]: Payouts,
): Promise<void> {
  if (yes + no !== PPM) {
    fail(call, ERRORS.VALIDATION_ERROR, {
      message: 'invalid payouts',
      details: { field: 'payouts', rule: `add up to ${PPM}` },
    });
    return;
  }
  await end(call, deps, (market) => deps.desk.decide(market, status, yes));
}

async function end(
  call: Call,
  deps: AdminResolutionDeps,
  step: (market: MarketEntry) => Promise<Refusal | null>,
): Promise<void> {
  const market = requireMarketParam(call, deps, 'id');
  if (market === null) return;
  const refusal = await step(market);
  if (refusal === null) ok(call, deps.responses.toJson(market));
  else fail(call, refusal.row, { message: refusal.message });
}
