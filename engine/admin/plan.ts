/**
 * The plan for the repair of a damaged shard, with its costs. It only decides: repair.ts carries the plan out, and
 * verify.ts prints it.
 */
import type { SequenceRange } from '../journal/reader.ts';
import { listSnapshots, type SnapshotFile } from '../snapshot/snapshot.ts';
import { countsIn } from './givenUp.ts';
import { type Findings, reachFrom } from './inspect.ts';

export type Plan = {
  readonly findings: Findings;
  /** The records that form a new journal; null leaves the journal as it is. */
  readonly keep: Kept | null;
  readonly rewritesMark: boolean;
  readonly setAside: readonly SnapshotFile[];
  /** True if acknowledged records or a part of the history are given up, so that the operator has to agree. */
  readonly needsConsent: boolean;
  /** The changes and their costs, one line each; empty if there is nothing to do. */
  readonly effects: readonly string[];
  /** Intact records that leave the journal: they are written to a file. */
  readonly leaving: readonly SequenceRange[];
  /** Advice for a shard that cannot be repaired here, otherwise null. */
  readonly hopeless: string | null;
};

/** If the range is empty, the journal begins anew: after `base`, with a record that changes nothing. */
type Kept = SequenceRange & {
  /** The state before the first record. Null stands for an empty state, or for the state of the existing snapshots. */
  readonly base: SnapshotFile | null;
};

const RESTORE = 'restore the data directory from a backup';
const PUT_BACK =
  'put the file back from a backup (incidents.md, "Something was damaged"); without it the exchange runs, and ' +
  'refuses orders that may be on the page';

export function planRepair(findings: Findings): Plan {
  const { problem } = findings;
  const { journalPath } = findings.file;
  switch (problem?.kind) {
    case undefined:
      return needsHurtRuns(findings) ? planOf(findings, { hopeless: PUT_BACK }) : planOf(findings, {});
    case 'mark':
      return planOf(findings, {
        rewritesMark: true,
        effects: [
          `the mark of ${journalPath} is written anew at record ${findings.last}`,
          'whether records after that one are missing cannot be determined any more',
        ],
      });
    case 'end':
    case 'record':
    case 'pages':
      return planCut(findings);
    case 'foreign':
      return planOf(findings, {
        rewritesMark: true,
        needsConsent: true,
        effects: [
          `the records of ${journalPath} are taken as they are, ${findings.first} to ${findings.last}`,
          'how many acknowledged records of the history its mark was written for are given up cannot be determined',
        ],
      });
    case 'replay':
      return hopeless(findings, 'the record itself is whole: use the version of this program that wrote it');
    case 'trimmed':
      return hopeless(findings, 'run this again');
    default:
      return hopeless(findings, RESTORE);
  }
}

/**
 * The journal keeps whatever leads furthest: the records before the damage, or the records after a snapshot, which has
 * the state but no earlier history. A journal that is intact up to its end stays as it is.
 */
function planCut(findings: Findings): Plan {
  const kept = furthest(findings);
  if (kept === null) return hopeless(findings, RESTORE);
  const { first, last, checkedTo, isSalvaged } = findings;
  const reached = Math.max(kept.to, kept.base?.sequence ?? 0);
  const end = Math.max(last, acknowledgedIn(findings));
  const effects: string[] = [];
  if (reached < end) effects.push(...costAfter(findings, reached));
  else if (kept.base !== null)
    effects.push(`no order and no balance is lost: ${kept.base.path} holds what they led to`);
  if (kept.from > first) {
    effects.push(`records ${first} to ${kept.from - 1} are given up as history: no export and no new read.db has them`);
  }
  const leaving = [{ from: first, to: checkedTo }, ...findings.behind].flatMap((range) => outside(range, kept));
  if (leaving.length > 0) {
    const text = leaving.map(({ from, to }) => `${from} to ${to}`).join(', ');
    effects.push(`records ${text} are whole: ${countsIn(findings, leaving)} are written to a file first`);
  }
  const isWhole = !isSalvaged && kept.from === first && kept.to === last;
  if (!isWhole && findings.problem?.kind === 'pages')
    effects.push('every record that is there is whole: the file is written anew');
  // A damaged file does not say where it began.
  const mayLack = isSalvaged && first > 1;
  if (mayLack)
    effects.push(`records before ${first} are given up as history, unless they were trimmed before the damage`);
  const needsConsent = mayLack || kept.from > first || reached < acknowledgedIn(findings);
  return planOf(findings, { keep: isWhole ? null : kept, rewritesMark: true, needsConsent, effects, leaving });
}

/** Returns the start that leads to the greatest record; of several, the start with the longest history. */
function furthest(findings: Findings): Kept | null {
  const { file, first, checkedTo, replayedFrom } = findings;
  const hasNothingLeft = checkedTo < first && first > 1;
  let kept: Kept | null = null;
  let reached = -1;
  if (replayedFrom !== null && !hasNothingLeft) {
    kept = { base: null, from: first, to: checkedTo };
    reached = checkedTo;
  }
  for (const base of listSnapshots(file.directory, file.shard)) {
    if (base.sequence <= checkedTo) continue;
    const to = reachFrom(findings, base);
    if (to === null || to < reached || (to === reached && kept?.base === null)) continue;
    kept = { base, from: base.sequence + 1, to };
    reached = to;
  }
  return kept;
}

/** The costs of a journal that ends with this record, compared with everything that there was. */
function costAfter(findings: Findings, reached: number): string[] {
  const { last, mark, behind } = findings;
  const acknowledged = acknowledgedIn(findings);
  if (mark !== null && reached >= acknowledged) {
    return [
      `records ${reached + 1} to ${last} are dropped: they follow the mark, so none of them was acknowledged ` +
        '(unless the machine, not only the process, went down while they were written)',
    ];
  }
  const to = mark === null ? Math.max(acknowledged, last) : acknowledged;
  const most = mark === null ? 'at most ' : '';
  const effects = [`${most}${to - reached} acknowledged records are given up: ${reached + 1} to ${to}`];
  const lost = gapsIn({ from: reached + 1, to }, behind);
  if (behind.length > 0) {
    const text = lost.map((range) => `${range.from} to ${range.to}`).join(', ');
    effects.push(
      `of these ${lost.reduce((sum, { from, to: end }) => sum + end - from + 1, 0)} cannot be read: ${text}`,
    );
  }
  return [...effects, `the journal then ends with record ${reached}`];
}

/** The last record that is known to be acknowledged. */
function acknowledgedIn({ file, mark }: Findings): number {
  return Math.max(mark?.sequence ?? 0, file.known?.sequence ?? 0);
}

/** Returns the parts of a range that are not kept. */
function outside({ from, to }: SequenceRange, kept: SequenceRange): SequenceRange[] {
  const before = { from, to: Math.min(to, kept.from - 1) };
  const after = { from: Math.max(from, kept.to + 1, kept.from), to };
  return [before, after].filter((range) => range.from <= range.to);
}

/** Returns the parts of a range that none of the other ranges has. The others are in order. */
function gapsIn({ from, to }: SequenceRange, others: readonly SequenceRange[]): SequenceRange[] {
  const gaps: SequenceRange[] = [];
  let next = from;
  for (const other of others) {
    if (other.from > next) gaps.push({ from: next, to: Math.min(to, other.from - 1) });
    next = Math.max(next, other.to + 1);
  }
  if (next <= to) gaps.push({ from: next, to });
  return gaps;
}

function planOf(findings: Findings, parts: Partial<Plan>): Plan {
  const { file, snapshots, last } = findings;
  const { from, to, base } = parts.keep ?? { from: 1, to: last, base: null };
  const kept = needsHurtRuns(findings);
  const useless = snapshots.filter(({ damage, isOfRuns }) => damage !== null && !(kept && isOfRuns));
  const damaged = new Set(useless.map(({ file: { path } }) => path));
  const setAside = listSnapshots(file.directory, file.shard).filter(
    ({ path, sequence }) =>
      path !== base?.path && (damaged.has(path) || sequence > to || (parts.keep && sequence < from - 1)),
  );
  const effects = [...(parts.effects ?? []), ...setAside.map(({ path }) => `snapshot ${path} is set aside`)];
  return {
    findings,
    keep: null,
    rewritesMark: false,
    needsConsent: false,
    leaving: [],
    hopeless: null,
    ...parts,
    setAside,
    effects,
  };
}

/** A shard that cannot replay all of its journal goes on with a snapshot whose runs are damaged (hashRun.ts). */
function needsHurtRuns({ first, snapshots }: Findings): boolean {
  return first > 1 && snapshots.some(({ isOfRuns }) => isOfRuns);
}

/** Intact records can still be written to a file. */
function hopeless(findings: Findings, advice: string): Plan {
  const { first, checkedTo, behind } = findings;
  return {
    findings,
    keep: null,
    rewritesMark: false,
    setAside: [],
    needsConsent: true,
    effects: [],
    leaving: [{ from: first, to: checkedTo }, ...behind].filter(({ from, to }) => from <= to),
    hopeless: advice,
  };
}
