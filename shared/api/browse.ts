/** `GET /v1/events/browse`: events with the fields that a page about many events shows (RULES.md 12.34 to 12.37). */
import { LIVE_SCORE, MARKET_EVENT, MARKET_GROUP } from './events.ts';
import { COUNT, OFFSET, PRICE, TEXT } from './fields.ts';
import { FILTER, MARKET, PAGE } from './markets.ts';
import { QUOTE_FIELDS, QUOTES } from './quotes.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const { external_event_id, ...EVENT_FIELDS } = MARKET_EVENT.properties;

export const BROWSED_EVENT = object(
  {
    ...EVENT_FIELDS,
    market_count_total: described(COUNT, 'Without mirrors and novelty.'),
    market_count_tradeable: described(COUNT, 'Of these, those that accept orders.'),
    market_count_deployed: COUNT,
    market_type_count: COUNT,
    total_volume: described(PRICE, 'USDC, of all these markets.'),
    live: orNull(LIVE_SCORE),
    market_groups: arrayOf(MARKET_GROUP),
    featured_market: orNull(MARKET),
  },
  { external_event_id, home_player_full_name: TEXT, away_player_full_name: TEXT, quotes: QUOTES },
);

export const BROWSED_EVENTS = object(
  { events: arrayOf(BROWSED_EVENT), ...PAGE },
  { count_is_estimate: described({ const: true }, '`total` is a floor.'), ...QUOTE_FIELDS },
);
/** The answer with `quotes_only`, if there is a provider of quotes. */
export const BROWSED_QUOTES = object(QUOTE_FIELDS);
export const BROWSED = { anyOf: [BROWSED_EVENTS, BROWSED_QUOTES] } as const;
export type BrowsedEvents = FromSchema<typeof BROWSED_EVENTS>;
export type BrowsedQuotes = FromSchema<typeof BROWSED_QUOTES>;

/** The orders of a page of events: `start` is that of their times, and the others begin with the most. */
export const BROWSE_SORTS = ['start', 'trending', 'volume', 'new', 'ending'] as const;
export type BrowseSort = (typeof BROWSE_SORTS)[number];

const SWITCH = { type: 'boolean', default: false } as const;
export const BROWSE_QUERY = {
  type: 'object',
  properties: {
    status: described(
      { ...FILTER, default: 'active' },
      'By itself events to trade in; else only events with this status.',
    ),
    category: described(FILTER, 'Only events of this category.'),
    sport_league: described(FILTER, 'Only events of this league.'),
    search: described(FILTER, 'Words of titles, teams and outcomes.'),
    sort: {
      type: 'string',
      enum: BROWSE_SORTS,
      default: 'start',
      description: 'By start, volume of 24 hours, volume, creation, or end of trading.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    offset: OFFSET,
    home: described(SWITCH, 'Live events first, trimmed for a front page.'),
    core_lines: described(SWITCH, 'Only the lines of each event.'),
    quotes: described(SWITCH, 'With the prices of their markets.'),
    quotes_only: described(SWITCH, 'Beside `quotes`: only the prices.'),
  },
} as const;
export type BrowseQuery = FromSchema<typeof BROWSE_QUERY>;
