/**
 * The role of a member of a cluster (RULES.md 18.4): it decides if this member carries out requests that change
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
   * @param asOfMs that of the role when the call came: its answer may be from then
   */
  lines(asOfMs: number | null): string;
  /** The refusal of a request that changes something; null: it is carried out. */
  changeRefusal(): Refusal | null;
};

/** A standby refuses such a request (RULES.md 18.5). */
export function changesSomething({
  method,
  changes,
}: {
  readonly method: string;
  readonly changes?: boolean;
}): boolean {
  return changes ?? method !== 'GET';
}
