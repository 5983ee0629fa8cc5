/** The administrator's routes for the catalogue: events and markets (RULES.md 9). */

import { EVENT_PATCH, MARKET, MARKET_EVENT, MARKET_PATCH, NEW_EVENT, NEW_MARKET } from '../../../shared/api/markets.ts';
import type { Clock } from '../../../shared/base/clock.ts';
import { MARKET_STATUS, MARKET_STATUS_NAMES, type MarketStatus } from '../../../shared/base/codes.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import type { Call } from '../../http/call.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import {
  completeEventDetails,
  completeMarketDetails,
  DEFAULT_MIN_ORDER_ATOMIC,
  DEFAULT_TICKS_PER_UNIT,
} from '../../operator/marketDetails.ts';
import type { MarketCommands } from '../../operator/markets.ts';
import type { Catalog, NewMarket } from '../../store/catalog.ts';
import type { Views } from '../../views/index.ts';
import { eventOf } from '../json/event.ts';
import type { MarketResponses } from '../json/market.ts';
import { ID_PARAM, requireMarket } from '../json/pathParams.ts';

type AdminCatalogDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly marketCommands: MarketCommands;
  readonly responses: MarketResponses;
  readonly defaultFeeBps: number;
  readonly clock: Clock;
};

const ADMIN = { access: 'catalogue', limit: 'unlisted' } as const;

const CREATE_EVENT = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/events',
  summary: 'Makes an event; without a slug it gets one from its title.',
  storing: true,
  body: NEW_EVENT,
  answers: { 201: MARKET_EVENT },
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
} as const satisfies RouteSpec;

const CHANGE_EVENT = {
  ...ADMIN,
  method: 'PATCH',
  path: '/admin/events/:id',
  summary: 'Changes the description of an event.',
  params: ID_PARAM,
  body: EVENT_PATCH,
  answers: { 200: MARKET_EVENT },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const CREATE_MARKET = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/markets',
  summary: 'Makes a market.',
  storing: true,
  limit: 'createMarket',
  body: NEW_MARKET,
  answers: { 201: MARKET },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const CHANGE_MARKET = {
  ...ADMIN,
  method: 'PATCH',
  path: '/admin/markets/:id',
  summary: 'Changes the description, the terms or the status of a market.',
  params: ID_PARAM,
  body: MARKET_PATCH,
  answers: { 200: MARKET },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'MARKET_NOT_FOUND', 'INVALID_TRANSITION', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function adminCatalogRoutes(deps: AdminCatalogDeps): Route[] {
  return [
    route(CREATE_EVENT, (call) => createEvent(call, deps)),
    route(CHANGE_EVENT, (call) => changeEvent(call, deps)),
    route(CREATE_MARKET, (call) => createMarket(call, deps)),
    route(CHANGE_MARKET, (call) => changeMarket(call, deps)),
  ];
}

function createEvent(call: CallOf<typeof CREATE_EVENT>, { catalog, clock }: AdminCatalogDeps): void {
  const { slug: givenSlug, ...details } = call.body;
  const slug = givenSlug ?? toSlug(details.title);
  if (slug === '') {
    refuseField(call, 'slug', 'required');
    return;
  }
  if (catalog.eventBySlug(slug) !== undefined) {
    refuse(call, { row: ERRORS.CONFLICT, message: 'slug is used by another event' });
    return;
  }
  const nowMs = clock.nowMs();
  const event = catalog.createEvent(slug, completeEventDetails(details, nowMs), nowMs);
  ok(call, eventOf(event), 201);
}

function changeEvent(call: CallOf<typeof CHANGE_EVENT>, { catalog, clock }: AdminCatalogDeps): void {
  const event = catalog.eventById(call.params.id);
  if (event === undefined) {
    refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
    return;
  }
  call.before = eventOf(event);
  catalog.updateEvent(event, { ...event.details, ...call.body }, clock.nowMs());
  ok(call, eventOf(event));
}

async function createMarket(call: CallOf<typeof CREATE_MARKET>, deps: AdminCatalogDeps): Promise<void> {
  const fields = readNewMarket(call, deps);
  if (fields === null) return;
  const opened = await deps.marketCommands.open(fields);
  if ('market' in opened) ok(call, deps.responses.toJson(opened.market), 201);
  else refuse(call, opened.refusal);
}

async function changeMarket(call: CallOf<typeof CHANGE_MARKET>, deps: AdminCatalogDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const { catalog, marketCommands, responses } = deps;
  const { status, event_id, trading_starts_at, trading_ends_at, fee_bps, ...details } = call.body;
  if (event_id != null && catalog.eventById(event_id) === undefined) {
    refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
    return;
  }
  call.before = responses.toJson(market);
  const refusal = await marketCommands.change(market, {
    status: status === undefined ? undefined : (MARKET_STATUS_NAMES.indexOf(status) as MarketStatus),
    feeBps: fee_bps,
    startMs: trading_starts_at === undefined ? undefined : Date.parse(trading_starts_at),
    endMs: trading_ends_at === undefined ? undefined : Date.parse(trading_ends_at),
    eventId: event_id,
    details: withoutNulls(details),
  });
  if (refusal === null) ok(call, responses.toJson(market));
  else refuse(call, refusal);
}

/** Null when the call has been refused. */
function readNewMarket(
  call: CallOf<typeof CREATE_MARKET>,
  { catalog, clock, defaultFeeBps }: AdminCatalogDeps,
): NewMarket | null {
  const {
    status,
    event_id,
    trading_starts_at,
    trading_ends_at,
    fee_bps,
    ticks_per_unit,
    min_order_size_atomic,
    yes_token_id,
    no_token_id,
    ...details
  } = call.body;
  const nowMs = clock.nowMs();
  const startMs = trading_starts_at === undefined ? nowMs : Date.parse(trading_starts_at);
  const endMs = Date.parse(trading_ends_at);
  const isPending = startMs > nowMs;
  if (endMs <= Math.max(startMs, nowMs)) return refuseField(call, 'trading_ends_at', 'after trading_starts_at and now');
  if (status === 'active' && isPending) return refuseField(call, 'status', 'active only once trading has started');
  const ticksPerUnit = ticks_per_unit ?? DEFAULT_TICKS_PER_UNIT;
  const minOrderAtomic = min_order_size_atomic === undefined ? DEFAULT_MIN_ORDER_ATOMIC : Number(min_order_size_atomic);
  if (minOrderAtomic < ticksPerUnit) return refuseField(call, 'min_order_size_atomic', 'at least one lot');
  if ((yes_token_id === undefined) !== (no_token_id === undefined)) {
    return refuseField(call, yes_token_id === undefined ? 'yes_token_id' : 'no_token_id', 'both or neither');
  }
  if (yes_token_id !== undefined && yes_token_id === no_token_id) {
    return refuseField(call, 'no_token_id', 'different from yes_token_id');
  }
  if (event_id != null && catalog.eventById(event_id) === undefined) {
    refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
    return null;
  }
  return {
    eventId: event_id ?? null,
    ticksPerUnit,
    minOrderAtomic,
    tokenIds: yes_token_id === undefined ? null : [yes_token_id, no_token_id!],
    opening: {
      status: toOpeningStatus(status, isPending),
      feeBps: fee_bps ?? defaultFeeBps,
      startMs,
      endMs,
    },
    details: completeMarketDetails(withoutNulls(details)),
  };
}

/** A market that is requested as pending although its start time has passed opens at the next tick of its shard. */
function toOpeningStatus(asked: string | undefined, isPending: boolean): MarketStatus {
  if (asked === 'draft') return MARKET_STATUS.DRAFT;
  return isPending || asked === 'pending' ? MARKET_STATUS.PENDING : MARKET_STATUS.ACTIVE;
}

/** "Who wins, really?" is "who-wins-really". */
function toSlug(title: string): string {
  const words =
    title
      .toLowerCase()
      .normalize('NFKD')
      .match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 100).replace(/-$/, '');
}

/** Null removes a field of a market; as undefined it is left out of the JSON. */
function withoutNulls<T extends Record<string, unknown>>(details: T): { [K in keyof T]: Exclude<T[K], null> } {
  const entries = Object.entries(details).map(([name, value]) => [name, value ?? undefined]);
  return Object.fromEntries(entries);
}

function refuseField(call: Call, field: string, rule: string): null {
  refuse(call, { row: ERRORS.VALIDATION_ERROR, message: `invalid ${field}`, details: { field, rule } });
  return null;
}
