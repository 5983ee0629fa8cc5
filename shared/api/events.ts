/** Events, which are the fixtures and questions that markets are about, and the administrator's commands for them. */
import { LEAST_MEMBERS, MOST_MEMBERS } from '../base/eventSets.ts';
import { PPM } from '../base/payout.ts';
import { AMOUNT, COUNT, FLAG, LINE, OUTCOME_INDEX, PRICE, SIGNED_UNITS, TEXT, TIME, TITLE, UUID } from './fields.ts';
import {
  CATALOG_PAGE,
  COUNT_IS_ESTIMATE,
  FILTER,
  LINK,
  LONG_TEXT,
  MARKET,
  MARKET_STATUS_FIELD,
  MARKET_TYPE_FIELD,
  OPTIONAL_TEXT,
  PAGE,
  SET_TERMS,
  SHORT_TEXT,
} from './markets.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';
import { CHANGE } from './tickers.ts';

const EVENT_STATUSES = ['upcoming', 'live', 'ended', 'cancelled'] as const;
const EVENT_STATUS_FIELD = { type: 'string', enum: EVENT_STATUSES } as const;
const SLUG = { type: 'string', examples: ['who-wins'] } as const;

export const MARKET_EVENT = object({
  id: UUID,
  slug: SLUG,
  title: TITLE,
  description: TEXT,
  status: EVENT_STATUS_FIELD,
  category: TEXT,
  sport_league: orNull(TEXT),
  sport_teams: orNull(arrayOf(TEXT)),
  image_url: orNull(TEXT),
  start_time: TIME,
  external_event_id: TEXT,
  external_platform: TEXT,
  external_event_subtitle: orNull(TEXT),
  external_event_mutually_exclusive: FLAG,
  winners: described(orNull({ type: 'integer', enum: [1] }), '1: an event set, exactly one market wins; else null.'),
  market_count: COUNT,
  created_at: TIME,
  updated_at: TIME,
});
export type MarketEvent = FromSchema<typeof MARKET_EVENT>;
export const MARKET_EVENTS = object({ events: arrayOf(MARKET_EVENT), ...PAGE }, COUNT_IS_ESTIMATE);
export type MarketEvents = FromSchema<typeof MARKET_EVENTS>;

/** An event with its markets in every status, in the order of creation (RULES.md 12.32). */
export const EVENT_WITH_MARKETS = object({
  slug: SLUG,
  title: TITLE,
  status: EVENT_STATUS_FIELD,
  markets: arrayOf(object({ id: UUID, title: TITLE, status: MARKET_STATUS_FIELD, outcomes: arrayOf(TEXT) })),
  created_at: TIME,
});
export type EventWithMarkets = FromSchema<typeof EVENT_WITH_MARKETS>;

/** The latest score of a game. */
export const LIVE_SCORE = object({
  status: { type: 'string', examples: ['in_progress'] },
  clock: orNull({ type: 'string', examples: ['04:12'] }),
  period: orNull({ type: 'string', examples: ['Q3'] }),
  home_score: COUNT,
  away_score: COUNT,
  updated_at: TIME,
});
export type LiveScore = FromSchema<typeof LIVE_SCORE>;

export const MARKET_GROUP = object({ type: MARKET_TYPE_FIELD, title: TITLE, markets: arrayOf(MARKET) });

/** Of Yes of a market of a set (RULES.md 19.12). */
const IMPLIED_PRICE = object({
  market_id: UUID,
  bid: described(orNull(PRICE), 'One USDC less the best asks of all others.'),
  ask: described(orNull(CHANGE), 'One USDC less the best bids of all others; negative if those are more.'),
});
export type ImpliedPrice = FromSchema<typeof IMPLIED_PRICE>;

/** An event as its page shows it. */
export const EVENT_VIEW = object({
  ...MARKET_EVENT.properties,
  markets: arrayOf(MARKET),
  market_groups: arrayOf(MARKET_GROUP),
  featured_market: orNull(MARKET),
  live: orNull(LIVE_SCORE),
  implied_prices: described(orNull(arrayOf(IMPLIED_PRICE)), 'Of an undecided event set; else null.'),
});
export type EventView = FromSchema<typeof EVENT_VIEW>;

export const RELATED_MARKETS = object({
  markets: arrayOf(MARKET),
  totalMarkets: described(COUNT, 'With those whose question reads like that of a market in the list.'),
});
export type RelatedMarkets = FromSchema<typeof RELATED_MARKETS>;

export const EVENTS_QUERY = {
  type: 'object',
  properties: {
    status: described(FILTER, 'Only events with this status.'),
    category: described(FILTER, 'Only events of this category.'),
    search: described(FILTER, 'Words of titles and descriptions.'),
    ...CATALOG_PAGE,
  },
} as const;
export type EventsQuery = QueryOf<typeof EVENTS_QUERY>;

const EVENT_DETAILS = {
  title: SHORT_TEXT,
  description: LONG_TEXT,
  status: EVENT_STATUS_FIELD,
  category: SHORT_TEXT,
  sport_league: OPTIONAL_TEXT,
  sport_teams: { type: ['array', 'null'], maxItems: 50, items: SHORT_TEXT },
  image_url: LINK,
  start_time: TIME,
  external_event_id: { type: 'string', maxLength: 300, ...LINE, examples: [''] },
  external_platform: SHORT_TEXT,
  external_event_subtitle: OPTIONAL_TEXT,
  external_event_mutually_exclusive: FLAG,
  home_player_full_name: OPTIONAL_TEXT,
  away_player_full_name: OPTIONAL_TEXT,
} as const;

/** An event with this slug would have the path of the list. */
export const RESERVED_SLUG = 'browse';

export const NEW_EVENT = {
  type: 'object',
  additionalProperties: false,
  required: ['title'],
  properties: {
    ...EVENT_DETAILS,
    slug: {
      type: 'string',
      maxLength: 100,
      pattern: `^(?!${RESERVED_SLUG}$)[a-z0-9]+(?:-[a-z0-9]+)*$`,
      examples: ['who-wins'],
    },
  },
} as const;
export type NewEvent = FromSchema<typeof NEW_EVENT>;

export const EVENT_PATCH = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: EVENT_DETAILS,
} as const;
export type EventPatch = FromSchema<typeof EVENT_PATCH>;

/** An event set (RULES.md 19.1): the event, the terms that its markets share, and what each of them is called. */
export const NEW_EVENT_SET = {
  type: 'object',
  additionalProperties: false,
  required: ['event', 'winners', 'trading_ends_at', 'markets'],
  properties: {
    event: NEW_EVENT,
    winners: { type: 'integer', enum: [1] },
    ...SET_TERMS,
    markets: {
      type: 'array',
      minItems: LEAST_MEMBERS,
      maxItems: MOST_MEMBERS,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['title'],
        properties: { title: SHORT_TEXT, subtitle: SHORT_TEXT, description: LONG_TEXT },
      },
    },
  },
} as const;
export type NewEventSet = FromSchema<typeof NEW_EVENT_SET>;
export const EVENT_SET = object({ event: MARKET_EVENT, markets: arrayOf(MARKET) });
export type EventSet = FromSchema<typeof EVENT_SET>;

export const SET_PAYOUT = {
  type: 'object',
  additionalProperties: false,
  required: ['market_id', 'payout_yes_ppm'],
  properties: { market_id: UUID, payout_yes_ppm: { type: 'integer', minimum: 1, maximum: PPM, examples: [PPM] } },
} as const;
const SET_PAYOUTS = {
  type: 'array',
  minItems: 1,
  maxItems: MOST_MEMBERS,
  items: SET_PAYOUT,
  description: 'What each Yes pays, together 1,000,000; that of every other market pays nothing.',
} as const;
/** The market that wins, or parts that add up to one USDC. */
export const SET_RESOLUTION = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { winner: UUID, payouts: SET_PAYOUTS },
  examples: [{ winner: UUID.examples[0] }],
} as const;
export type SetResolution = FromSchema<typeof SET_RESOLUTION>;
export const SET_CANCELLATION = {
  type: 'object',
  additionalProperties: false,
  properties: { payouts: SET_PAYOUTS },
} as const;

const DIRECTION = { type: 'string', enum: ['to_usdc', 'from_usdc'] } as const;
/** RULES.md 19.3. */
export const SET_CONVERSION = {
  type: 'object',
  additionalProperties: false,
  required: ['direction', 'markets', 'amount'],
  properties: {
    direction: DIRECTION,
    markets: {
      type: 'array',
      maxItems: MOST_MEMBERS,
      uniqueItems: true,
      items: UUID,
      description: 'The markets whose No is given or got; none: a Yes of every market for one USDC.',
    },
    amount: AMOUNT,
    dry_run: { type: 'boolean', description: 'Only answers what the conversion would do now.' },
  },
} as const;
export type SetConversion = FromSchema<typeof SET_CONVERSION>;
export const SET_CONVERTED = object({
  event_id: UUID,
  direction: DIRECTION,
  dry_run: FLAG,
  usdc_micro: described(SIGNED_UNITS, 'The change of the USDC of the account.'),
  tokens: arrayOf(object({ market_id: UUID, outcome_index: OUTCOME_INDEX, change_atomic: SIGNED_UNITS })),
});
export type SetConverted = FromSchema<typeof SET_CONVERTED>;

const SCORE_TEXT = { type: ['string', 'null'], maxLength: 40, ...LINE, examples: [null] } as const;
const POINTS = { type: 'integer', minimum: 0, maximum: 1_000_000, examples: [3] } as const;

export const NEW_SCORE = {
  type: 'object',
  additionalProperties: false,
  required: ['status', 'home_score', 'away_score'],
  properties: {
    status: { type: 'string', minLength: 1, maxLength: 40, ...LINE, examples: ['in_progress'] },
    clock: SCORE_TEXT,
    period: SCORE_TEXT,
    home_score: POINTS,
    away_score: POINTS,
  },
} as const;
export type NewScore = FromSchema<typeof NEW_SCORE>;
