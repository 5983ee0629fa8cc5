/**
 * The role of a member of a cluster (RULES.md 18.4): it decides whether requests that change something are carried out
 * here. An exchange on one machine has none.
 */
import type { Refusal } from './refusal.ts';
import type { RouteSpec } from './spec.ts';

export type Role = {
  /** The value of the header X-SVC-Role, with the header lines after it. */
  lines(): string;
  /** The refusal of a request that changes something; null: it is carried out. */
  changeRefusal(): Refusal | null;
};

/** A standby refuses such a request (RULES.md 18.5). */
export function changesSomething({ method, changes }: RouteSpec): boolean {
  return changes ?? method !== 'GET';
}
