/** Schemas of providers' statements, and of their differences from our sessions (RULES.md 16.80 to 16.84). */
import { COUNT, LINE, OFFSET, TEXT, TIME, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const DIFFERENCE_KINDS = [
  'missing_here',
  'missing_there',
  'other_amount',
  'not_completed_here',
  'refunded',
  'charged_back',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export const STATED_STATUSES = ['settled', 'refunded', 'charged_back'] as const;
export type StatedStatus = (typeof STATED_STATUSES)[number];
/** Other bodies are limited to 64 KiB. */
export const MAX_STATEMENT_BYTES = 2_000_000;
const MAX_ROWS = 5000;

const NAME = { type: 'string', pattern: '^[a-z0-9]{1,30}$', examples: ['sandbox'] } as const;
const DAY = { type: 'string', pattern: '^20[0-9]{2}-[01][0-9]-[0-3][0-9]$', examples: ['2026-11-28'] } as const;
const TRANSACTION = { type: 'string', minLength: 1, maxLength: 200, ...LINE, examples: ['tx-1'] } as const;
const REFERENCE = {
  type: 'string',
  pattern: '^[\\w-]{0,49}$',
  examples: ['0123456789abcdef0123456789abcdef'],
} as const;

export const STATEMENT_BODY = {
  type: 'object',
  required: ['provider', 'day'],
  properties: {
    provider: NAME,
    day: { ...DAY, description: 'In UTC, and over: today has no statement yet.' },
    rows: {
      type: 'array',
      maxItems: MAX_ROWS,
      description: 'The whole statement of the day. Without it the provider is asked.',
      items: {
        type: 'object',
        required: ['transaction_id', 'reference', 'kind', 'status', 'amount', 'currency'],
        properties: {
          transaction_id: TRANSACTION,
          reference: {
            ...REFERENCE,
            description: 'Our reference of the session, as the provider knows it; may be empty.',
          },
          kind: { type: 'string', enum: ['onramp', 'offramp'] },
          status: { type: 'string', enum: STATED_STATUSES },
          amount: {
            ...{ type: 'string', minLength: 1, maxLength: 40, examples: ['25.5'], 'x-unit': 'USDC' },
            description: 'USDC, as a decimal text; in another currency it agrees with no session.',
          },
          currency: { type: 'string', minLength: 1, maxLength: 10, examples: ['USDC'] },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
} as const;

export const DIFFERENCE = object({
  id: { type: 'integer', minimum: 1, examples: [7] },
  provider: NAME,
  transaction_id: described(TEXT, "Of the provider; where it has none, the session's."),
  kind: { type: 'string', enum: DIFFERENCE_KINDS },
  day: DAY,
  session_id: orNull(UUID),
  user_id: orNull(UUID),
  ours_micro: described(orNull(UNITS), 'USDC that has moved here.'),
  theirs_micro: described(orNull(UNITS), 'USDC of the statement.'),
  claim_micro: described(UNITS, 'Owed by the account, whose balance it does not change.'),
  found_at: TIME,
  closed_at: orNull(TIME),
  closed_by: described(orNull(TEXT), 'An operator; empty where a later statement has shown that all is well.'),
  note: orNull(TEXT),
});

export const STATEMENT_REPORT = object({
  provider: NAME,
  day: DAY,
  rows: COUNT,
  matched: described(COUNT, 'Rows that agree with a session.'),
  differences: described(arrayOf(DIFFERENCE), 'The open ones that this statement shows.'),
});

export const DIFFERENCES_QUERY = {
  type: 'object',
  properties: {
    all: { type: 'boolean', default: false, description: 'The closed ones too.' },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    offset: OFFSET,
  },
  additionalProperties: false,
} as const;

export const DIFFERENCES = object({
  open: COUNT,
  claim_micro: described(UNITS, 'Owed by accounts in all, of the open ones.'),
  differences: described(arrayOf(DIFFERENCE), 'Newest first.'),
});

export const DIFFERENCE_PARAM = {
  difference: { type: 'string', description: 'The number of the difference.', examples: ['7'] },
} as const;

export const CLOSE_BODY = {
  type: 'object',
  required: ['note'],
  properties: {
    note: { type: 'string', minLength: 1, maxLength: 500, ...LINE, examples: ['the provider has paid it back'] },
  },
  additionalProperties: false,
} as const;

export const CLOSED_DIFFERENCE = DIFFERENCE;

export type StatementBody = FromSchema<typeof STATEMENT_BODY>;
export type StatementReport = FromSchema<typeof STATEMENT_REPORT>;
export type FiatDifference = FromSchema<typeof DIFFERENCE>;
export type FiatDifferences = FromSchema<typeof DIFFERENCES>;
