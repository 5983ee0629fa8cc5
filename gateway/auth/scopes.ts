/** What a key may do, as bits: checking a scope is one AND. Stored in control.db, so a bit keeps its meaning. */

export const SCOPE = {
  'read:account': 1,
  'trade:orders': 2,
  'trade:bulk': 4,
  'stream:market': 8,
  'stream:user': 16,
  'manage:account': 32,
} as const;

export type Scope = keyof typeof SCOPE;
export const SCOPE_NAMES = Object.keys(SCOPE) as readonly Scope[];

/** Zero when a name is not a scope, which no valid set of scopes is. */
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
