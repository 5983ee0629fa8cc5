/** Prices that are not orders: indications of desks, and the best prices of each market's book at a moment. */
import { PRICE, TIME, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';
import { CHANGE } from './tickers.ts';

/** Prices of Yes. */
export const INDICATION = object({ market_id: UUID, bid: PRICE, ask: PRICE, expires_at: TIME });
export type Indication = FromSchema<typeof INDICATION>;

const PRICE_TEXT = { type: 'string', maxLength: 20, examples: ['0.65'] } as const;
export const NEW_INDICATION = {
  type: 'object',
  additionalProperties: false,
  required: ['bid', 'ask', 'expires_at'],
  properties: { bid: PRICE_TEXT, ask: { ...PRICE_TEXT, examples: ['0.67'] }, expires_at: TIME },
} as const;
export type NewIndication = FromSchema<typeof NEW_INDICATION>;

/** The midpoints of Yes and No, by market. */
const MIDS = {
  type: 'object',
  additionalProperties: {
    type: 'array',
    minItems: 2,
    maxItems: 2,
    items: { type: 'number', minimum: 0, maximum: 1, examples: [0.5] },
  },
} as const;
export const PROBABILITIES = object({ probabilities: MIDS });

/** Prices of Yes; null if there is no order, or was no trade. */
export const QUOTE = object({
  best_bid: orNull(PRICE),
  best_ask: orNull(PRICE),
  midpoint: orNull(PRICE),
  last_price: orNull(PRICE),
  change: described(orNull(CHANGE), 'From the first to the last trade of 24 hours.'),
  volume_usdc_micro: described(UNITS, 'Of 24 hours.'),
  updated_at: TIME,
});
export type Quote = FromSchema<typeof QUOTE>;

/** By market. */
export const QUOTES = { type: 'object', additionalProperties: QUOTE } as const;

/**
 * The quotes of a page of events: `ids` are its markets in order, `covered` the markets that were asked about, which
 * are the same.
 */
export const QUOTE_FIELDS = {
  ids: arrayOf(UUID),
  desk_indications: {
    type: 'object',
    additionalProperties: object({ bid: PRICE, ask: PRICE, expires_at: TIME }),
  },
  on_chain: MIDS,
  covered: arrayOf(UUID),
  updated_at: TIME,
} as const;
