/**
 * The token of the operator. It stays in this tab, in memory and in the session storage: a reload keeps it, but no
 * other tab, no later day and no address bar ever has it.
 */
import { AdminClient } from '../../../../shared/client/admin.ts';
import type { Operations } from '../../../../shared/client/types.ts';

export type Operator = Operations['operator'];
export type Role = Operator['roles'][number];

const KEY = 'operator-token';
const TIMEOUT_MS = 8000;
let inMemory: string | null = null;

export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(KEY) ?? inMemory;
  } catch {
    return inMemory;
  }
}

/** @param token null forgets it. */
export function keepToken(token: string | null): void {
  inMemory = token;
  try {
    if (token === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  } catch {
    // The browser's storage is blocked: the tab's memory is enough until a reload.
  }
}

/** Makes one attempt per request: a person sees the failure and decides. */
export function clientWith(token: string): AdminClient {
  return new AdminClient({ baseUrl: location.origin, token, retry: false, timeoutMs: TIMEOUT_MS });
}

/** Every role may read what a viewer may, and a superuser may do everything (RULES.md 9.12). */
export function may({ roles }: Operator, needed: Role): boolean {
  return needed === 'viewer' || roles.includes(needed) || roles.includes('superuser');
}
