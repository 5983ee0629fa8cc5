/** Candles: the trading of a market by interval, in terms of one outcome (RULES.md 13.13). */
import { COUNT, FLAG, OUTCOME_INDEX, PRICE, SINCE, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

export const CANDLE_INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const;
const INTERVAL = { type: 'string', enum: CANDLE_INTERVALS } as const;
const CURSOR = { type: 'string', examples: ['1790856000'] } as const;

export const CANDLES_QUERY = {
  type: 'object',
  properties: {
    interval: described({ ...INTERVAL, default: '1h' }, 'How long each candle is.'),
    outcome_index: described({ ...OUTCOME_INDEX, default: 0 }, '0 is Yes, 1 is No.'),
    from: described(SINCE, 'Only intervals that start at this time or later.'),
    to: described(SINCE, 'Only intervals that start before this time.'),
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    cursor: described(CURSOR, 'The `next_cursor` of a page: the intervals before it.'),
  },
} as const;
export type CandlesQuery = QueryOf<typeof CANDLES_QUERY>;

export const CANDLE = object({
  start: { type: 'integer', minimum: 0, description: 'Unix seconds.', examples: [1_790_856_000] },
  open: described(orNull(PRICE), 'Of the first trade; null in an interval without one, as are the other prices.'),
  high: orNull(PRICE),
  low: orNull(PRICE),
  close: orNull(PRICE),
  token_quantity_atomic: UNITS,
  notional_usdc_micro: described(UNITS, 'The tokens at the prices of this outcome.'),
  volume_usdc_micro: described(UNITS, "The same trades at the takers' prices, as in every volume."),
  trades: COUNT,
  is_open: described(FLAG, 'The interval may have more trades yet.'),
});
export type Candle = FromSchema<typeof CANDLE>;

export const CANDLES = object({
  market_id: UUID,
  outcome_index: OUTCOME_INDEX,
  interval: INTERVAL,
  candles: arrayOf(CANDLE),
  next_cursor: orNull(CURSOR),
});
export type Candles = FromSchema<typeof CANDLES>;
