/**
 * The lead that a member takes when the lease has ended. A member that would be a worse leader than another present
 * member leaves the lease to that one for a while, and takes it if no other member has (RULES.md 18.16, 18.19).
 */

import type { KnownFormats, Numbers } from '../../shared/base/formats.ts';
import { isFitToLead, type MemberStatus } from '../../shared/wire/clusterStatus.ts';
import { leadFormats, requireReadable, shutOut, THERE_MS, withFormats } from './formatsOfMember.ts';
import type { Lease, NextLead } from './log.ts';

const YIELD_MS = 3000;

type Own = {
  readonly holder: string;
  readonly known: KnownFormats;
  /** False if its disk is nearly full, or its files disagree with the log. */
  readonly isFit: boolean;
  /** True if it takes the lease from a leader that continues. */
  readonly isForced: boolean;
};

/** The formats of the lead, or null if no lead should be taken now. Throws if this member could not follow or lead. */
export function leadToTake(lease: Lease, members: readonly MemberStatus[], own: Own): Lead | null {
  requireReadable(lease, own.known);
  if (!own.isForced && (lease.expiresInMs > 0 || isLeftToOthers(lease, members, own))) return null;
  const numbers = leadFormats(lease, own.known);
  return { numbers, taken: { ...withFormats(lease, numbers), epoch: lease.epoch } };
}

type Lead = { readonly numbers: Numbers; readonly taken: NextLead };

/** True while its lead would shut another member out, or its disk is nearly full and another member's is not. */
function isLeftToOthers(lease: Lease, members: readonly MemberStatus[], own: Own): boolean {
  if (lease.expiresInMs <= -YIELD_MS) return false;
  const isThere = ({ holder, silentMs }: MemberStatus): boolean => {
    return holder !== own.holder && holder !== lease.holder && silentMs <= THERE_MS;
  };
  if (!own.isFit && members.some((member) => isThere(member) && isFitToLead(member))) return true;
  return shutOut(members, { lease, next: own.holder, known: own.known }).length > 0;
}
