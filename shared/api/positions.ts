/** Schemas of an account's positions. */
import { COUNT, FLAG, MESSAGE_TEXT, OUTCOME_INDEX, SIGNED_UNITS, TIME, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

const PRICE_8 = { type: 'string', pattern: '^[0-9]+\\.[0-9]{8}$', examples: ['0.65000000'] } as const;
const SIGNED_USDC = { type: 'string', pattern: '^-?[0-9]+\\.[0-9]{6}$', examples: ['0.385000'] } as const;
const TOKENS = described(SIGNED_UNITS, 'Atomic tokens; negative where trading without collateral owes some.');

export const POSITION = object({
  id: UUID,
  market_id: UUID,
  outcome_index: OUTCOME_INDEX,
  quantity: TOKENS,
  average_entry_price: orNull(PRICE_8),
  realized_pnl: orNull(SIGNED_USDC),
  claimed: FLAG,
});
export type Position = FromSchema<typeof POSITION>;
export const POSITION_LIST = arrayOf(POSITION);
export type Positions = FromSchema<typeof POSITION_LIST>;

export const POSITIONS_QUERY = {
  type: 'object',
  properties: {
    market_id: described(UUID, 'Only the position in this market.'),
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'All positions when left out.', examples: [100] },
    cursor: described(UUID, 'The id of the last position of the page before.'),
  },
} as const;
export type PositionsQuery = QueryOf<typeof POSITIONS_QUERY>;

const SIGNED_CENTS = { type: 'string', pattern: '^-?[0-9]+\\.[0-9]{2}$', examples: ['-1.25'] } as const;
export const PNL_24H = object({
  available_balance_usdc: orNull({ ...SIGNED_CENTS, description: 'Null while it is not known.', examples: ['991.50'] }),
  pnl_24h_usdc: SIGNED_CENTS,
  pnl_24h_pct: { type: 'number', examples: [-0.13] },
  computed_at: TIME,
});
export type Pnl24h = FromSchema<typeof PNL_24H>;

export const MARKED_CLAIMED = object({ message: MESSAGE_TEXT });

export const HOLDERS = object({ accounts: described(COUNT, 'With tokens of either outcome.') });
export type MarketHolders = FromSchema<typeof HOLDERS>;
