/** Schemas of the changes that a second operator has to approve. */
import { ANY_MEMBERS, TIME, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

const NAME = { type: 'string', examples: ['ada'] } as const;

const APPROVAL_KIND = {
  type: 'string',
  enum: ['withdrawal', 'resolution', 'set_resolution', 'contracts', 'unwinding', 'market_terms', 'event_terms'],
} as const;
const APPROVAL_STATUS = {
  type: 'string',
  enum: ['pending', 'approved', 'carried_out', 'failed', 'rejected', 'expired', 'void'],
  description: 'approved until the end of the change is known; void: the operator who asked was revoked.',
} as const;

export const APPROVAL = object({
  id: UUID,
  kind: APPROVAL_KIND,
  status: APPROVAL_STATUS,
  request: described(ANY_MEMBERS, 'What is carried out, complete.'),
  requested_by: NAME,
  requested_at: TIME,
  expires_at: TIME,
  decided_by: orNull(NAME),
  decided_at: orNull(TIME),
  failure: described(
    orNull(
      object({
        code: { type: 'string', examples: ['INSUFFICIENT_BALANCE'] },
        error: { type: 'string', examples: ['insufficient balance'] },
      }),
    ),
    'Why the change was refused when it was carried out.',
  ),
});
export type Approval = FromSchema<typeof APPROVAL>;

export const APPROVALS_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    cursor: { type: 'integer', minimum: 1, description: 'The next_cursor of the page before.', examples: [17] },
  },
} as const;
export type ApprovalsQuery = QueryOf<typeof APPROVALS_QUERY>;
export const APPROVALS = object({
  approvals: arrayOf(APPROVAL),
  next_cursor: orNull({ type: 'integer', examples: [17] }),
});
export type Approvals = FromSchema<typeof APPROVALS>;
