/**
 * The token of the operator, which stays in this tab: in its memory and in the session storage, so that a reload keeps
 * it and another tab, another day or the address bar never has it.
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
    // The browser keeps nothing: the memory of the tab is enough until it is reloaded.
  }
}

/** One attempt and no more: a person sees the failure and decides. */
export function clientWith(token: string): AdminClient {
  return new AdminClient({ baseUrl: location.origin, token, retry: false, timeoutMs: TIMEOUT_MS });
}

/** Every role may read what a viewer may, and a superuser may do everything (RULES.md 9.12). */
export function may({ roles }: Operator, needed: Role): boolean {
  return needed === 'viewer' || roles.includes(needed) || roles.includes('superuser');
}
