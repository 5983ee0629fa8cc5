/** Tickers: the trading of a market in 24 hours, and its best prices (RULES.md 13.14). */
import { COUNT, MARKET_SEQUENCE, OUTCOME_INDEX, PRICE, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

/** A price less another one. */
export const CHANGE = { type: 'string', pattern: '^-?[0-9]+(?:\\.[0-9]+)?$', examples: ['-0.05'] } as const;

/** Prices of the outcome; null if there was no trade, or is no order. */
export const TICKER = object({
  market_id: UUID,
  outcome_index: OUTCOME_INDEX,
  last_price: described(orNull(PRICE), 'Of the last trade ever.'),
  change: described(orNull(CHANGE), 'From the first to the last trade of the 24 hours.'),
  open: orNull(PRICE),
  high: orNull(PRICE),
  low: orNull(PRICE),
  token_quantity_atomic: UNITS,
  notional_usdc_micro: described(UNITS, 'The tokens at the prices of this outcome.'),
  volume_usdc_micro: described(UNITS, "The same trades at the takers' prices, as in every volume."),
  trades: COUNT,
  best_bid: orNull(PRICE),
  best_ask: orNull(PRICE),
  best_bid_quantity_atomic: orNull(UNITS),
  best_ask_quantity_atomic: orNull(UNITS),
  spread: orNull(PRICE),
  midpoint: orNull(PRICE),
  open_interest_atomic: described(UNITS, 'The full sets that exist.'),
  sequence: MARKET_SEQUENCE,
  timestamp: {
    type: 'integer',
    description: 'Unix milliseconds; since then it reads so.',
    examples: [1_790_856_000_000],
  },
});
export type Ticker = FromSchema<typeof TICKER>;

export const TICKERS = object({ tickers: arrayOf(TICKER) });
export type Tickers = FromSchema<typeof TICKERS>;
