/**
 * The formats of a cluster in words (shared/base/formats.ts), and `admin cluster raise`: the end of an upgrade, after
 * which members of the version before are refused.
 */

import {
  commonTo,
  formatsOfLead,
  highest,
  knownIn,
  type Numbers,
  numbersIn,
  numbersText,
  raisedFrom,
  unreadable,
} from '../../shared/base/formats.ts';
import type { LeadFormats, MemberStatus } from '../../shared/wire/clusterStatus.ts';
import type { ReplicatedLog } from '../replication/log.ts';
import { AdminError } from './directory.ts';

type Members = readonly Pick<MemberStatus, 'holder' | 'formats' | 'silentMs'>[];

/** Lines about what leads write, and the members that know more than that. */
export function formatLines({ formats, raised }: LeadFormats, members: Members): string[] {
  const written = numbersIn(formats);
  const next = highest(written, numbersIn(raised));
  const lines = formats === '' ? [] : [`written: ${wordsOf(written)}`];
  const later = formats === '' ? [] : raisedFrom(written, next);
  if (later.length > 0) lines.push(`the next lead writes ${later.join(', ')}`);
  for (const { holder, formats: known } of members) {
    const more = raisedFrom(next, commonTo([knownIn(known)]));
    if (more.length > 0) lines.push(`${holder} knows more: ${more.join(', ')}`);
  }
  return [...lines, ...members.flatMap((member) => shutOutLines(member, next, members))];
}

/** About members that could not follow this one, because its version cannot write what they read. */
function shutOutLines({ holder, formats }: Members[number], next: Numbers, members: Members): string[] {
  const written = formatsOfLead(next, knownIn(formats));
  return members.flatMap((other) => {
    const what = other.holder === holder || other.formats === '' ? null : unreadable(written, knownIn(other.formats));
    return what === null ? [] : [`a lead of ${holder} shuts out ${other.holder}, which does not read ${what}`];
  });
}

/** The formats to which the cluster can be raised, and the members that prevent more. */
export function raisable({ formats, raised }: LeadFormats, members: Members): Raisable {
  const now = highest(numbersIn(formats), numbersIn(raised));
  const known = members.map((member) => knownIn(member.formats));
  const newest = known.map((each) => commonTo([each])).reduce(highest, {});
  const behind = members.flatMap(({ holder, silentMs }, index) => {
    const lacks = raisedFrom(highest(now, commonTo([known[index]])), newest);
    const silent = silentMs > GONE_MS ? `, and has not reported for ${(silentMs / 1000).toFixed(0)} s` : '';
    return lacks.length === 0 ? [] : [`${holder} does not know ${lacks.join(', ')}${silent}`];
  });
  return { now, next: highest(now, newest), behind };
}

type Raisable = { readonly now: Numbers; readonly next: Numbers; readonly behind: readonly string[] };

const GONE_MS = 10_000;

/** @returns the formats that later leads write. Nothing changes if a member does not know them. */
export async function raise(log: Pick<ReplicatedLog, 'facts' | 'raise'>): Promise<string[]> {
  const { formats, members } = await log.facts();
  const { now, next, behind } = raisable(formats, members);
  const steps = raisedFrom(now, next);
  if (steps.length === 0) return [`every member knows what is written, and no more: ${wordsOf(now)}`];
  if (behind.length > 0) {
    throw new AdminError(`${behind.join('; ')}: install the newer version there first, or name it in cluster leave`);
  }
  if (!(await log.raise(formats.raised, numbersText(next)))) {
    throw new AdminError('the cluster was raised by another command meanwhile');
  }
  return [
    `the next lead writes ${steps.join(', ')}`,
    'a member of a version that does not know it is refused from now on',
  ];
}

function wordsOf(numbers: Numbers): string {
  return numbersText(numbers).replaceAll('=', ' ').replaceAll(/(\d) /g, '$1, ');
}
