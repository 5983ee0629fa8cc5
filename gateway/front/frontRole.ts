/**
 * The role of a member of a cluster as its fronts say it (RULES.md 18.4), in whatever they answer by themselves: reads,
 * and refusals of calls for which there is no room.
 * Owner: the front thread.
 *
 * Invariants:
 *   FRONTROLE-1  The role is noted when a call comes, before anything else is known of the call: what it shows is read
 *                later, so no answer says that it is newer than it is (SHOWNROLE-2).
 */
import { Replication } from '../../shared/wire/replication.ts';
import type { Role } from '../base/role.ts';
import { ShownRole, type ShownRoleBuffers } from '../base/shownRole.ts';

export class FrontRole implements Role {
  asOfMs: number | null = null;
  /** No front reads read.db. */
  readonly pastAsOfMs = null;
  readonly #shown: ShownRole;

  constructor({ role, replication }: ShownRoleBuffers) {
    const memory = new Replication(replication);
    this.#shown = new ShownRole(role, memory, memory.ages());
  }

  /** FRONTROLE-1. */
  note(): void {
    this.asOfMs = this.#shown.asOfMs;
  }

  lines(asOfMs: number | null): string {
    return this.#shown.lines(asOfMs);
  }

  /** No change comes to a front that it would carry out. */
  changeRefusal(): null {
    return null;
  }
}
