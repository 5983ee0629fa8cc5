/** The administrator's routes for event sets (RULES.md 19): made with all of their markets, and decided as a whole. */
import { APPROVAL } from '../../shared/api/approvals.ts';
import {
  EVENT_SET,
  NEW_EVENT_SET,
  RESERVED_SLUG,
  SET_CANCELLATION,
  SET_RESOLUTION,
  type SetResolution,
} from '../../shared/api/events.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { Refusal } from '../base/refusal.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog, EventEntry, MarketEntry } from './catalog.ts';
import { eventOf } from './eventJson.ts';
import type { EventSetCommands } from './eventSetCommands.ts';
import { isSet } from './eventSets.ts';
import { completeEventDetails, toSlug } from './marketDetails.ts';
import type { MarketResponses } from './marketJson.ts';
import { invalidField, readNewMembers } from './newMarket.ts';

type AdminEventSetDeps = ApprovalDeps & {
  readonly catalog: Catalog;
  readonly eventSets: EventSetCommands;
  readonly responses: MarketResponses;
  readonly defaultFeeBps: number;
  readonly clock: Clock;
};

const CREATE = {
  access: 'catalogue',
  method: 'POST',
  path: '/admin/event-sets',
  id: 'adminCreateEventSet',
  summary: 'Makes an event set with its markets, of which exactly one outcome will win.',
  storing: true,
  limit: 'createMarket',
  body: NEW_EVENT_SET,
  answers: { 201: EVENT_SET },
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'SETS_UNAVAILABLE', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const STEP = {
  access: 'catalogue',
  method: 'POST',
  params: ID_PARAM,
  answers: { 200: EVENT_SET, 202: APPROVAL },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'NOT_A_SET', 'INVALID_TRANSITION', 'CONFLICT', 'OUTCOME_UNKNOWN'],
} as const;

const RESOLVE = {
  ...STEP,
  path: '/admin/event-sets/:id/resolve',
  id: 'adminResolveEventSet',
  summary: 'Decides all markets of a set at once: the winner, or parts that add up to one USDC.',
  limit: 'resolveMarket',
  body: SET_RESOLUTION,
} as const satisfies RouteSpec;

const CANCEL = {
  ...STEP,
  path: '/admin/event-sets/:id/cancel',
  id: 'adminCancelEventSet',
  summary: 'Decides a set without an answer: every Yes pays an equal part, unless the body says otherwise.',
  body: SET_CANCELLATION,
  bodyOptional: true,
} as const satisfies RouteSpec;

const SETTLE = {
  ...STEP,
  path: '/admin/event-sets/:id/settle',
  id: 'adminSettleEventSet',
  summary: 'Pays every holder of a decided set who has not claimed.',
  answers: { 200: EVENT_SET },
} as const satisfies RouteSpec;

type SetCall = CallOf<typeof RESOLVE | typeof CANCEL | typeof SETTLE>;
/** The payouts of Yes in millionths, by market. */
type Payouts = ReadonlyMap<string, number>;

export function adminEventSetRoutes(deps: AdminEventSetDeps): Route[] {
  const { RESOLVED, CANCELLED } = MARKET_STATUS;
  return [
    route(CREATE, (call) => create(call, deps)),
    route(RESOLVE, (call) => decide(call, deps, RESOLVED, call.body)),
    route(CANCEL, (call) => decide(call, deps, CANCELLED, call.body.payouts ? call.body : null)),
    route(SETTLE, (call) => end(call, deps, (event) => deps.eventSets.settle(event))),
  ];
}

async function create(call: CallOf<typeof CREATE>, deps: AdminEventSetDeps): Promise<void> {
  const { clock, eventSets, responses } = deps;
  const { event, winners: _, markets, ...terms } = call.body;
  const read = readNewMembers(event, terms, markets, { nowMs: clock.nowMs(), defaultFeeBps: deps.defaultFeeBps });
  if ('refusal' in read) return refuse(call, read.refusal);
  const { slug = toSlug(call.body.event.title), ...details } = call.body.event;
  if (slug === '' || slug === RESERVED_SLUG)
    return refuse(call, invalidField('slug', 'given where the title makes none'));
  const opened = await eventSets.open(slug, completeEventDetails(details, clock.nowMs()), read.markets);
  if ('refusal' in opened) refuse(call, opened.refusal);
  else ok(call, shown(opened.event, opened.event.markets, responses), 201);
}

function readPayouts(
  { winner, payouts = [] }: SetResolution,
  { markets }: EventEntry,
): { readonly payouts: Payouts } | { readonly refusal: Refusal } {
  const given = winner === undefined ? payouts : [{ market_id: winner, payout_yes_ppm: PPM }];
  const read = new Map<string, number>();
  for (const { market_id, payout_yes_ppm } of given) {
    const id = market_id.toLowerCase();
    if (!markets.some((market) => market.id === id))
      return { refusal: { row: ERRORS.VALIDATION_ERROR, message: `market ${id} is not of this set` } };
    if (read.has(id)) return { refusal: invalidField('payouts', 'one for each market') };
    read.set(id, payout_yes_ppm);
  }
  const sum = [...read.values()].reduce((total, ppm) => total + ppm, 0);
  return sum === PPM ? { payouts: read } : { refusal: invalidField('payouts', `add up to ${PPM}`) };
}

async function decide(
  call: SetCall,
  deps: AdminEventSetDeps,
  status: typeof MARKET_STATUS.RESOLVED | typeof MARKET_STATUS.CANCELLED,
  wanted: SetResolution | null,
): Promise<void> {
  const event = requireSet(call, deps);
  if (event === null) return;
  const read = wanted === null ? { payouts: null } : readPayouts(wanted, event);
  if ('refusal' in read) return refuse(call, read.refusal);
  const { payouts } = read;
  const request = {
    kind: 'set_resolution',
    event_id: event.id,
    status: status === MARKET_STATUS.RESOLVED ? 'resolved' : 'cancelled',
    payouts: payouts === null ? null : Object.fromEntries(payouts),
  } as const;
  if (waitsForSecond(call, deps, `resolution ${event.id}`, request)) return;
  await end(call, deps, (known) => deps.eventSets.decide(known, status, payouts));
}

async function end(
  call: SetCall,
  deps: AdminEventSetDeps,
  step: (event: EventEntry) => Promise<Refusal | null>,
): Promise<void> {
  const event = requireSet(call, deps);
  if (event === null) return;
  noteBefore(call, shown(event, event.markets, deps.responses));
  const refusal = await step(event);
  if (refusal === null) ok(call, shown(event, event.markets, deps.responses));
  else refuse(call, refusal);
}

function requireSet(call: SetCall, { catalog }: AdminEventSetDeps): EventEntry | null {
  const event = catalog.eventById(call.params.id);
  if (isSet(event)) return event;
  if (event === undefined) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  else refuse(call, { row: ERRORS.NOT_A_SET });
  return null;
}

function shown(event: EventEntry, markets: readonly MarketEntry[], responses: MarketResponses): string {
  const texts = markets.map((market) => responses.toJson(market));
  return `{"event":${JSON.stringify(eventOf(event))},"markets":[${texts.join(',')}]}`;
}
