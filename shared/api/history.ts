/** An account's past, page by page: its orders and its trades, and what they are asked for by. */
import { ORDER_STATUS_NAMES, OUTCOME } from '../base/codes.ts';
import { COUNT, OFFSET, OUTCOME_INDEX, PRICE, SIDE_FIELD, SINCE, TIME, UNITS, UUID } from './fields.ts';
import { COUNT_IS_ESTIMATE } from './markets.ts';
import { ORDER_FIELDS, TAGS } from './orders.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const USER_ORDER = object(
  {
    ...ORDER_FIELDS,
    initial_limit_notional_usdc_micro: orNull(UNITS),
    filled_limit_notional_usdc_micro: orNull(UNITS),
    remaining_limit_notional_usdc_micro: orNull(UNITS),
  },
  TAGS,
);
export type UserOrder = FromSchema<typeof USER_ORDER>;

const PAGE = { total: COUNT, limit: COUNT, offset: COUNT } as const;
export type Page = { total: number; limit: number; offset: number; count_is_estimate?: boolean };
export const USER_ORDERS = object({ orders: arrayOf(USER_ORDER), ...PAGE }, COUNT_IS_ESTIMATE);
export type UserOrders = FromSchema<typeof USER_ORDERS>;

const USER_TRADE = object({
  id: UUID,
  market_id: UUID,
  taker_order_id: UUID,
  maker_order_id: UUID,
  price: PRICE,
  amount: { type: 'string', examples: ['10.5'] },
  taker_side: SIDE_FIELD,
  outcome_index: OUTCOME_INDEX,
  role: { type: 'string', enum: ['taker', 'maker'] },
  party_order_id: UUID,
  party_side: SIDE_FIELD,
  party_outcome_index: OUTCOME_INDEX,
  notional_usdc_micro: UNITS,
  token_quantity_atomic: UNITS,
  settlement_status: { const: 'settled' },
  matched_at: TIME,
});
export type UserTrade = FromSchema<typeof USER_TRADE>;
export const USER_TRADES = object({ trades: arrayOf(USER_TRADE), ...PAGE }, COUNT_IS_ESTIMATE);
export type UserTrades = FromSchema<typeof USER_TRADES>;

const HISTORY_LIMIT = 50;
const STATUS_WORD = `(?:${ORDER_STATUS_NAMES.join('|')})`;

export const USER_ORDERS_QUERY = {
  type: 'object',
  properties: {
    status: { type: 'string', pattern: `^${STATUS_WORD}(?:,${STATUS_WORD})*$`, examples: ['open,filled'] },
    side: SIDE_FIELD,
    outcome: { type: 'integer', minimum: OUTCOME.YES, maximum: OUTCOME.NO },
    since: SINCE,
    sort: { type: 'string', enum: ['created_at', 'updated_at'], default: 'updated_at' },
    limit: { type: 'integer', minimum: 1, maximum: 200, default: HISTORY_LIMIT },
    offset: OFFSET,
  },
} as const;

export const USER_TRADES_QUERY = {
  type: 'object',
  properties: {
    market_id: UUID,
    side: described(SIDE_FIELD, 'The side of the taker.'),
    since: SINCE,
    limit: { type: 'integer', minimum: 1, maximum: 100, default: HISTORY_LIMIT },
    offset: OFFSET,
  },
} as const;

/** Queries as clients write them: what has a default may be left out. */
export type UserOrdersQuery = Partial<FromSchema<typeof USER_ORDERS_QUERY>>;
export type UserTradesQuery = Partial<FromSchema<typeof USER_TRADES_QUERY>>;
