/**
 * Checks at a start, before any file is changed, whether the log still has what this member has. The log may have been
 * restored from a backup, a lagging standby of the database may have been promoted, or another log may have its name. A
 * member's mark records what was held (heldMark.ts), and a standby's files came from the log. Owner: the replication
 * thread.
 *
 *   mark of another log ─────────────────────────────► refused
 *   the log lacks what was held ─────────────────────► refused, and so at every later start, until an operator decides
 *   rows that only this member has, and no proof ────► refused: they may have been acknowledged
 *   rows that only this member has, and a proof ─────► they are set aside (rejoin.ts, records.ts)
 *
 * Invariants:
 *   STANDING-1  A start changes no file before it has compared every stream in the files with the log.
 *   STANDING-2  The last row that was seen is in the log's history: the log still has it, or trimmed it after its lead,
 *               which lasted at least up to that row.
 *   STANDING-3  Rows that only this machine has were never acknowledged if (a) or (b) proves it. (a) The fence
 *               (CLUSTERLOG-2): the next lead was taken on the database run to which this member sent its rows, or
 *               there was no next lead and that run continues. Another run may be that of a copy that was set back, on
 *               the same timeline. The mark has everything that was held before that run (HELDMARK-4). (b) An exact
 *               mark, which was written before each reply (HELDMARK-1, HELDMARK-3), if the log is shown to lack
 *               nothing; otherwise a successor may have answered on a row of this member that the log has since lost.
 */
import { join } from 'node:path';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import type { DirectoryToPrepare, RecordsToRejoin } from '../../shared/wire/joining.ts';
import { ShardKey } from '../journal/shardKey.ts';
import type { FoundMark } from './heldMark.ts';
import { loggedRows } from './journals.ts';
import { isSame } from './lastRow.ts';
import { JoinAnewError, type LogHistory, LostRowsError, type RowName } from './log.ts';
import { streamName } from './memberHeads.ts';
import type { StartReads } from './patientReads.ts';
import { type ComparedRecords, compareRecords } from './records.ts';
import { compare, type JournalFile, lastIn } from './rejoin.ts';
import { countsAfter } from './rowContents.ts';

/** Names rows that a leader had not sent when it gave a copy of its files. */
export const COPIED = 'the member that gave the copy has them';

/** Records of a stream after `from` up to `to` that the log does not have. */
type Missing = {
  readonly stream: number;
  readonly from: number;
  readonly to: number;
  /** False if it is unknown whether they were held. */
  readonly isKnown: boolean;
  /** Description of those of the records that this member has. */
  readonly content: string;
};

type Reads = Pick<StartReads, 'ends' | 'firstAfter' | 'rowOf' | 'nameAt' | 'history' | 'isWhole'>;
type Member = Pick<DirectoryToPrepare, 'directory' | 'shards' | 'masterKey' | 'records'>;

/**
 * The files of a member whose mark is of this log, or that has none.
 * @returns why rows that only this machine has were never acknowledged; null if it has no such rows
 */
export async function requireStanding(
  member: Member,
  reads: Reads,
  history: LogHistory,
  mark: FoundMark | null,
): Promise<string | null> {
  if (mark?.last && !(await isInHistory(mark.last, history, reads))) {
    throw new LostRowsError(refusal((await look(member, reads, mark, null)).missing, history, mark));
  }
  const proof = mark === null ? null : await proofOf(mark, history, reads);
  const { missing, anew } = await look(member, reads, mark, proof);
  if (missing.some(({ isKnown }) => isKnown) || (missing.length > 0 && proof === null)) {
    throw new LostRowsError(refusal(missing, history, mark));
  }
  if (anew !== null) throw anew;
  return missing.length > 0 ? proof : null;
}

/**
 * Checks files of a member that are sealed with another master key and will be set aside for a copy: the log must reach
 * at least as far.
 */
export async function requireBehind(
  { directory, shards }: Pick<Member, 'directory' | 'shards'>,
  reads: Reads,
  history: LogHistory,
  mark: FoundMark | null,
): Promise<void> {
  const ends = new Map((await reads.ends()).map(({ stream, sequence }) => [stream, sequence]));
  const missing: Missing[] = [];
  for (let stream = 0; stream < shards; stream++) {
    const [from, to] = [ends.get(stream) ?? 0, lastIn(join(directory, `journal-${stream}.db`))];
    if (to > from) missing.push({ stream, from, to, isKnown: false, content: 'sealed under another MASTER_KEY' });
  }
  missing.push(...missingOfMark(mark, ends, missing));
  const isSeen = mark?.last == null || (await isInHistory(mark.last, history, reads));
  if (missing.length > 0 || !isSeen) throw new LostRowsError(refusal(missing, history, mark));
}

/** STANDING-2. */
async function isInHistory(last: RowName, history: LogHistory, reads: Pick<Reads, 'nameAt'>): Promise<boolean> {
  const { leads, end } = history;
  const at = leads.findIndex(({ lead }) => lead === last.lead);
  const next = leads[at + 1];
  const until = next === undefined ? end : next.start;
  if (at >= 0 && until !== null) return last.position <= until;
  const found = await reads.nameAt(last.position);
  if (found === null) return end > last.position;
  return isSame(found, last);
}

/** STANDING-3. */
async function proofOf(
  mark: FoundMark,
  { leads, run }: LogHistory,
  reads: Pick<Reads, 'isWhole'>,
): Promise<string | null> {
  const { own } = mark;
  if (mark.isCopied) return COPIED;
  if (!mark.isLeader || own === null) return 'this member has not led since';
  const at = leads.findIndex(({ lead }) => lead === own.lead);
  // A mark of an older version has no run.
  const isFenced = at >= 0 && mark.place !== null && mark.place.run === (leads[at + 1]?.run ?? run);
  if (mark.isExact && (isFenced || (await reads.isWhole(mark.members)))) {
    return 'this member has answered no one on them';
  }
  return isFenced ? 'the log never took them' : null;
}

/** A journal file together with its last record. */
type FoundJournal = JournalFile & { readonly end: number };
type Found = { readonly missing: readonly Missing[]; readonly anew: JoinAnewError | null };

/** STANDING-1. Returns what the log lacks, by stream; and if it lacks nothing, why this member has to join anew. */
async function look(member: Member, reads: Reads, mark: FoundMark | null, proof: string | null): Promise<Found> {
  const ends = new Map((await reads.ends()).map(({ stream, sequence }) => [stream, sequence]));
  const missing: Missing[] = [];
  let anew: JoinAnewError | null = null;
  for (let shard = 0; shard < member.shards; shard++) {
    const file = await journalOf(member, shard);
    if (file === null) continue;
    const found = await lookAtJournal(file, reads, mark, proof);
    missing.push(...found.missing);
    anew ??= found.anew;
  }
  for (const file of member.records) {
    const compared = await compareRecords(reads, file);
    if (compared !== null) missing.push(...missingRecords(file, compared, ends.get(file.stream) ?? null, mark));
  }
  return { missing: [...missing, ...missingOfMark(mark, ends, missing)], anew };
}

/** The records that were seen held and are missing from the log, whether or not this member has them. */
function missingOfMark(
  mark: FoundMark | null,
  ends: ReadonlyMap<number, number>,
  missing: readonly Missing[],
): Missing[] {
  return Object.entries(mark?.held ?? {}).flatMap(([name, to]) => {
    const stream = Number(name);
    const from = ends.get(stream) ?? 0;
    if (from >= to || missing.some((each) => each.stream === stream && each.isKnown)) return [];
    return [{ stream, from, to, isKnown: true, content: 'this member does not have all of them' }];
  });
}

/** @param logged the last record of the log; null if it has none */
function missingRecords(
  { stream, path }: RecordsToRejoin,
  { known: queued, unshared, end }: ComparedRecords,
  logged: number | null,
  mark: FoundMark | null,
): Missing[] {
  const content = `they are in ${path}`;
  const known = Math.max(queued, Math.min(end, mark?.held[stream] ?? 0));
  const agreed = Math.min(unshared - 1, logged ?? 0);
  const missing: Missing[] = [];
  if (known > agreed) missing.push({ stream, from: agreed, to: known, isKnown: true, content });
  // A log without any record of the stream is new, and this is the file of its first member (RECORDSREJOIN-3).
  const from = Math.max(known, agreed);
  if (end > from && logged !== null) missing.push({ stream, from, to: end, isKnown: false, content });
  return missing;
}

async function lookAtJournal(
  file: FoundJournal,
  reads: Reads,
  mark: FoundMark | null,
  proof: string | null,
): Promise<Found> {
  const { shard: stream, end } = file;
  // Everything that a standby has came from the log.
  const isOfLog = mark !== null && !mark.isLeader && !mark.isCopied;
  const known = isOfLog ? end : Math.min(end, mark?.held[stream] ?? 0);
  const log = loggedRows(reads, stream);
  let common = 0;
  let anew: JoinAnewError | null = null;
  try {
    common = (await compare(file, log, end)).common.sequence;
  } catch (error) {
    if (!(error instanceof JoinAnewError)) throw error;
    const { after, last } = await log.range();
    // The log no longer has the rows after this file's last. Other members also have all or the held part of this file.
    const isBehind = end < after && last >= known && (mark === null || known === end || proof !== null);
    const hasOwnTail = end > known && last >= known && proof !== null;
    if (isBehind || hasOwnTail) return { missing: [], anew: error };
    anew = error;
  }
  const missing: Missing[] = [];
  const note = (from: number, to: number, isKnown: boolean): void => {
    if (to <= from) return;
    missing.push({ stream, from, to, isKnown, content: anew?.message ?? countsAfter(file, from) });
  };
  note(common, known, true);
  note(Math.max(common, known), end, false);
  return { missing, anew: null };
}

/** The streams whose rows in the log this member lacks. */
export async function lackedBy(member: Member, reads: Reads): Promise<readonly number[]> {
  const lacked: number[] = [];
  for (const { stream, sequence: logged } of await reads.ends()) {
    const file = member.records.find((each) => each.stream === stream);
    if (file !== undefined) {
      const compared = await compareRecords(reads, file);
      const common = compared === null ? 0 : Math.min(compared.end, Math.max(compared.known, compared.unshared - 1));
      if (logged > common) lacked.push(stream);
    } else if (stream < member.shards) {
      const journal = await journalOf(member, stream);
      const rows = loggedRows(reads, stream);
      const compared = journal === null ? null : await compare(journal, rows, journal.end).catch(() => null);
      if (logged > (compared?.common.sequence ?? 0)) lacked.push(stream);
    }
  }
  return lacked;
}

/** Null if there is no journal. */
async function journalOf({ directory, shards, masterKey }: Member, shard: number): Promise<FoundJournal | null> {
  const journalPath = join(directory, `journal-${shard}.db`);
  const end = lastIn(journalPath);
  if (end === 0) return null;
  const key = await ShardKey.create(readJournalKey(directory, masterKey), shard);
  return { shard, shards, journalPath, key, end };
}

/** One line for the operator (data/docs/cluster.md, "The log has lost rows"). */
function refusal(missing: readonly Missing[], history: LogHistory, mark: FoundMark | null): string {
  const all = missing.map(({ stream, from, to, isKnown, content }) => {
    const word = isKnown ? 'held before' : 'unknown whether they were acknowledged';
    return `${streamName(stream)}, records ${from + 1} to ${to} (${word}; ${content})`;
  });
  const { end, place } = history;
  const seen =
    mark === null
      ? 'this member has no mark of what was held'
      : `this member has seen position ${mark.last?.position ?? 0}` +
        (mark.place === null ? '' : ` at system ${mark.place.system}, timeline ${mark.place.timeline}, ${mark.lsn}`);
  const others = (mark?.members ?? []).join(', ') || 'not known';
  return (
    `refused: the log ends at position ${end} (system ${place.system}, timeline ${place.timeline}, ${place.lsn}), ` +
    `${seen}; ` +
    `the log does not have: ${all.join('; ') || 'the last row that this member has seen'}. ` +
    `Nothing was changed. Members that may have it: ${others}. ` +
    'An operator decides: `npm run admin -- cluster refill`, or `cluster accept-loss` (data/docs/cluster.md)'
  );
}
