/** Schemas of the audit log. */
import { ANY_MEMBERS, COUNT, TIME, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

const AUDIT_EVENTS = [
  'change',
  'result',
  'interrupted',
  'logins_refused',
  'approval_finished',
  'terms_changed',
  'decision_vetoed',
  'admin_token_replaced',
  'start',
  'stop',
  'gap',
  'restored',
] as const;
const AUDIT_EVENT = { type: 'string', enum: AUDIT_EVENTS } as const;
const OPERATOR = { type: 'string', maxLength: 64, examples: ['ada'] } as const;
const SEQUENCE = { type: 'integer', minimum: 0, examples: [17] } as const;
const DIGEST = {
  type: 'string',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
} as const;
const STATE = described(ANY_MEMBERS, 'As in the bodies of the routes, without secrets.');

/** Newest first. A record must match all given filters. */
export const AUDIT_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    cursor: { type: 'string', maxLength: 64, description: 'The next_cursor of the page before.', examples: ['MTcuMA'] },
    operator: described(OPERATOR, 'Only what this operator did.'),
    event: described(AUDIT_EVENT, 'Only records of this kind.'),
    path: { type: 'string', maxLength: 200, description: 'The start of the path.', examples: ['/admin/users'] },
    since: described(TIME, 'From this time on.'),
    until: described(TIME, 'Before this time.'),
  },
} as const;
export type AuditQuery = QueryOf<typeof AUDIT_QUERY>;

export const AUDIT_RECORD = object(
  {
    sequence: SEQUENCE,
    time: TIME,
    event: AUDIT_EVENT,
    previous: described(DIGEST, 'The hash of the record before.'),
    hash: described(DIGEST, 'SHA-256 of the text of the record up to this member.'),
    mac: {
      type: 'string',
      description: 'The id of the key, and an HMAC of the same text.',
      examples: ['1f2e3d4c:9f86'],
    },
  },
  {
    version: COUNT,
    operator: OPERATOR,
    operator_id: { type: 'string', examples: ['opr_Zm9vYmFyYmF6cXV1'] },
    address: { type: 'string', examples: ['192.0.2.7'] },
    method: { type: 'string', examples: ['POST'] },
    path: { type: 'string', examples: ['/admin/platform/pause'] },
    body: STATE,
    of: described(SEQUENCE, 'The number of the change.'),
    status: { type: 'integer', examples: [200] },
    code: { type: 'string', examples: ['CONFLICT'] },
    error: { type: 'string', examples: ['market status does not allow this'] },
    before: STATE,
    after: orNull(STATE),
    market_id: UUID,
    event_id: UUID,
    payouts: described(arrayOf(COUNT), 'Of Yes and No, in millionths, as they were proposed.'),
    proposal: described(SEQUENCE, 'Its number in the contract of resolutions.'),
    approval: STATE,
    count: COUNT,
    attempts: arrayOf(
      object(
        {
          address: { type: 'string', examples: ['192.0.2.7'] },
          fault: { type: 'string', enum: ['missing', 'invalid', 'role'] },
          count: COUNT,
        },
        { operator: OPERATOR },
      ),
    ),
    other_attempts: COUNT,
    since: described(TIME, 'What happened from this time on is in this record, or is gone after a restore.'),
    point: { type: 'string', description: 'The backup that was restored.', examples: ['20261128T182035.279Z'] },
    found: { type: 'integer', examples: [12] },
    expected: SEQUENCE,
    expected_hash: DIGEST,
  },
);
export type AuditRecord = FromSchema<typeof AUDIT_RECORD>;

export const AUDIT_PAGE = object({
  records: arrayOf(AUDIT_RECORD),
  next_cursor: orNull({ type: 'string', examples: ['MTcuMA'] }),
  head: described(
    object({ sequence: SEQUENCE, hash: DIGEST }),
    'The last record of the log at the time of the answer.',
  ),
});
export type AuditPage = FromSchema<typeof AUDIT_PAGE>;
