/** The administrator's routes for the end of a market: whom it concerns, resolve, cancel, settle (RULES.md 9.6). */
import { APPROVAL } from '../../shared/api/approvals.ts';
import { CANCELLATION, MARKET, type Payouts, RESOLUTION, type Resolution } from '../../shared/api/markets.ts';
import { HOLDERS } from '../../shared/api/positions.ts';
import { MARKET_STATUS, type MarketStatus, OUTCOME } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { Refusal } from '../base/refusal.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketEntry } from './catalog.ts';
import type { MarketCommands } from './marketCommands.ts';
import type { MarketResponses } from './marketJson.ts';
import type { MarketReads } from './reads.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';

type AdminResolutionDeps = MarketDeps &
  ApprovalDeps & {
    readonly marketCommands: MarketCommands;
    readonly responses: MarketResponses;
    readonly queries: Pick<MarketReads, 'ofPublic'>;
  };

const DECIDED: readonly MarketStatus[] = [MARKET_STATUS.RESOLVED, MARKET_STATUS.CANCELLED, MARKET_STATUS.SETTLED];
const REFUND: Payouts = [PPM / 2, PPM / 2];

const STEP = {
  access: 'catalogue',
  method: 'POST',
  params: ID_PARAM,
  answers: { 200: MARKET, 202: APPROVAL },
  errors: [
    'VALIDATION_ERROR',
    'MARKET_NOT_FOUND',
    'INVALID_TRANSITION',
    'MEMBER_OF_SET',
    'TOO_FEW_MEMBERS',
    'CONFLICT',
    'OUTCOME_UNKNOWN',
    'SETTLEMENT_UNHEALTHY',
  ],
} as const;

const RESOLVE = {
  ...STEP,
  path: '/admin/markets/:id/resolve',
  id: 'adminResolveMarket',
  summary: 'Decides a market: cancels its orders and lets holders claim.',
  limit: 'resolveMarket',
  body: RESOLUTION,
} as const satisfies RouteSpec;

const CANCEL = {
  ...STEP,
  path: '/admin/markets/:id/cancel',
  id: 'adminCancelMarket',
  summary: 'Decides a market without an answer: half a USDC for every token, unless the body says otherwise.',
  body: CANCELLATION,
  bodyOptional: true,
} as const satisfies RouteSpec;

const SETTLE = {
  ...STEP,
  path: '/admin/markets/:id/settle',
  id: 'adminSettleMarket',
  summary: 'Pays every holder who has not claimed.',
  answers: { 200: MARKET },
} as const satisfies RouteSpec;

const SHOW_HOLDERS = {
  access: 'viewer',
  method: 'GET',
  path: '/admin/markets/:id/holders',
  id: 'adminGetHolders',
  summary: 'How many accounts hold tokens of a market.',
  params: ID_PARAM,
  answers: { 200: HOLDERS },
  errors: ['MARKET_NOT_FOUND', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

type MarketCall = CallOf<typeof RESOLVE | typeof CANCEL | typeof SETTLE>;

export function adminResolutionRoutes(deps: AdminResolutionDeps): Route[] {
  const { marketCommands } = deps;
  const { RESOLVED, CANCELLED } = MARKET_STATUS;
  return [
    route(RESOLVE, (call) => decide(call, deps, RESOLVED, payoutsOf(call.body))),
    route(CANCEL, (call) => decide(call, deps, CANCELLED, call.body.payouts ?? REFUND)),
    route(SHOW_HOLDERS, (call) => showHolders(call, deps)),
    route(SETTLE, (call) => end(call, deps, (market) => marketCommands.settle(market))),
  ];
}

async function showHolders(call: CallOf<typeof SHOW_HOLDERS>, deps: AdminResolutionDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const holders = await deps.queries.ofPublic(call, 'marketHolders', { market: market.index });
  if (holders.ok) ok(call, { accounts: holders.value });
  else refuse(call, { row: holders.row });
}

function payoutsOf(body: Resolution): Payouts {
  if (body.payouts !== undefined) return body.payouts;
  return body.outcome_index === OUTCOME.YES ? [PPM, 0] : [0, PPM];
}

async function decide(
  call: MarketCall,
  deps: AdminResolutionDeps,
  status: typeof MARKET_STATUS.RESOLVED | typeof MARKET_STATUS.CANCELLED,
  [yes, no]: Payouts,
): Promise<void> {
  if (yes + no !== PPM)
    return refuse(call, {
      row: ERRORS.VALIDATION_ERROR,
      message: 'invalid payouts',
      details: { field: 'payouts', rule: `add up to ${PPM}` },
    });
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const request = {
    kind: 'resolution',
    market_id: market.id,
    status: status === MARKET_STATUS.RESOLVED ? 'resolved' : 'cancelled',
    payouts: [yes, no],
  } as const;
  // A market that is decided already is refused at once.
  const isDecided = DECIDED.includes(deps.views.markets.status(market.index));
  if (!isDecided && waitsForSecond(call, deps, `resolution ${market.id}`, request)) return;
  await end(call, deps, (known) => deps.marketCommands.decide(known, status, yes));
}

async function end(
  call: MarketCall,
  deps: AdminResolutionDeps,
  step: (market: MarketEntry) => Promise<Refusal | null>,
): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  noteBefore(call, deps.responses.toJson(market));
  const refusal = await step(market);
  if (refusal === null) ok(call, deps.responses.toJson(market));
  else refuse(call, refusal);
}
