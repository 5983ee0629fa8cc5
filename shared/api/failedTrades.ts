/** Schemas of the trades that the contract refuses for good, for administrators (RULES.md 17.41). */
import { PRICE, TEXT, TIME, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

export const FAILED_TRADE = object({
  trade_id: UUID,
  market_id: UUID,
  maker_user_id: UUID,
  taker_user_id: UUID,
  price: described(PRICE, 'Of Yes.'),
  token_quantity_atomic: UNITS,
  reason: described({ ...TEXT, examples: ['OrderExpired'] }, 'The name of the error of the contract.'),
  matched_at: TIME,
  failed_at: TIME,
});

export const FAILED_TRADES_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    cursor: {
      type: 'integer',
      minimum: 0,
      default: 0,
      description: 'The next_cursor of the page before.',
      examples: [17],
    },
  },
} as const;
export type FailedTradesQuery = QueryOf<typeof FAILED_TRADES_QUERY>;
export const FAILED_TRADES = object({
  trades: described(arrayOf(FAILED_TRADE), 'The oldest first; without those that were unwound.'),
  next_cursor: orNull({ type: 'integer', examples: [17] }),
});
export type FailedTrades = FromSchema<typeof FAILED_TRADES>;

export const MENDED_TRADE = object({
  trade_id: UUID,
  settlement: { type: 'string', enum: ['unwound', 'tried_again'], examples: ['unwound'] },
});
export type MendedTrade = FromSchema<typeof MENDED_TRADE>;
