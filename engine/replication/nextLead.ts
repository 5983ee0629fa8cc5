/**
 * The lead that a member takes when the lease has ended. One that is a worse leader than another member which is there
 * leaves the lease to it for a while, and takes it when none else has (RULES.md 18.16, 18.19).
 */

import type { KnownFormats, Numbers } from '../../shared/base/formats.ts';
import { isFitToLead, type MemberStatus } from '../../shared/wire/clusterStatus.ts';
import { leadFormats, requireReadable, shutOut, THERE_MS, withFormats } from './formatsOfMember.ts';
import type { Lease, NextLead } from './log.ts';

const YIELD_MS = 3000;

type Own = {
  readonly holder: string;
  readonly known: KnownFormats;
  /** False: its disk is nearly full, or its files do not agree with the log. */
  readonly isFit: boolean;
  /** It takes the lease from a leader that goes on. */
  readonly isForced: boolean;
};

/** The formats of the lead; null: none is to be taken now. Throws where this member could not follow or lead. */
export function leadToTake(lease: Lease, members: readonly MemberStatus[], own: Own): Lead | null {
  requireReadable(lease, own.known);
  if (!own.isForced && (lease.expiresInMs > 0 || isLeftToOthers(lease, members, own))) return null;
  const numbers = leadFormats(lease, own.known);
  return { numbers, taken: { ...withFormats(lease, numbers), epoch: lease.epoch } };
}

type Lead = { readonly numbers: Numbers; readonly taken: NextLead };

/** True while its lead would shut another one out, or its disk is nearly full and that of another is not. */
function isLeftToOthers(lease: Lease, members: readonly MemberStatus[], own: Own): boolean {
  if (lease.expiresInMs <= -YIELD_MS) return false;
  const isThere = ({ holder, silentMs }: MemberStatus): boolean => {
    return holder !== own.holder && holder !== lease.holder && silentMs <= THERE_MS;
  };
  if (!own.isFit && members.some((member) => isThere(member) && isFitToLead(member))) return true;
  return shutOut(members, { lease, next: own.holder, known: own.known }).length > 0;
}
