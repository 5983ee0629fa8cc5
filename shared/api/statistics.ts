/** The tape, the history of prices, and public profiles of accounts. */
import { FILL_TIME, HANDLE, PRICE, SIDE_FIELD, SINCE, TEXT, TITLE, UNITS, USD, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, inUnit, object, orNull } from './schema.ts';

const UNIX_SECONDS = { type: 'integer', minimum: 0, examples: [1_790_000_000] } as const;

const HISTORY_INTERVALS = ['1m', '5m', '1h', '1d'] as const;

export const PRICE_HISTORY_QUERY = {
  type: 'object',
  properties: {
    interval: described({ type: 'string', enum: HISTORY_INTERVALS, default: '1h' }, 'Between two points.'),
  },
} as const;

export const PRICE_POINT = object({
  timestamp: described(UNIX_SECONDS, 'The start of the interval.'),
  price: described(PRICE, 'Of Yes, in the last trade of the interval.'),
});
export const PRICE_HISTORY = object({ market_id: UUID, history: arrayOf(PRICE_POINT) });
export type PriceHistory = FromSchema<typeof PRICE_HISTORY>;

export const MARKET_TRADE = object({
  id: UUID,
  price: described(PRICE, 'Of Yes.'),
  amount: inUnit(described(UNITS, 'Tokens, in atomic units.'), 'atomic tokens (10^-6)'),
  side: described(SIDE_FIELD, 'Of the taker, in terms of Yes: buying No is selling Yes.'),
  timestamp: UNIX_SECONDS,
});
export const MARKET_TRADES = object({ trades: arrayOf(MARKET_TRADE) });
export type MarketTrades = FromSchema<typeof MARKET_TRADES>;

const MOST_USD = 1_000_000;
export const RECENT_FILLS_QUERY = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    since: SINCE,
    min_size_usd: described(
      { type: 'number', minimum: 0, maximum: MOST_USD, examples: [100] },
      'Only fills of so much USDC or more.',
    ),
    cursor: described(
      { type: 'string', examples: ['q1ZNQ9mCq3sQJk4mW0xk7g'] },
      'The `next_cursor` of the page before.',
    ),
  },
} as const;

export const RECENT_FILL = object({
  market_id: UUID,
  market_title: TITLE,
  outcome: { type: 'string', examples: ['Yes'] },
  side: SIDE_FIELD,
  size_usd: USD,
  price_cents: { type: 'string', pattern: '^[0-9]+$', examples: ['65'] },
  user_handle: HANDLE,
  category: TEXT,
  filled_at: FILL_TIME,
});
export const RECENT_FILLS = object({
  fills: arrayOf(RECENT_FILL),
  next_cursor: orNull({ type: 'string', examples: ['q1ZNQ9mCq3sQJk4mW0xk7g'] }),
});
export type RecentFills = FromSchema<typeof RECENT_FILLS>;
export type RecentFill = FromSchema<typeof RECENT_FILL>;

const AVATAR_URL = { type: 'string', maxLength: 500, pattern: '^https://[!-~]+$' } as const;
export const PUBLIC_PROFILE_BODY = {
  type: 'object',
  required: ['handle', 'is_public'],
  additionalProperties: false,
  properties: {
    handle: { type: 'string', pattern: '^(?!anon-)[a-z0-9_]{3,20}$', examples: ['market_maker_7'] },
    avatar_url: orNull({ ...AVATAR_URL, examples: ['https://example.com/me.png'] }),
    is_public: { type: 'boolean' },
  },
} as const;
export const PUBLIC_PROFILE = object({
  handle: orNull({ type: 'string', examples: ['market_maker_7'] }),
  avatar_url: orNull({ type: 'string', examples: ['https://example.com/me.png'] }),
  is_public: { type: 'boolean' },
});
