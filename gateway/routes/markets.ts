/** The public catalogue: markets and events. */
import { ERRORS } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import type { Catalog, EventEntry } from '../control/catalog.ts';
import { eventOf, eventWithMarkets } from '../control/eventResponse.ts';
import { listMarkets, type MarketQuery } from '../control/marketList.ts';
import type { MarketResponses } from '../control/marketResponse.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { requireMarketParam } from './pathParams.ts';

export type MarketDeps = { readonly catalog: Catalog; readonly views: Views; readonly responses: MarketResponses };

type EventQuery = { status?: string; category?: string; search?: string; limit: number; offset: number };

const TEXT = { type: 'string', maxLength: 200 };
const PAGE = {
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  offset: { type: 'integer', minimum: 0, default: 0 },
};

const MARKETS_QUERY = {
  type: 'object',
  properties: {
    status: TEXT,
    category: TEXT,
    deploy_status: TEXT,
    search: TEXT,
    sort: { ...TEXT, default: 'created_at' },
    order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
    ...PAGE,
    cursor: TEXT,
  },
};

const EVENTS_QUERY = { type: 'object', properties: { status: TEXT, category: TEXT, search: TEXT, ...PAGE } };

export function marketRoutes(deps: MarketDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/markets',
      access: 'public',
      limit: 'marketList',
      query: MARKETS_QUERY,
      handler: (call) => showMarkets(call, deps),
    },
    {
      method: 'GET',
      path: '/v1/markets/:id',
      access: 'public',
      limit: 'market',
      handler: (call) => showMarket(call, deps),
    },
    {
      method: 'GET',
      path: '/v1/events',
      access: 'public',
      limit: 'unlisted',
      query: EVENTS_QUERY,
      handler: (call) => showEvents(call, deps),
    },
    {
      method: 'GET',
      path: '/v1/events/:slug',
      access: 'public',
      limit: 'unlisted',
      handler: (call) => showEvent(call, deps),
    },
  ];
}

function showMarkets(call: Call, { catalog, responses }: MarketDeps): void {
  const query = call.query as MarketQuery;
  const page = listMarkets(catalog, responses, query);
  if (page === null) {
    fail(call, ERRORS.VALIDATION_ERROR, { message: 'invalid cursor', details: { field: 'cursor', rule: 'known' } });
    return;
  }
  const { limit, offset } = query;
  const { total, nextCursor } = page;
  const markets = page.markets.map((market) => responses.toJson(market)).join(',');
  const envelope = JSON.stringify({ total, limit, offset, next_cursor: nextCursor });
  ok(call, `{"markets":[${markets}],${envelope.slice(1)}`);
}

function showMarket(call: Call, deps: MarketDeps): void {
  const market = requireMarketParam(call, deps, 'id');
  if (market !== null) ok(call, deps.responses.toJson(market));
}

function showEvents(call: Call, { catalog }: MarketDeps): void {
  const query = call.query as EventQuery;
  const { limit, offset } = query;
  const newestFirst = catalog.events.filter((event) => matches(event, query)).reverse();
  const page = newestFirst.slice(offset, offset + limit);
  ok(call, { events: page.map(eventOf), total: newestFirst.length, limit, offset });
}

function matches({ details }: EventEntry, { status, category, search }: EventQuery): boolean {
  if (status !== undefined && details.status !== status) return false;
  if (category !== undefined && details.category !== category) return false;
  if (search === undefined) return true;
  return `${details.title}\n${details.description}`.toLowerCase().includes(search.toLowerCase());
}

function showEvent(call: Call, { catalog, responses }: MarketDeps): void {
  const event = catalog.eventBySlug(call.params['slug']);
  if (event === undefined) {
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'event not found' });
    return;
  }
  const markets = event.markets.filter((market) => responses.isOpen(market));
  ok(call, eventWithMarkets(event, markets, responses));
}
