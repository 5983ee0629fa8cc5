/** Decides which roles of an operator cover the need of a route (RULES.md 9.12). */
import { OPERATOR_ROLES, type OperatorRole } from '../../shared/api/operators.ts';

const NAMES: ReadonlySet<string> = new Set(OPERATOR_ROLES);

/** Each role may read what a viewer may, and a superuser may do everything. */
export function covers(roles: readonly OperatorRole[], needed: OperatorRole): boolean {
  return needed === 'viewer' || roles.includes(needed) || roles.includes('superuser');
}

export function isRole(name: string): name is OperatorRole {
  return NAMES.has(name);
}
