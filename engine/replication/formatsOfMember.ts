/**
 * A member's part in choosing formats (shared/base/formats.ts): it follows formats that it can read, and takes the
 * lease with formats that it can write.
 */

import {
  formatsOfLead,
  highest,
  type KnownFormats,
  knownIn,
  type Numbers,
  numbersIn,
  numbersText,
  unreadable,
} from '../../shared/base/formats.ts';
import type { LeadFormats, MemberStatus } from '../../shared/wire/clusterStatus.ts';
import { type Lease, NotAMemberError } from './log.ts';

/** A member whose last report is more recent than this is present; members report every second. */
export const THERE_MS = 3000;

/** FORMATS-2. Throws where the cluster is, or will be, written in a format that these do not include. */
export function requireReadable({ holder, ...of }: Pick<Lease, 'holder'> & LeadFormats, known: KnownFormats): void {
  const what = unreadable(highest(numbersIn(of.formats), numbersIn(of.raised)), known);
  if (what === null) return;
  const whose = holder === '' ? 'of the other members' : `of ${holder}`;
  throw new NotAMemberError(`this version does not read what the cluster writes: ${what}; install that ${whose}`);
}

/** FORMATS-1. The numbers of a member that takes the lease now. */
export function leadFormats({ formats, raised }: LeadFormats, known: KnownFormats): Numbers {
  return formatsOfLead(highest(numbersIn(formats), numbersIn(raised)), known);
}

/** The lease with these formats; the cluster stays raised to what a leader has once written. */
export function withFormats(lease: LeadFormats, numbers: Numbers): LeadFormats {
  return { formats: numbersText(numbers), raised: lease.raised };
}

/** Present members that could not follow a leader with these formats: their names, and the formats they lack. */
export function shutOut(
  members: readonly MemberStatus[],
  { lease, next, known }: { readonly lease: Lease; readonly next: string; readonly known: KnownFormats },
): readonly string[] {
  const numbers = leadFormats(lease, known);
  return members.flatMap(({ holder, formats, silentMs }) => {
    if (holder === next || holder === lease.holder || silentMs > THERE_MS) return [];
    const what = unreadable(numbers, knownIn(formats));
    return what === null ? [] : [`${holder} does not read ${what}`];
  });
}
