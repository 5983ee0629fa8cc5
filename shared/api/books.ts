/** The book of a market: its levels, or its orders, of one outcome or both. */
import { OUTCOME } from '../base/codes.ts';
import { COUNT, FLAG, MARKET_SEQUENCE, OUTCOME_INDEX, PRICE, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object } from './schema.ts';

/** A level of a book: all its orders at one price. */
export const BOOK_LEVEL = object({
  price: PRICE,
  num_orders: COUNT,
  token_quantity_atomic: UNITS,
  notional_usdc_micro: UNITS,
  size: described(UNITS, 'The sum of what the makers still provide, each in its asset.'),
});
export type BookLevel = FromSchema<typeof BOOK_LEVEL>;
const BOOK_SIDES_FIELDS = { bids: arrayOf(BOOK_LEVEL), asks: arrayOf(BOOK_LEVEL) } as const;
export const BOOK_SIDES = object(BOOK_SIDES_FIELDS);
export type BookSides = FromSchema<typeof BOOK_SIDES>;

/** Orders at one price stand in the order in which they are filled. */
export const BOOK_ORDER = object({ id: UUID, price: PRICE, remaining_token_quantity_atomic: UNITS });
export type BookOrder = FromSchema<typeof BOOK_ORDER>;
const ORDER_SIDES_FIELDS = {
  bids: arrayOf(BOOK_ORDER),
  asks: arrayOf(BOOK_ORDER),
  has_more: described(FLAG, 'The requested levels have more orders than an answer holds.'),
} as const;

const MARK = {
  market_id: UUID,
  sequence: MARKET_SEQUENCE,
  timestamp: { type: 'integer', description: 'Unix milliseconds.', examples: [1_790_856_000_000] },
} as const;
export const BOOK = object({ ...MARK, outcome_index: OUTCOME_INDEX, ...BOOK_SIDES_FIELDS });
export const BOTH_BOOKS = object({ ...MARK, outcome_0: BOOK_SIDES, outcome_1: BOOK_SIDES });
export const BOOK_OF_ORDERS = object({ ...MARK, outcome_index: OUTCOME_INDEX, ...ORDER_SIDES_FIELDS });
export const ORDER_SIDES = object(ORDER_SIDES_FIELDS);
export const BOTH_BOOKS_OF_ORDERS = object({ ...MARK, outcome_0: ORDER_SIDES, outcome_1: ORDER_SIDES });
export type Book = FromSchema<typeof BOOK>;
export type BothBooks = FromSchema<typeof BOTH_BOOKS>;
export type BookOfOrders = FromSchema<typeof BOOK_OF_ORDERS>;
export const ANY_BOOK = { anyOf: [BOOK, BOTH_BOOKS, BOOK_OF_ORDERS, BOTH_BOOKS_OF_ORDERS] } as const;

export const BOOK_QUERY = {
  type: 'object',
  properties: {
    outcome_index: described(
      { ...OUTCOME_INDEX, default: OUTCOME.YES, 'x-ignored-with': 'both' },
      '0 is Yes, 1 is No.',
    ),
    levels: described({ type: 'integer', minimum: 1, maximum: 100, default: 20 }, 'So many prices of a side at most.'),
    both: described({ type: 'boolean', default: false }, 'The books of both outcomes.'),
    l3: described({ type: 'boolean', default: false }, 'Each order in place of the sum at a price.'),
  },
} as const;

export const OUTCOME_QUERY = {
  type: 'object',
  properties: { outcome_index: described({ ...OUTCOME_INDEX, default: OUTCOME.YES }, '0 is Yes, 1 is No.') },
} as const;
