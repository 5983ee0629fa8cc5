/**
 * The role of a member of a cluster (RULES.md 18.4): it decides whether this member carries out requests that change
 * something. An exchange on one machine has no role.
 */
import type { Refusal } from './refusal.ts';

export type Role = {
  /** On a standby: all log entries up to this time are applied. Null if it leads, or knows no such time. */
  readonly asOfMs: number | null;
  /** The same for read.db, which may be older. */
  readonly pastAsOfMs: number | null;
  /**
   * The value of the header X-SVC-Role, with the header lines after it.
   * @param asOfMs the role's `asOfMs` when the request came: its answer may be from then
   */
  lines(asOfMs: number | null): string;
  /** Returns the refusal of a request that changes something; null if it is carried out. */
  changeRefusal(): Refusal | null;
};

/** True for a request that a standby refuses (RULES.md 18.5). */
export function changesSomething({
  method,
  changes,
}: {
  readonly method: string;
  readonly changes?: boolean;
}): boolean {
  return changes ?? method !== 'GET';
}
