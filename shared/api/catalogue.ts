/**
 * A catalogue as lines of JSON: the lines that an import reads and an export writes, and the report about each line.
 */
import { EVENT_PATCH, NEW_EVENT, NEW_EVENT_SET } from './events.ts';
import { ANY_MEMBERS, COUNT, UUID } from './fields.ts';
import { MARKET_PATCH, NEW_MARKET } from './markets.ts';
import { arrayOf, described, type FromSchema, object } from './schema.ts';

/** The limit for one request; a longer file is sent in several requests. */
export const MAX_IMPORT_BYTES = 1_048_576;
export const MAX_IMPORT_LINES = 1000;

const SLUG = described(NEW_EVENT.properties.slug, 'The key of the event.');

/** The fields of an event that a line may set, besides its keys. An absent field stays as it is. */
const EVENT_FIELDS = {
  type: 'object',
  additionalProperties: false,
  required: ['slug'],
  properties: {
    id: described(UUID, 'Of a new event; absent: a random one.'),
    ...NEW_EVENT.properties,
    slug: SLUG,
    winners: NEW_EVENT_SET.properties.winners,
  },
} as const;
export type EventFields = FromSchema<typeof EVENT_FIELDS>;

const MARKET_FIELDS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    id: described(UUID, 'Of the market; absent: by external_source and external_event_id.'),
    event_slug: { type: ['string', 'null'], maxLength: 100, examples: ['who-wins'] },
    ...NEW_MARKET.properties,
    status: described(MARKET_PATCH.properties.status, 'How a new market opens: draft, pending or active.'),
  },
} as const;
export type MarketFields = FromSchema<typeof MARKET_FIELDS>;

const { event: _event, winners: _winners, markets: SET_MARKETS, ...TERMS_OF_SET } = NEW_EVENT_SET.properties;
/** A new event set with its markets (RULES.md 19.1). Everything else that an event or a market has, other lines set. */
const SET_FIELDS = {
  type: 'object',
  additionalProperties: false,
  required: ['slug', 'title', 'trading_ends_at', 'markets'],
  properties: {
    id: described(UUID, 'Of the event; absent: a random one.'),
    slug: SLUG,
    title: NEW_EVENT.properties.title,
    category: NEW_EVENT.properties.category,
    ...TERMS_OF_SET,
    markets: {
      ...SET_MARKETS,
      items: {
        ...SET_MARKETS.items,
        properties: { id: described(UUID, 'Absent: a random one.'), ...SET_MARKETS.items.properties },
      },
    },
  },
} as const;
export type SetFields = FromSchema<typeof SET_FIELDS>;

/** A line has exactly one of the three. */
export const CATALOGUE_LINE = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { event: EVENT_FIELDS, event_set: SET_FIELDS, market: MARKET_FIELDS },
  examples: [{ event: { slug: 'who-wins', title: 'Who wins?' } }],
} as const;
export type CatalogueLine = FromSchema<typeof CATALOGUE_LINE>;

/** A new event or market needs these fields; a line that changes one does not. */
export const REQUIRED_OF_EVENT = NEW_EVENT.required;
export const REQUIRED_OF_MARKET = NEW_MARKET.required;

/** In the order in which an export writes the fields. */
export const EVENT_FIELD_NAMES: readonly string[] = Object.keys(EVENT_FIELDS.properties);
export const MARKET_FIELD_NAMES: readonly string[] = Object.keys(MARKET_FIELDS.properties);
export const SET_FIELD_NAMES: readonly string[] = Object.keys(SET_FIELDS.properties);
/** The fields of an event that may change. */
export const EVENT_DETAIL_NAMES: readonly string[] = Object.keys(EVENT_PATCH.properties);

const LINE_RESULTS = ['created', 'updated', 'unchanged', 'failed'] as const;
export type LineResult = (typeof LINE_RESULTS)[number];

export const LINE_REPORT = object(
  {
    line: { type: 'integer', minimum: 1, examples: [1] },
    result: { type: 'string', enum: LINE_RESULTS },
  },
  {
    kind: { type: 'string', enum: ['event', 'event_set', 'market'] },
    id: UUID,
    slug: { type: 'string', examples: ['who-wins'] },
    error: { type: 'string', examples: ['invalid line'] },
    code: { type: 'string', examples: ['VALIDATION_ERROR'] },
    details: described(ANY_MEMBERS, 'As in a refusal.'),
  },
);
export type LineReport = FromSchema<typeof LINE_REPORT>;

export const IMPORT_REPORT = object({
  created: COUNT,
  updated: COUNT,
  unchanged: COUNT,
  failed: COUNT,
  lines: described(arrayOf(LINE_REPORT), 'In the order of the request, empty lines left out.'),
});
export type ImportReport = FromSchema<typeof IMPORT_REPORT>;
