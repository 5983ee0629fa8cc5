/** The administrator's routes for the catalogue: events and markets (RULES.md 9). */

import { randomUUID } from 'node:crypto';
import { APPROVAL } from '../../shared/api/approvals.ts';
import { EVENT_PATCH, MARKET_EVENT, NEW_EVENT, RESERVED_SLUG } from '../../shared/api/events.ts';
import { MARKET, MARKET_PATCH, NEW_MARKET } from '../../shared/api/markets.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog } from './catalog.ts';
import { readMarketPatch } from './catalogPatches.ts';
import { eventOf } from './eventJson.ts';
import type { MarketCommands } from './marketCommands.ts';
import { completeEventDetails, toSlug } from './marketDetails.ts';
import type { MarketResponses } from './marketJson.ts';
import { readNewMarket } from './newMarket.ts';
import type { ReliedTerms } from './reliedTerms.ts';
import { requireMarket } from './requireMarket.ts';

type AdminCatalogDeps = ApprovalDeps & {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly marketCommands: MarketCommands;
  readonly terms: ReliedTerms;
  readonly responses: MarketResponses;
  readonly defaultFeeBps: number;
  readonly clock: Clock;
};

const ADMIN = { access: 'catalogue' } as const;

const CREATE_EVENT = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/events',
  id: 'adminCreateEvent',
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
  id: 'adminChangeEvent',
  summary: 'Changes the description of an event.',
  params: ID_PARAM,
  body: EVENT_PATCH,
  answers: { 200: MARKET_EVENT, 202: APPROVAL },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

const CREATE_MARKET = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/markets',
  id: 'adminCreateMarket',
  summary: 'Makes a market.',
  storing: true,
  limit: 'createMarket',
  body: NEW_MARKET,
  answers: { 201: MARKET },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'MEMBER_OF_SET', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const CHANGE_MARKET = {
  ...ADMIN,
  method: 'PATCH',
  path: '/admin/markets/:id',
  id: 'adminChangeMarket',
  summary: 'Changes the description, the terms or the status of a market.',
  params: ID_PARAM,
  body: MARKET_PATCH,
  answers: { 200: MARKET, 202: APPROVAL },
  errors: [
    'VALIDATION_ERROR',
    'RESOURCE_NOT_FOUND',
    'MARKET_NOT_FOUND',
    'CONFLICT',
    'MEMBER_OF_SET',
    'INVALID_TRANSITION',
    'OUTCOME_UNKNOWN',
  ],
} as const satisfies RouteSpec;

export function adminCatalogRoutes(deps: AdminCatalogDeps): Route[] {
  return [
    route(CREATE_EVENT, (call) => createEvent(call, deps)),
    route(CHANGE_EVENT, (call) => changeEvent(call, deps)),
    route(CREATE_MARKET, (call) => createMarket(call, deps)),
    route(CHANGE_MARKET, (call) => changeMarket(call, deps)),
  ];
}

async function createEvent(call: CallOf<typeof CREATE_EVENT>, { catalog, clock }: AdminCatalogDeps): Promise<void> {
  const { slug: givenSlug, ...details } = call.body;
  const id = randomUUID();
  // A title in another script, of punctuation alone, or equal to a path's name gives no slug: the random digits of the
  // id are used.
  const named = toSlug(details.title);
  const slug = givenSlug ?? (named === '' || named === RESERVED_SLUG ? `event-${id.slice(-12)}` : named);
  if (catalog.eventBySlug(slug) !== undefined)
    return refuse(call, { row: ERRORS.CONFLICT, message: 'slug is used by another event' });
  const nowMs = clock.nowMs();
  const event = catalog.createEvent(slug, completeEventDetails(details, nowMs), nowMs, id);
  await catalog.durable();
  ok(call, eventOf(event), 201);
}

async function changeEvent(call: CallOf<typeof CHANGE_EVENT>, deps: AdminCatalogDeps): Promise<void> {
  const { catalog, clock } = deps;
  const event = catalog.eventById(call.params.id);
  if (event === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  const terms = deps.terms.ofEvent(event, call.body);
  const of = { event_id: event.id };
  if (terms !== null) {
    const request = { kind: 'event_terms', ...of, change: call.body, replaces: terms.before } as const;
    if (waitsForSecond(call, deps, `terms ${event.id}`, request)) return;
  }
  noteBefore(call, eventOf(event));
  catalog.updateEvent(event, { ...event.details, ...call.body }, clock.nowMs());
  await catalog.durable();
  if (terms !== null) deps.terms.noteAlone(call.principal, of, terms);
  ok(call, eventOf(event));
}

async function createMarket(call: CallOf<typeof CREATE_MARKET>, deps: AdminCatalogDeps): Promise<void> {
  const { catalog, clock, defaultFeeBps } = deps;
  const { event_id = null } = call.body;
  const event = event_id === null ? null : catalog.eventById(event_id);
  const read = readNewMarket(call.body, event?.id ?? null, { nowMs: clock.nowMs(), defaultFeeBps });
  if ('refusal' in read) return refuse(call, read.refusal);
  if (event === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  const opened = await deps.marketCommands.open(read.market);
  if ('market' in opened) ok(call, deps.responses.toJson(opened.market), 201);
  else refuse(call, opened.refusal);
}

async function changeMarket(call: CallOf<typeof CHANGE_MARKET>, deps: AdminCatalogDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  const { catalog, marketCommands, responses } = deps;
  const read = readMarketPatch(call.body, catalog);
  if ('refusal' in read) return refuse(call, read.refusal);
  const terms = deps.terms.ofMarket(market, read.change);
  const of = { market_id: market.id };
  // A change that would be refused anyway does not wait for approval.
  if (terms !== null && marketCommands.whyNot(market, read.change) === null) {
    const request = { kind: 'market_terms', ...of, change: call.body, replaces: terms.before } as const;
    if (waitsForSecond(call, deps, `terms ${market.id}`, request)) return;
  }
  noteBefore(call, responses.toJson(market));
  const refusal = await marketCommands.change(market, read.change);
  if (refusal !== null) return refuse(call, refusal);
  if (terms !== null) deps.terms.noteAlone(call.principal, of, terms);
  ok(call, responses.toJson(market));
}
