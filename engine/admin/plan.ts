/**
 * The plan for the repair of a damaged shard, with its costs. It only decides: repair.ts carries the plan out, and
 * verify.ts prints it.
 */
import { listSnapshots, type SnapshotFile } from '../snapshot/snapshot.ts';
import { type Findings, recoversFrom, startOfLastRow } from './inspect.ts';

export type Plan = {
  readonly findings: Findings;
  /** The records of which a new journal is made; null leaves the journal as it is. */
  readonly keep: { readonly from: number; readonly to: number } | null;
  readonly rewritesMark: boolean;
  readonly setAside: readonly SnapshotFile[];
  /** Acknowledged records or a part of the history are given up, so the operator has to agree. */
  readonly needsConsent: boolean;
  /** The changes and their costs, a line each; empty when there is nothing to do. */
  readonly effects: readonly string[];
  /** Advice for a shard that cannot be repaired here, otherwise null. */
  readonly hopeless: string | null;
};

const RESTORE = 'restore the data directory from a backup';

export function planRepair(findings: Findings): Plan {
  const { problem } = findings;
  const { journalPath } = findings.file;
  switch (problem?.kind) {
    case undefined:
      return planOf(findings, {});
    case 'mark':
      return planOf(findings, {
        rewritesMark: true,
        effects: [
          `the mark of ${journalPath} is written anew at record ${findings.last}`,
          'whether records after that one are missing cannot be determined any more',
        ],
      });
    case 'end':
      return planOf(findings, {
        rewritesMark: true,
        needsConsent: true,
        effects: [gaveUp(findings, findings.last), `${journalPath} goes on after record ${findings.last}`],
      });
    case 'foreign':
      return planOf(findings, {
        rewritesMark: true,
        needsConsent: true,
        effects: [
          `the records of ${journalPath} are taken as they are, ${findings.first} to ${findings.last}`,
          'how many acknowledged records of the history its mark was written for are given up cannot be determined',
        ],
      });
    case 'record':
      return planCut(findings);
    case 'replay':
      return hopeless(findings, 'the record itself is whole: use the version of this program that wrote it');
    case 'trimmed':
      return hopeless(findings, 'run this again');
    default:
      return hopeless(findings, RESTORE);
  }
}

/**
 * With a snapshot after the damage only history is lost: the journal then starts at that snapshot. Without one it ends
 * before the damage.
 */
function planCut(findings: Findings): Plan {
  const { file, first, last, checkedTo, mark } = findings;
  const base = listSnapshots(file.directory, file.shard)
    .filter(({ sequence }) => sequence > checkedTo && sequence <= last)
    .findLast((snapshot) => recoversFrom(file, snapshot, last));
  if (base !== undefined) {
    // A journal without rows would not know its next sequence, so it keeps at least one.
    const from = base.sequence < last ? base.sequence + 1 : startOfLastRow(file, last);
    const effects = [
      `no order and no balance is lost: ${base.path} holds what the damaged record led to`,
      `records ${first} to ${from - 1} are given up as history: no export and no new read.db will have them`,
    ];
    if (mark !== null && mark.sequence > last) effects.unshift(gaveUp(findings, last));
    return planOf(findings, { keep: { from, to: last }, rewritesMark: true, needsConsent: true, effects });
  }
  const hasNothingLeft = checkedTo < first && first > 1;
  if (findings.replayedFrom === null || hasNothingLeft) return hopeless(findings, RESTORE);
  const keep = { from: first, to: checkedTo };
  if (mark !== null && checkedTo >= Math.max(mark.sequence, file.known?.sequence ?? 0)) {
    const effects = [
      `records ${checkedTo + 1} to ${last} are dropped: they follow the mark, so none of them was acknowledged ` +
        '(unless the machine, not only the process, went down while they were written)',
    ];
    return planOf(findings, { keep, rewritesMark: true, effects });
  }
  const effects = [gaveUp(findings, checkedTo), `the journal then ends with record ${checkedTo}`];
  return planOf(findings, { keep, rewritesMark: true, needsConsent: true, effects });
}

function gaveUp({ file, last, mark }: Findings, keptTo: number): string {
  const known = Math.max(mark?.sequence ?? 0, file.known?.sequence ?? 0);
  const to = mark === null ? Math.max(known, last) : known;
  return `${mark === null ? 'at most ' : ''}${to - keptTo} acknowledged records are given up: ${keptTo + 1} to ${to}`;
}

function planOf(findings: Findings, parts: Partial<Plan>): Plan {
  const { file, snapshots, last } = findings;
  const { from, to } = parts.keep ?? { from: 1, to: last };
  const damaged = new Set(snapshots.filter(({ damage }) => damage !== null).map(({ file: { path } }) => path));
  const setAside = listSnapshots(file.directory, file.shard).filter(
    ({ path, sequence }) => damaged.has(path) || sequence > to || (parts.keep && sequence < from - 1),
  );
  const effects = [...(parts.effects ?? []), ...setAside.map(({ path }) => `snapshot ${path} is set aside`)];
  return {
    findings,
    keep: null,
    rewritesMark: false,
    needsConsent: false,
    hopeless: null,
    ...parts,
    setAside,
    effects,
  };
}

function hopeless(findings: Findings, advice: string): Plan {
  return {
    findings,
    keep: null,
    rewritesMark: false,
    setAside: [],
    needsConsent: true,
    effects: [],
    hopeless: advice,
  };
}
