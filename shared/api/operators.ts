/** Schemas of the operators: the administrators, by name. */
import { TIME } from './fields.ts';
import { arrayOf, type FromSchema, object, orNull } from './schema.ts';

/** The rights of an operator. Every role may read, and `superuser` may do everything (RULES.md 9.12). */
export const OPERATOR_ROLES = ['viewer', 'catalogue', 'treasury', 'superuser'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** A name is a single word, so that a log line or a path can contain it unchanged. */
const OPERATOR_NAME = { type: 'string', pattern: '^[a-z][a-z0-9._-]{0,63}$', examples: ['ada'] } as const;
const ROLES = {
  type: 'array',
  minItems: 1,
  uniqueItems: true,
  items: { type: 'string', enum: OPERATOR_ROLES },
} as const;
export const OPERATOR_ID = { type: 'string', examples: ['opr_Zm9vYmFyYmF6cXV1'] } as const;

export const NEW_OPERATOR = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'roles'],
  properties: { name: OPERATOR_NAME, roles: ROLES },
} as const;
export type NewOperator = FromSchema<typeof NEW_OPERATOR>;

const OPERATOR_FIELDS = {
  id: OPERATOR_ID,
  name: OPERATOR_NAME,
  roles: ROLES,
  created_at: TIME,
  created_by: { ...OPERATOR_NAME, examples: ['bootstrap'] },
  revoked_at: orNull(TIME),
} as const;
export const OPERATOR = object(OPERATOR_FIELDS);
export type Operator = FromSchema<typeof OPERATOR>;
export const OPERATORS = object({ operators: arrayOf(OPERATOR) });
export type Operators = FromSchema<typeof OPERATORS>;

export const ISSUED_OPERATOR = object({
  ...OPERATOR_FIELDS,
  token: {
    type: 'string',
    description: 'Shown this once.',
    examples: ['opr_Zm9vYmFyYmF6cXV1.c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ'],
  },
});
export type IssuedOperator = FromSchema<typeof ISSUED_OPERATOR>;
