/** Schemas of the parts of fees that are owed to accounts: rebates of makers, earnings of referrers. */
import { COUNT, TIME, USD, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, type QueryOf } from './schema.ts';

const REBATE_BPS = { type: 'integer', minimum: 0, maximum: 10_000, examples: [2500] } as const;
const PER_PAGE = described({ type: 'integer', minimum: 1, maximum: 100, default: 20 }, 'So many rows at most.');
const PAGES = {
  page: described({ type: 'integer', minimum: 1, maximum: 100_000, default: 1 }, 'From 1 on.'),
  per_page: PER_PAGE,
} as const;
const PAGE = { total: COUNT, page: COUNT, per_page: COUNT } as const;

export const REBATES = object({
  rebates: arrayOf(
    object({
      id: UUID,
      user_id: UUID,
      trade_id: UUID,
      market_id: UUID,
      rebate_bps: REBATE_BPS,
      rebate_amount_usdc: USD,
      status: described({ const: 'accrued' }, 'Owed, not paid.'),
      credited_at: { type: 'null', examples: [null] },
      created_at: TIME,
    }),
  ),
  ...PAGE,
  summary: object({ accrued: object({ total_usdc: USD, count: COUNT }) }),
});
export type Rebates = FromSchema<typeof REBATES>;

export const REBATES_QUERY = {
  type: 'object',
  properties: {
    ...PAGES,
    status: described(
      { type: 'string', pattern: '^[a-z_]{1,32}$', examples: ['accrued'] },
      'Every rebate is accrued; of any other status there is none.',
    ),
  },
} as const;
export type RebatesQuery = QueryOf<typeof REBATES_QUERY>;

export const EARNINGS = object({
  earnings: arrayOf(object({ referred_user: UUID, trade_id: UUID, amount_usdc: USD, created_at: TIME })),
  total_usdc: USD,
  ...PAGE,
});
export type Earnings = FromSchema<typeof EARNINGS>;

export const EARNINGS_QUERY = { type: 'object', properties: PAGES } as const;
export type EarningsQuery = QueryOf<typeof EARNINGS_QUERY>;

export const NEW_REBATE = {
  type: 'object',
  additionalProperties: false,
  required: ['rebate_bps'],
  properties: { rebate_bps: REBATE_BPS },
} as const;
export const MARKET_REBATE = object({ market_id: UUID, rebate_bps: REBATE_BPS, since: TIME });
export type MarketRebate = FromSchema<typeof MARKET_REBATE>;
