/** The administrator's routes for the catalogue: events and markets (RULES.md 9). */
import { EVENT_STATUSES, MARKET_TYPES } from '../../shared/catalog.ts';
import type { Clock } from '../../shared/clock.ts';
import { MARKET_STATUS, MARKET_STATUS_NAMES, type MarketStatus, TICKS_PER_UNIT } from '../../shared/codes.ts';
import { ERRORS } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import type { Catalog, EventDetails, MarketDetails, NewMarket } from '../control/catalog.ts';
import {
  completeEventDetails,
  completeMarketDetails,
  DEFAULT_MIN_ORDER_ATOMIC,
  DEFAULT_TICKS_PER_UNIT,
} from '../control/details.ts';
import { eventOf } from '../control/eventResponse.ts';
import type { MarketDesk, Refusal } from '../control/marketDesk.ts';
import type { MarketResponses } from '../control/marketResponse.ts';
import { fail, ok } from '../respond.ts';
import type { JsonSchema, Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { requireMarketParam } from './pathParams.ts';

export type AdminCatalogDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly desk: MarketDesk;
  readonly responses: MarketResponses;
  readonly defaultFeeBps: number;
  readonly clock: Clock;
};

type EventBody = Partial<EventDetails> & { slug?: string };

type MarketBody = { [K in keyof MarketDetails]?: MarketDetails[K] | null } & {
  status?: (typeof MARKET_STATUS_NAMES)[number];
  event_id?: string | null;
  trading_starts_at?: string;
  trading_ends_at?: string;
  fee_bps?: number;
};

type NewMarketBody = MarketBody & {
  title: string;
  description: string;
  category: string;
  trading_ends_at: string;
  ticks_per_unit?: number;
  min_order_size_atomic?: string;
  yes_token_id?: string;
  no_token_id?: string;
};

/** Fees are a share of what an order receives: all of it at most. */
const MAX_FEE_BPS = 10_000;

const SHORT_TEXT = { type: 'string', minLength: 1, maxLength: 300 };
const OPTIONAL_TEXT = { type: 'string', maxLength: 300, nullable: true };
const LONG_TEXT = { type: 'string', maxLength: 20_000 };
const TIMESTAMP = { type: 'string', format: 'date-time' };
const COUNT = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, nullable: true };
const PERCENTAGES = {
  type: 'array',
  minItems: 2,
  maxItems: 2,
  items: { type: 'integer', minimum: 0, maximum: 100 },
  nullable: true,
};

/** What a market says about itself. Null stands for absent. */
const MARKET_DETAILS: JsonSchema = {
  title: SHORT_TEXT,
  subtitle: { type: 'string', maxLength: 300 },
  description: LONG_TEXT,
  outcomes: { type: 'array', minItems: 2, maxItems: 2, uniqueItems: true, items: SHORT_TEXT },
  outcome_probabilities: PERCENTAGES,
  previous_outcome_probabilities: PERCENTAGES,
  category: SHORT_TEXT,
  subcategories: { type: 'array', maxItems: 50, items: SHORT_TEXT, nullable: true },
  external_source: SHORT_TEXT,
  external_event_id: OPTIONAL_TEXT,
  external_market_type: { type: 'string', enum: [...MARKET_TYPES, null], nullable: true },
  series_ticker: OPTIONAL_TEXT,
  player_name: OPTIONAL_TEXT,
  player_team_abbrev: OPTIONAL_TEXT,
  stat_category: OPTIONAL_TEXT,
  period: OPTIONAL_TEXT,
  line: { type: 'number', nullable: true },
  resolution_source: { type: 'string', maxLength: 2000, nullable: true },
  settlement_sources: {
    type: 'array',
    maxItems: 20,
    nullable: true,
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'url'],
      properties: { name: SHORT_TEXT, url: { type: 'string', maxLength: 2000 } },
    },
  },
  open_interest: COUNT,
  volume_24h: COUNT,
  contract_address: { type: 'string', format: 'address', nullable: true },
  condition_id: { type: 'string', format: 'hash', nullable: true },
  question_id: { type: 'string', format: 'hash', nullable: true },
};

const MARKET_TERMS: JsonSchema = {
  event_id: { type: 'string', format: 'uuid', nullable: true },
  trading_starts_at: TIMESTAMP,
  trading_ends_at: TIMESTAMP,
  fee_bps: { type: 'integer', minimum: 0, maximum: MAX_FEE_BPS },
};

const NEW_MARKET_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['title', 'description', 'category', 'trading_ends_at'],
  properties: {
    ...MARKET_DETAILS,
    ...MARKET_TERMS,
    status: { type: 'string', enum: ['draft', 'pending', 'active'] },
    ticks_per_unit: { type: 'integer', enum: TICKS_PER_UNIT },
    min_order_size_atomic: { type: 'string', format: 'amount' },
    yes_token_id: { type: 'string', format: 'uint256' },
    no_token_id: { type: 'string', format: 'uint256' },
  },
};

const MARKET_PATCH_BODY = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: { ...MARKET_DETAILS, ...MARKET_TERMS, status: { type: 'string', enum: MARKET_STATUS_NAMES } },
};

const EVENT_DETAILS: JsonSchema = {
  title: SHORT_TEXT,
  description: LONG_TEXT,
  status: { type: 'string', enum: EVENT_STATUSES },
  category: SHORT_TEXT,
  sport_league: OPTIONAL_TEXT,
  sport_teams: { type: 'array', maxItems: 50, items: SHORT_TEXT, nullable: true },
  image_url: { type: 'string', maxLength: 2000, nullable: true },
  start_time: TIMESTAMP,
  external_event_id: { type: 'string', maxLength: 300 },
  external_platform: SHORT_TEXT,
  external_event_subtitle: OPTIONAL_TEXT,
  external_event_mutually_exclusive: { type: 'boolean' },
};

const NEW_EVENT_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['title'],
  properties: {
    ...EVENT_DETAILS,
    slug: { type: 'string', maxLength: 100, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
  },
};

const EVENT_PATCH_BODY = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: EVENT_DETAILS,
};

const ADMIN = { access: 'admin', limit: 'unlisted' } as const;

export function adminCatalogRoutes(deps: AdminCatalogDeps): Route[] {
  return [
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/events',
      storing: true,
      body: NEW_EVENT_BODY,
      handler: (call) => createEvent(call, deps),
    },
    {
      ...ADMIN,
      method: 'PATCH',
      path: '/admin/events/:id',
      body: EVENT_PATCH_BODY,
      handler: (call) => changeEvent(call, deps),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/markets',
      storing: true,
      limit: 'createMarket',
      body: NEW_MARKET_BODY,
      handler: (call) => createMarket(call, deps),
    },
    {
      ...ADMIN,
      method: 'PATCH',
      path: '/admin/markets/:id',
      body: MARKET_PATCH_BODY,
      handler: (call) => changeMarket(call, deps),
    },
  ];
}

function createEvent(call: Call, { catalog, clock }: AdminCatalogDeps): void {
  const { slug: givenSlug, ...details } = call.json as EventBody & { title: string };
  const slug = givenSlug ?? toSlug(details.title);
  if (slug === '') {
    refuseField(call, 'slug', 'required');
    return;
  }
  if (catalog.eventBySlug(slug) !== undefined) {
    fail(call, ERRORS.CONFLICT, { message: 'slug is used by another event' });
    return;
  }
  const nowMs = clock.nowMs();
  const event = catalog.createEvent(slug, completeEventDetails(details, nowMs), nowMs);
  ok(call, eventOf(event), 201);
}

function changeEvent(call: Call, { catalog, clock }: AdminCatalogDeps): void {
  const event = catalog.eventById(call.params['id']);
  if (event === undefined) {
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'event not found' });
    return;
  }
  catalog.updateEvent(event, { ...event.details, ...(call.json as Partial<EventDetails>) }, clock.nowMs());
  ok(call, eventOf(event));
}

async function createMarket(call: Call, deps: AdminCatalogDeps): Promise<void> {
  const fields = readNewMarket(call, deps);
  if (fields === null) return;
  const opened = await deps.desk.open(fields);
  if ('market' in opened) ok(call, deps.responses.toJson(opened.market), 201);
  else refuse(call, opened.refusal);
}

async function changeMarket(call: Call, deps: AdminCatalogDeps): Promise<void> {
  const market = requireMarketParam(call, deps, 'id');
  if (market === null) return;
  const { catalog, desk, responses } = deps;
  const body = call.json as MarketBody;
  const { status, event_id, trading_starts_at, trading_ends_at, fee_bps, ...details } = body;
  if (event_id != null && catalog.eventById(event_id) === undefined) {
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'event not found' });
    return;
  }
  const refusal = await desk.change(market, {
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
function readNewMarket(call: Call, { catalog, clock, defaultFeeBps }: AdminCatalogDeps): NewMarket | null {
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
  } = call.json as NewMarketBody;
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
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'event not found' });
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

/** A market that was asked for as pending while its time has come opens with the shard's next look at the clock. */
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

function refuse(call: Call, { row, message }: Refusal): void {
  fail(call, row, { message });
}

function refuseField(call: Call, field: string, rule: string): null {
  fail(call, ERRORS.VALIDATION_ERROR, { message: `invalid ${field}`, details: { field, rule } });
  return null;
}
