/** Scopes as bits: checking one is one AND. The masks are stored in control.db, so a bit keeps its meaning. */
import { SCOPE_NAMES, type Scope } from '../../shared/api/accounts.ts';

export const SCOPE = {
  'read:account': 1,
  'trade:orders': 2,
  'trade:bulk': 4,
  'stream:market': 8,
  'stream:user': 16,
  'manage:account': 32,
} as const satisfies Record<Scope, number>;

/** The rights of a session: all except orders in bulk, which are for programs (RULES.md 15.3). */
export const SESSION_SCOPES =
  SCOPE['read:account'] |
  SCOPE['trade:orders'] |
  SCOPE['manage:account'] |
  SCOPE['stream:market'] |
  SCOPE['stream:user'];

/** Returns zero, which is not a valid set of scopes, if a name is unknown. */
export function toScopeMask(names: readonly string[]): number {
  let mask = 0;
  for (const name of names) {
    if (!Object.hasOwn(SCOPE, name)) return 0;
    mask |= SCOPE[name as Scope];
  }
  return mask;
}

export function toScopeNames(mask: number): Scope[] {
  return SCOPE_NAMES.filter((name) => (mask & SCOPE[name]) !== 0);
}
