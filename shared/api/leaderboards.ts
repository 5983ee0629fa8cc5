/** The pulse of the exchange, its busiest categories and its best traders. */
import { COUNT, HANDLE, TEXT, TIME, USD, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const DOLLAR_NUMBER = { type: 'number', examples: [1234.5] } as const;
const FRACTION = described({ type: 'number', examples: [0.125] }, '0.125 is 12.5 % more.');
export const PULSE = object({
  volume_24h_delta_pct: FRACTION,
  volume_24h_delta: FRACTION,
  active_traders_24h: COUNT,
  traders_online_24h: COUNT,
  settled_today_usd: USD,
  settled_today_usdc: DOLLAR_NUMBER,
  total_volume_24h: DOLLAR_NUMBER,
  active_markets: COUNT,
  active_markets_delta: FRACTION,
  traders_online_delta: FRACTION,
  tape_24h: {
    ...arrayOf(object({ hour: TIME, volume_usdc: DOLLAR_NUMBER })),
    minItems: 24,
    maxItems: 24,
  },
});
export type Pulse = FromSchema<typeof PULSE>;

export const SPOTLIGHT_QUERY = {
  type: 'object',
  properties: { window: described({ type: 'string', enum: ['7d'], default: '7d' }, 'What counts.') },
} as const;
export const SPOTLIGHT = object({
  window: { const: '7d' },
  categories: arrayOf(
    object({ category: TEXT, volume_usdc: DOLLAR_NUMBER, volume_delta_pct: FRACTION, market_count: COUNT }),
  ),
});

const LEADERBOARD_WINDOWS = ['24h', '7d', '30d', 'all'] as const;
export type LeaderboardWindow = (typeof LEADERBOARD_WINDOWS)[number];
export const LEADERBOARD_QUERY = {
  type: 'object',
  properties: {
    window: described({ type: 'string', enum: LEADERBOARD_WINDOWS, default: '7d' }, 'What counts.'),
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
  },
} as const;
export const LEADING_TRADER = object({
  handle: HANDLE,
  user_id: orNull(UUID),
  avatar_url: orNull({ type: 'string', examples: ['https://example.com/me.png'] }),
  pnl_usdc: DOLLAR_NUMBER,
  roi: FRACTION,
  trade_count: COUNT,
});
export const LEADERBOARD = object({
  window: { type: 'string', enum: LEADERBOARD_WINDOWS },
  traders: arrayOf(LEADING_TRADER),
});
export type Leaderboard = FromSchema<typeof LEADERBOARD>;
