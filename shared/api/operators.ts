/** Schemas of the operators: the administrators, by name. */

/** The rights of an operator. Every role may read, and `superuser` may do everything (RULES.md 9.12). */
export const OPERATOR_ROLES = ['viewer', 'catalogue', 'treasury', 'superuser'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];
