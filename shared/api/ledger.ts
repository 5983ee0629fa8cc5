/** Schemas of the ledger of an account: its movements of funds, and statements. */
import { HASH, OFFSET, OUTCOME_INDEX, SIDE_FIELD, SIGNED_UNITS, SINCE, TIME, UNITS, UUID } from './fields.ts';
import { SETTLEMENT_STATUS } from './history.ts';
import { COUNT_IS_ESTIMATE, PAGE } from './markets.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

const TYPE = {
  type: 'string',
  enum: ['deposit', 'withdrawal', 'split', 'merge', 'claim', 'fee_rebate', 'unwinding', 'movement_fee', 'conversion'],
} as const;
export type AccountMovementType = FromSchema<typeof TYPE>;

export const ACCOUNT_MOVEMENT = object({
  id: UUID,
  type: TYPE,
  amount_usdc_micro: SIGNED_UNITS,
  reference: described(
    orNull({ type: 'string', examples: ['wire 2026-10-01 17'] }),
    'Of a deposit or withdrawal; of all others the hash of the entry, as the answer of a claim has it.',
  ),
  status: described(
    { type: 'string', enum: ['pending', 'completed'], examples: ['completed'] },
    'A withdrawal is pending until a block of the chain has paid it; everything else is completed.',
  ),
  settlement_status: described(SETTLEMENT_STATUS, 'How far the chain is; settled without one.'),
  tx_hash: described(orNull(HASH), 'The transaction on the chain, once a block has it.'),
  created_at: TIME,
});
export type AccountMovement = FromSchema<typeof ACCOUNT_MOVEMENT>;
export const FUND_MOVEMENTS = object({ movements: arrayOf(ACCOUNT_MOVEMENT), ...PAGE }, COUNT_IS_ESTIMATE);
export type FundMovements = FromSchema<typeof FUND_MOVEMENTS>;

export const FUND_MOVEMENTS_QUERY = {
  type: 'object',
  properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 }, offset: OFFSET },
} as const;
/** The query as clients write it: a member with a default may be left out. */
export type FundMovementsQuery = QueryOf<typeof FUND_MOVEMENTS_QUERY>;

export const STATEMENT_BALANCES = object({
  usdc_micro: described(SIGNED_UNITS, 'Available and reserved.'),
  tokens: arrayOf(object({ market_id: UUID, outcome_index: OUTCOME_INDEX, quantity_atomic: SIGNED_UNITS })),
});

export const STATEMENT_ENTRY = object({
  time: TIME,
  type: {
    type: 'string',
    enum: [
      ...(['fill', 'deposit', 'withdrawal', 'split', 'merge', 'claim', 'settlement', 'refund', 'carried'] as const),
      ...(['unwinding', 'movement_fee', 'conversion'] as const),
    ],
  },
  id: UUID,
  reference: ACCOUNT_MOVEMENT.properties.reference,
  market_id: orNull(UUID),
  outcome_index: orNull(OUTCOME_INDEX),
  side: orNull(SIDE_FIELD),
  role: orNull({ type: 'string', enum: ['taker', 'maker'] }),
  order_id: orNull(UUID),
  usdc_delta_micro: SIGNED_UNITS,
  yes_delta_atomic: SIGNED_UNITS,
  no_delta_atomic: SIGNED_UNITS,
  fee_usdc_micro: UNITS,
  fee_token_atomic: UNITS,
  usdc_balance_micro: SIGNED_UNITS,
});
export type StatementEntry = FromSchema<typeof STATEMENT_ENTRY>;

export const STATEMENT = object({
  from: orNull(TIME),
  to: TIME,
  opening: STATEMENT_BALANCES,
  entries: arrayOf(STATEMENT_ENTRY),
  closing: STATEMENT_BALANCES,
});
export type Statement = FromSchema<typeof STATEMENT>;

export const STATEMENT_QUERY = {
  type: 'object',
  properties: {
    from: described(SINCE, 'The first moment of the statement; from the first entry on if it is left out.'),
    to: described(SINCE, 'The moment before which the statement ends; the present if it is left out.'),
    format: described({ type: 'string', enum: ['json', 'csv'], default: 'json' }, 'CSV has the same lines.'),
  },
} as const;
/** The query as clients write it: a member with a default may be left out. */
export type StatementQuery = QueryOf<typeof STATEMENT_QUERY>;
