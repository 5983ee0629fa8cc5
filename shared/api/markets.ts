/** Markets, books and prices, and the administrator's commands for markets. */
import { DEPLOY_STATUS_NAMES, MARKET_STATUS_NAMES, OUTCOME, TICKS_PER_UNIT } from '../base/codes.ts';
import { MAX_SAFE } from '../base/int.ts';
import { PPM } from '../base/payout.ts';
import {
  ADDRESS,
  AMOUNT,
  CHAIN_ID,
  COUNT,
  FLAG,
  HASH,
  HIDDEN,
  LINE,
  LINES,
  OFFSET,
  OUTCOME_INDEX,
  PRICE,
  TEXT,
  TIME,
  TITLE,
  UINT256,
  UNITS,
  UUID,
} from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';
import { STAGE_FIELD } from './stages.ts';

export type MarketStatusName = (typeof MARKET_STATUS_NAMES)[number];

/** A fee is a share of the received amount, so it is at most all of it. */
const FEE_BPS = { type: 'integer', minimum: 0, maximum: 10_000, examples: [50] } as const;
const NUMBER = { type: 'number', examples: [0.5] } as const;
const PERCENTAGES = arrayOf({ type: 'integer', minimum: 0, maximum: 100, examples: [65] });
const SOURCES = arrayOf(object({ name: TEXT, url: { type: 'string', examples: ['https://weather.example'] } }));
export const MARKET_STATUS_FIELD = { type: 'string', enum: MARKET_STATUS_NAMES } as const;
/** Kinds of market that a provider may name; without a name it is `other`. */
const MARKET_TYPES = ['player_prop', 'moneyline', 'spread', 'total', 'other'] as const;
/** The status of the market's contract; trading does not depend on it. */
const DEPLOY_STATUS_FIELD = { type: 'string', enum: DEPLOY_STATUS_NAMES } as const;
export const MARKET_TYPE_FIELD = { type: 'string', enum: MARKET_TYPES } as const;

export const DEPLOYMENT = object({ status: DEPLOY_STATUS_FIELD, market_id: UUID });
export type MarketDeployment = FromSchema<typeof DEPLOYMENT>;

const CALL_DATA = { type: 'string', pattern: '^0x(?:[0-9a-f]{2})+$', examples: ['0x3d2dd71f'] } as const;
export const SPLIT_PARAMS = object({
  condition_id: orNull(HASH),
  yes_token_id: orNull(UINT256),
  no_token_id: orNull(UINT256),
  exchange_address: ADDRESS,
  chain_id: CHAIN_ID,
  instructions: arrayOf(TEXT),
  /** Null until the market is deployed. */
  call: orNull(
    object({
      to: ADDRESS,
      function: described(TEXT, 'Name and types of the arguments.'),
      data_prefix: described(CALL_DATA, 'The data of the transaction without its last word, the amount.'),
      data: orNull(described(CALL_DATA, 'The whole data, if `amount_usdc_micro` was given.')),
    }),
  ),
});
export const SPLIT_QUERY = {
  type: 'object',
  properties: { amount_usdc_micro: described(AMOUNT, 'How much is split.') },
} as const;
export type SplitParams = FromSchema<typeof SPLIT_PARAMS>;

/** The midpoint price of an outcome, as a JSON number. */
const CURRENT_PRICE = { type: 'number', minimum: 0, maximum: 1, examples: [0.65] } as const;

export const PAYOUTS = {
  type: 'array',
  minItems: 2,
  maxItems: 2,
  items: { type: 'integer', minimum: 0, maximum: PPM },
  examples: [[PPM, 0]],
} as const;
export const MARKET = object(
  {
    id: UUID,
    title: TITLE,
    subtitle: TEXT,
    description: TEXT,
    outcomes: arrayOf({ type: 'string', examples: ['Yes'] }),
    category: { type: 'string', examples: ['Weather'] },
    external_source: { type: 'string', examples: ['native'] },
    resolution_type: { const: 'binary' },
    deploy_status: DEPLOY_STATUS_FIELD,
    yes_token_id: UINT256,
    no_token_id: UINT256,
    created_at: TIME,
    updated_at: TIME,
    status: MARKET_STATUS_FIELD,
    stage: STAGE_FIELD,
    fee_bps: FEE_BPS,
    trading_starts_at: TIME,
    trading_ends_at: TIME,
    total_volume: described(PRICE, 'USDC.'),
    current_prices: object({ 0: CURRENT_PRICE, 1: CURRENT_PRICE }),
  },
  {
    event_id: UUID,
    outcome_probabilities: PERCENTAGES,
    previous_outcome_probabilities: PERCENTAGES,
    subcategories: arrayOf(TEXT),
    external_event_id: TEXT,
    external_market_type: MARKET_TYPE_FIELD,
    series_ticker: TEXT,
    player_name: TEXT,
    player_team_abbrev: TEXT,
    stat_category: TEXT,
    period: TEXT,
    line: NUMBER,
    resolution_source: TEXT,
    settlement_sources: orNull(SOURCES),
    open_interest: COUNT,
    volume_24h: COUNT,
    contract_address: ADDRESS,
    condition_id: HASH,
    question_id: HASH,
    resolved_at: TIME,
    settled_at: TIME,
    payouts: described(PAYOUTS, 'Millionths of a USDC that a Yes and a No token pay, once it is decided.'),
    canonical_sibling_market_id: UUID,
  },
);
export type Market = FromSchema<typeof MARKET>;

export const PAGE = { total: COUNT, limit: COUNT, offset: COUNT } as const;

export const COUNT_IS_ESTIMATE = {
  count_is_estimate: described(FLAG, 'True: there are at least `total`.'),
} as const;

export const MARKETS = object({ markets: arrayOf(MARKET), ...PAGE, next_cursor: orNull(TEXT) }, COUNT_IS_ESTIMATE);
export type Markets = FromSchema<typeof MARKETS>;

export const FILTER = { type: 'string', maxLength: 200 } as const;
export const CATALOG_PAGE = {
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  offset: OFFSET,
} as const;

export const MARKETS_QUERY = {
  type: 'object',
  properties: {
    status: described(FILTER, 'Only markets with this status.'),
    category: described(FILTER, 'Only markets of this category.'),
    deploy_status: described(FILTER, 'Only markets whose contract stands so.'),
    search: described(FILTER, 'Words of titles, descriptions and outcomes.'),
    sort: described(
      { ...FILTER, default: 'created_at' },
      '`created_at`, `updated_at`, `title`, `trading_starts_at`, `trading_ends_at`, `status` or `total_volume`.',
    ),
    order: {
      type: 'string',
      pattern: '^(?:[aA][sS][cC]|[dD][eE][sS][cC])$',
      default: 'desc',
      description: 'The lowest or the highest first.',
      examples: ['asc'],
    },
    ...CATALOG_PAGE,
    cursor: described(FILTER, 'The `next_cursor` of the page before, of markets in the usual order.'),
  },
} as const;

export const CATALOG_METADATA = object({
  categories: arrayOf({ type: 'string', examples: ['Weather'] }),
  total_markets: COUNT,
  active_markets: COUNT,
});
export type CatalogMetadata = FromSchema<typeof CATALOG_METADATA>;

export const SPORTS_TAXONOMY = object({
  sports: arrayOf(
    object({
      name: { type: 'string', examples: ['Football'] },
      leagues: arrayOf(
        object({
          name: { type: 'string', examples: ['NFL'] },
          teams: arrayOf({ type: 'string', examples: ['Bears'] }),
        }),
      ),
    }),
  ),
});
export type SportsTaxonomy = FromSchema<typeof SPORTS_TAXONOMY>;

export type MarketsQuery = QueryOf<typeof MARKETS_QUERY>;

const OF_OUTCOME = { market_id: UUID, outcome_index: OUTCOME_INDEX } as const;
const BEST = { best_bid: orNull(PRICE), best_ask: orNull(PRICE) } as const;
const MIDPOINT_FIELD = { midpoint: orNull(PRICE) } as const;

export const BBO = object({
  ...OF_OUTCOME,
  ...BEST,
  spread: orNull(PRICE),
  ...MIDPOINT_FIELD,
  timestamp: { type: 'integer', description: 'Unix seconds.', examples: [1_790_856_000] },
});
export type Bbo = FromSchema<typeof BBO>;
export const BBOS = object({ markets: arrayOf(BBO) });
export type Bbos = FromSchema<typeof BBOS>;
export const BBOS_BODY = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['market_id', 'outcome_index'],
    properties: { market_id: { type: 'string', examples: UUID.examples }, outcome_index: OUTCOME_INDEX },
  },
} as const;
export const SPREAD = object({
  ...OF_OUTCOME,
  spread: orNull(PRICE),
  spread_bps: orNull(COUNT),
  ...BEST,
});
export const MIDPOINT = object({ ...OF_OUTCOME, ...MIDPOINT_FIELD });

export const TICK_SIZE = object({
  market_id: UUID,
  tick_size: PRICE,
  ticks_per_unit: { type: 'integer', minimum: 1, examples: [100] },
  lot_size_atomic: UNITS,
  min_order_size_atomic: UNITS,
});
export type TickSize = FromSchema<typeof TICK_SIZE>;

const PERCENT = { type: 'string', examples: ['0.5%'] } as const;
export const FEE_RATE = object({
  market_id: UUID,
  maker_fee_bps: FEE_BPS,
  taker_fee_bps: FEE_BPS,
  maker_fee_pct: PERCENT,
  taker_fee_pct: PERCENT,
});
export type FeeRate = FromSchema<typeof FEE_RATE>;

/** Fields of the administrator's commands for the catalogue. A null removes a field. */
export const SHORT_TEXT = {
  type: 'string',
  minLength: 1,
  maxLength: 300,
  ...LINE,
  examples: ['Will it rain tomorrow?'],
} as const;
export const SUBTITLE = { type: 'string', maxLength: 300, ...LINE, examples: [''] } as const;
export const OPTIONAL_TEXT = { type: ['string', 'null'], maxLength: 300, ...LINE, examples: [null] } as const;
export const LONG_TEXT = {
  type: 'string',
  maxLength: 20_000,
  ...LINES,
  examples: ['Yes if a drop is measured.'],
} as const;
/** A page may make a link of it, so `javascript:` and `data:` are not allowed. */
const URL_FORM = { maxLength: 2000, pattern: `^https?://[^\\s"<>${HIDDEN}]+$` } as const;
export const LINK = { type: ['string', 'null'], ...URL_FORM, examples: [null] } as const;
const OPTIONAL_COUNT = { type: ['integer', 'null'], minimum: 0, maximum: MAX_SAFE, examples: [null] } as const;
const OPTIONAL_HASH = { type: ['string', 'null'], format: 'hash', examples: [null] } as const;
const OPTIONAL_PERCENTAGES = {
  type: ['array', 'null'],
  minItems: 2,
  maxItems: 2,
  items: { type: 'integer', minimum: 0, maximum: 100 },
  examples: [null],
} as const;
export const NEW_SOURCE = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'url'],
  properties: { name: SHORT_TEXT, url: { type: 'string', ...URL_FORM, examples: ['https://weather.example'] } },
} as const;

const MARKET_DETAILS = {
  title: SHORT_TEXT,
  subtitle: SUBTITLE,
  description: LONG_TEXT,
  outcomes: {
    type: 'array',
    minItems: 2,
    maxItems: 2,
    uniqueItems: true,
    items: SHORT_TEXT,
    examples: [['Yes', 'No']],
  },
  outcome_probabilities: OPTIONAL_PERCENTAGES,
  previous_outcome_probabilities: OPTIONAL_PERCENTAGES,
  category: SHORT_TEXT,
  subcategories: { type: ['array', 'null'], maxItems: 50, items: SHORT_TEXT },
  external_source: SHORT_TEXT,
  external_event_id: OPTIONAL_TEXT,
  external_market_type: { type: ['string', 'null'], enum: [...MARKET_TYPES, null] },
  series_ticker: OPTIONAL_TEXT,
  player_name: OPTIONAL_TEXT,
  player_team_abbrev: OPTIONAL_TEXT,
  stat_category: OPTIONAL_TEXT,
  period: OPTIONAL_TEXT,
  line: { type: ['number', 'null'], examples: [null] },
  resolution_source: LINK,
  settlement_sources: {
    type: ['array', 'null'],
    maxItems: 20,
    items: NEW_SOURCE,
  },
  open_interest: OPTIONAL_COUNT,
  volume_24h: OPTIONAL_COUNT,
  condition_id: OPTIONAL_HASH,
  question_id: OPTIONAL_HASH,
} as const;

const MARKET_TERMS = {
  event_id: { type: ['string', 'null'], format: 'uuid', examples: [null] },
  trading_starts_at: TIME,
  trading_ends_at: TIME,
  fee_bps: FEE_BPS,
} as const;

/** The terms that the markets of an event set share. */
export const SET_TERMS = {
  trading_starts_at: TIME,
  trading_ends_at: TIME,
  fee_bps: FEE_BPS,
  ticks_per_unit: { type: 'integer', enum: TICKS_PER_UNIT },
  min_order_size_atomic: AMOUNT,
} as const;

export const NEW_MARKET = {
  type: 'object',
  additionalProperties: false,
  required: ['title', 'description', 'category', 'trading_ends_at'],
  properties: {
    ...MARKET_DETAILS,
    ...MARKET_TERMS,
    status: { type: 'string', enum: ['draft', 'pending', 'active'] },
    ticks_per_unit: { type: 'integer', enum: TICKS_PER_UNIT },
    min_order_size_atomic: AMOUNT,
    yes_token_id: UINT256,
    no_token_id: { ...UINT256, examples: ['115792089237316195423570985008687907852837'] },
  },
} as const;
export type NewMarket = FromSchema<typeof NEW_MARKET>;

export const MARKET_PATCH = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: { ...MARKET_DETAILS, ...MARKET_TERMS, status: MARKET_STATUS_FIELD },
} as const;
export type MarketPatch = FromSchema<typeof MARKET_PATCH>;

/** The payouts of a Yes and a No token in millionths of a USDC, together 1,000,000. */
export type Payouts = FromSchema<typeof PAYOUTS>;

export const RESOLUTION = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { outcome_index: OUTCOME_INDEX, payouts: PAYOUTS },
  description: 'The outcome that wins, or a share for both.',
  examples: [{ outcome_index: OUTCOME.YES }],
} as const;
export type Resolution = FromSchema<typeof RESOLUTION>;

export const CANCELLATION = {
  type: 'object',
  additionalProperties: false,
  properties: { payouts: PAYOUTS },
} as const;
