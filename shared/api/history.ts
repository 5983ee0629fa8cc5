/** An account's history, page by page: its orders, its trades and its activity, and the parameters of these lists. */
import { CLOSE_REASON_NAMES, ORDER_STATUS_NAMES, OUTCOME, SETTLEMENT_STATUS_NAMES } from '../base/codes.ts';
import {
  COUNT,
  FILL_TIME,
  HASH,
  OFFSET,
  OUTCOME_INDEX,
  PRICE,
  SIDE_FIELD,
  SINCE,
  TEXT,
  TIME,
  UNITS,
  UUID,
} from './fields.ts';
import { COUNT_IS_ESTIMATE } from './markets.ts';
import { ORDER_FIELDS, ORDER_RECORD, TAGS } from './orders.ts';
import { arrayOf, described, type FromSchema, inUnit, object, orNull, type QueryOf } from './schema.ts';

export const USER_ORDER = object(
  {
    ...ORDER_FIELDS,
    initial_limit_notional_usdc_micro: described(orNull(UNITS), 'As signed, not as paid.'),
    filled_limit_notional_usdc_micro: orNull(UNITS),
    remaining_limit_notional_usdc_micro: orNull(UNITS),
    updated_at: described(TIME, 'Of the last fill or the close.'),
  },
  TAGS,
);
export type UserOrder = FromSchema<typeof USER_ORDER>;

const PAGE = { total: COUNT, limit: COUNT, offset: COUNT } as const;
const CURSOR = { type: 'string', examples: ['AgABm3Qh0AABm3Qh0ABwAIEAAAAAAAAH'] } as const;
const NEXT = {
  next_cursor: described(orNull(CURSOR), 'Null on the last page; another page may have fewer rows than its limit.'),
} as const;
export type Page = {
  total: number;
  limit: number;
  offset: number;
  count_is_estimate?: boolean;
  archived_before?: string;
};
const ARCHIVED = {
  ...COUNT_IS_ESTIMATE,
  archived_before: described(TIME, 'Earlier rows may be missing.'),
} as const;
export const USER_ORDERS = object({ orders: arrayOf(USER_ORDER), ...PAGE, ...NEXT }, ARCHIVED);
export type UserOrders = FromSchema<typeof USER_ORDERS>;

/** The number of newest orders in the first version of the list of orders. */
export const LEGACY_ORDERS_SHOWN = 100;
export const LEGACY_USER_ORDERS = object({
  orders: described(arrayOf(ORDER_RECORD), `The newest ${LEGACY_ORDERS_SHOWN}.`),
});
export type LegacyUserOrders = FromSchema<typeof LEGACY_USER_ORDERS>;

/** All of them are null if the facts about a fill are not certain. */
const PARTY_FIELDS = {
  party_order_id: orNull(UUID),
  party_side: orNull(SIDE_FIELD),
  party_outcome_index: orNull(OUTCOME_INDEX),
  notional_usdc_micro: orNull(UNITS),
  token_quantity_atomic: orNull(UNITS),
} as const;

export const SETTLEMENT_STATUS = { type: 'string', enum: SETTLEMENT_STATUS_NAMES, examples: ['settled'] } as const;

export const USER_TRADE = object({
  id: UUID,
  market_id: UUID,
  taker_order_id: UUID,
  maker_order_id: UUID,
  price: described(PRICE, 'Of the outcome of the taker.'),
  amount: inUnit(
    described(UNITS, 'What the taker gave: USDC of a BUY, tokens of a SELL.'),
    'micro-USDC of a BUY, atomic tokens of a SELL',
  ),
  taker_side: SIDE_FIELD,
  outcome_index: described(OUTCOME_INDEX, 'The outcome of the taker.'),
  role: orNull({ type: 'string', enum: ['taker', 'maker'] }),
  ...PARTY_FIELDS,
  order_hash: orNull(HASH),
  fee_amount: orNull(UNITS),
  fee_asset: orNull({ type: 'string', enum: ['USDC', 'TOKEN'] }),
  settlement_status: SETTLEMENT_STATUS,
  matched_at: FILL_TIME,
});
export type UserTrade = FromSchema<typeof USER_TRADE>;
export const USER_TRADES = object({ trades: arrayOf(USER_TRADE), ...PAGE, ...NEXT }, COUNT_IS_ESTIMATE);
export type UserTrades = FromSchema<typeof USER_TRADES>;

export const TRADE_SETTLEMENT = object({
  trade_id: UUID,
  settlement_status: SETTLEMENT_STATUS,
  history: described(arrayOf(object({ status: SETTLEMENT_STATUS, at: TIME })), 'The oldest first.'),
  batch_id: described(orNull(HASH), 'Of the batch that has the trade, if any.'),
  transaction_hash: described(orNull(HASH), 'Of its transaction, once in a block.'),
  block_number: orNull({ type: 'integer', minimum: 0, examples: [64_000_000] }),
  reason: described(orNull(TEXT), 'Why it was refused, or is tried again.'),
  unwound_at: described(orNull(TIME), 'When a failed trade was undone.'),
});
export type TradeSettlement = FromSchema<typeof TRADE_SETTLEMENT>;

export const LEGACY_USER_TRADE = object({
  id: UUID,
  market_id: UUID,
  outcome: described(OUTCOME_INDEX, 'The outcome of the taker.'),
  price: described(PRICE, 'Of the outcome of the taker.'),
  quantity: described(UNITS, 'Atomic tokens.'),
  side: described(SIDE_FIELD, 'The side of the taker.'),
  tx_signature: { type: 'null', examples: [null] },
  created_at: FILL_TIME,
  ...PARTY_FIELDS,
});
export type LegacyUserTrade = FromSchema<typeof LEGACY_USER_TRADE>;
export const LEGACY_USER_TRADES = object({ trades: arrayOf(LEGACY_USER_TRADE), ...PAGE }, COUNT_IS_ESTIMATE);
export type LegacyUserTrades = FromSchema<typeof LEGACY_USER_TRADES>;

const ACTIVITY_TYPES = ['fill', 'placed', 'cancelled', 'expired'] as const;
const ACTIVITY_TYPE = { type: 'string', enum: ACTIVITY_TYPES } as const;
export const ACTIVITY = object({
  id: UUID,
  type: ACTIVITY_TYPE,
  market_id: UUID,
  order_id: described(UUID, 'The order of the account.'),
  trade_id: described(orNull(UUID), 'Of a fill.'),
  side: SIDE_FIELD,
  outcome_index: OUTCOME_INDEX,
  price: described(PRICE, 'Of a fill its own, else the signed one, of the outcome of the order.'),
  quantity_atomic: described(UNITS, 'Tokens when placed, of the fill, or left at the end.'),
  reason: described(orNull({ type: 'string', enum: CLOSE_REASON_NAMES }), 'Why the order ended.'),
  created_at: TIME,
  ...PARTY_FIELDS,
  party_outcome_name: orNull(TEXT),
});
export type Activity = FromSchema<typeof ACTIVITY>;
export const USER_ACTIVITY = object({ activity: arrayOf(ACTIVITY), ...PAGE, ...NEXT }, ARCHIVED);
export type UserActivity = FromSchema<typeof USER_ACTIVITY>;

const HISTORY_LIMIT = 50;
/** In the activity and in the first version of trades, a larger limit counts as this one. */
export const EFFECTIVE_LIMIT = 100;
const LARGE_LIMIT = described(
  { type: 'integer', minimum: 1, default: HISTORY_LIMIT },
  `At most ${EFFECTIVE_LIMIT} count.`,
);
const HISTORY_OFFSET = described(OFFSET, 'Above 10,000 only a cursor leads further.');
const AFTER = { cursor: described(CURSOR, 'The `next_cursor` of the page before; `offset` is ignored then.') } as const;
const STATUS_WORD = `(?:${ORDER_STATUS_NAMES.join('|')})`;

export const USER_ORDERS_QUERY = {
  type: 'object',
  properties: {
    status: {
      type: 'string',
      pattern: `^${STATUS_WORD}(?:,${STATUS_WORD})*$`,
      description: 'Only orders with one of these, separated by commas.',
      examples: ['open,filled'],
    },
    side: described(SIDE_FIELD, 'Only orders of this side.'),
    outcome: described({ type: 'integer', minimum: OUTCOME.YES, maximum: OUTCOME.NO }, 'Only of this outcome.'),
    since: SINCE,
    sort: described(
      { type: 'string', enum: ['created_at', 'updated_at'], default: 'updated_at' },
      'Newest first by this.',
    ),
    limit: { type: 'integer', minimum: 1, maximum: 200, default: HISTORY_LIMIT },
    offset: HISTORY_OFFSET,
    ...AFTER,
  },
} as const;

export const USER_TRADES_QUERY = {
  type: 'object',
  properties: {
    market_id: described(UUID, 'Only of this market.'),
    side: described(SIDE_FIELD, 'The side of the taker.'),
    since: SINCE,
    limit: { type: 'integer', minimum: 1, maximum: 100, default: HISTORY_LIMIT },
    offset: HISTORY_OFFSET,
    ...AFTER,
  },
} as const;

export const LEGACY_USER_TRADES_QUERY = {
  type: 'object',
  properties: { market_id: described(UUID, 'Only of this market.'), limit: LARGE_LIMIT, offset: HISTORY_OFFSET },
} as const;

export const USER_ACTIVITY_QUERY = {
  type: 'object',
  properties: {
    market_id: described(UUID, 'Only what happened in this market.'),
    type: described(ACTIVITY_TYPE, 'Without it all types.'),
    limit: LARGE_LIMIT,
    offset: HISTORY_OFFSET,
    ...AFTER,
  },
} as const;

/** Queries as clients write them: a member with a default may be left out. */
export type UserOrdersQuery = QueryOf<typeof USER_ORDERS_QUERY>;
export type UserTradesQuery = QueryOf<typeof USER_TRADES_QUERY>;
export type LegacyUserTradesQuery = QueryOf<typeof LEGACY_USER_TRADES_QUERY>;
export type UserActivityQuery = QueryOf<typeof USER_ACTIVITY_QUERY>;
