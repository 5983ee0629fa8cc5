/** Schemas of the ledger of an account: its movements of funds. */
import { OFFSET, TIME, UUID } from './fields.ts';
import { COUNT_IS_ESTIMATE, PAGE } from './markets.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

/** Only in a rehearsal without collateral is an amount negative: what a holder of negative tokens owed. */
const SIGNED_UNITS = { type: 'string', pattern: '^-?[0-9]+$', examples: ['6500000'] } as const;

const TYPE = {
  type: 'string',
  enum: ['deposit', 'withdrawal', 'split', 'merge', 'claim', 'fee_rebate'],
} as const;
export type AccountMovementType = FromSchema<typeof TYPE>;

const ACCOUNT_MOVEMENT = object({
  id: UUID,
  type: TYPE,
  amount_usdc_micro: SIGNED_UNITS,
  reference: described(
    orNull({ type: 'string', examples: ['wire 2026-10-01 17'] }),
    'The reference of a deposit or a withdrawal; of all others the hash of the entry, as the answer of a claim has it.',
  ),
  status: { const: 'completed' },
  created_at: TIME,
});
export type AccountMovement = FromSchema<typeof ACCOUNT_MOVEMENT>;
export const FUND_MOVEMENTS = object({ movements: arrayOf(ACCOUNT_MOVEMENT), ...PAGE }, COUNT_IS_ESTIMATE);
export type FundMovements = FromSchema<typeof FUND_MOVEMENTS>;

export const FUND_MOVEMENTS_QUERY = {
  type: 'object',
  properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 }, offset: OFFSET },
} as const;
/** As clients write it: what has a default may be left out. */
export type FundMovementsQuery = Partial<FromSchema<typeof FUND_MOVEMENTS_QUERY>>;
