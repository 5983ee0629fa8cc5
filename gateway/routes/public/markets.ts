/** The public catalogue: markets and events. */
import {
  EVENT_WITH_MARKETS,
  EVENTS_QUERY,
  MARKET,
  MARKET_EVENTS,
  MARKETS,
  MARKETS_QUERY,
} from '../../../shared/api/markets.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import type { Catalog, EventEntry } from '../../store/catalog.ts';
import type { Views } from '../../views/index.ts';
import { eventOf, eventWithMarkets } from '../json/event.ts';
import type { MarketResponses } from '../json/market.ts';
import { listMarkets } from '../json/marketList.ts';
import { ID_PARAM, requireMarket } from '../json/pathParams.ts';

type MarketDeps = { readonly catalog: Catalog; readonly views: Views; readonly responses: MarketResponses };

type EventFilters = { readonly status?: string; readonly category?: string; readonly search?: string };

const LIST_MARKETS = {
  method: 'GET',
  path: '/v1/markets',
  summary: 'Markets by status, category or words, newest first unless asked otherwise.',
  access: 'public',
  limit: 'marketList',
  query: MARKETS_QUERY,
  answers: { 200: MARKETS },
} as const satisfies RouteSpec;

const SHOW_MARKET = {
  method: 'GET',
  path: '/v1/markets/:id',
  summary: 'One market.',
  access: 'public',
  limit: 'market',
  params: ID_PARAM,
  answers: { 200: MARKET },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

const LIST_EVENTS = {
  method: 'GET',
  path: '/v1/events',
  summary: 'Events by status, category or words, newest first.',
  access: 'public',
  limit: 'unlisted',
  query: EVENTS_QUERY,
  answers: { 200: MARKET_EVENTS },
} as const satisfies RouteSpec;

const SHOW_EVENT = {
  method: 'GET',
  path: '/v1/events/:slug',
  summary: 'One event with its markets of every status.',
  access: 'public',
  limit: 'unlisted',
  params: { slug: { type: 'string', examples: ['who-wins'] } },
  answers: { 200: EVENT_WITH_MARKETS },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function marketRoutes(deps: MarketDeps): Route[] {
  return [
    route(LIST_MARKETS, (call) => showMarkets(call, deps)),
    route(SHOW_MARKET, (call) => showMarket(call, deps)),
    route(LIST_EVENTS, (call) => showEvents(call, deps)),
    route(SHOW_EVENT, (call) => showEvent(call, deps)),
  ];
}

function showMarkets(call: CallOf<typeof LIST_MARKETS>, { catalog, responses }: MarketDeps): void {
  const { query } = call;
  const page = listMarkets(catalog, responses, query);
  if (page === null) {
    refuse(call, {
      row: ERRORS.VALIDATION_ERROR,
      message: 'invalid cursor',
      details: { field: 'cursor', rule: 'known' },
    });
    return;
  }
  const { limit, offset } = query;
  const { total, nextCursor } = page;
  const markets = page.markets.map((market) => responses.toJson(market)).join(',');
  const envelope = JSON.stringify({ total, limit, offset, next_cursor: nextCursor });
  ok(call, `{"markets":[${markets}],${envelope.slice(1)}`);
}

function showMarket(call: CallOf<typeof SHOW_MARKET>, deps: MarketDeps): void {
  const market = requireMarket(call, deps, call.params.id);
  if (market !== null) ok(call, deps.responses.toJson(market));
}

function showEvents(call: CallOf<typeof LIST_EVENTS>, { catalog }: MarketDeps): void {
  const { query } = call;
  const { limit, offset } = query;
  const newestFirst = catalog.events.filter((event) => matches(event, query)).reverse();
  const page = newestFirst.slice(offset, offset + limit);
  ok(call, { events: page.map(eventOf), total: newestFirst.length, limit, offset });
}

function matches({ details }: EventEntry, { status, category, search }: EventFilters): boolean {
  if (status !== undefined && details.status !== status) return false;
  if (category !== undefined && details.category !== category) return false;
  if (search === undefined) return true;
  return `${details.title}\n${details.description}`.toLowerCase().includes(search.toLowerCase());
}

function showEvent(call: CallOf<typeof SHOW_EVENT>, { catalog, responses }: MarketDeps): void {
  const event = catalog.eventBySlug(call.params.slug);
  if (event === undefined) {
    refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
    return;
  }
  const markets = event.markets.filter((market) => responses.isOpen(market));
  ok(call, eventWithMarkets(event, markets, responses));
}
