/**
 * Prepares a member's directory before anything opens it: its records are made to agree with the log, or it receives a
 * copy of another member's files, because it has none or because the log no longer has the rows after its own. If the
 * log lacks what this member has, or is a different log, the start ends and nothing is changed. Owner: the replication
 * thread.
 *
 * Invariants:
 *   PREPARE-1  Only one member begins a log with an empty directory, only in a log that an operator has founded, and
 *              only on the database run on which it was founded. A member that starts before that one's first record is
 *              held receives a copy of its files, so all members have the same journal key. If no member leads by then,
 *              the first one is taken to be gone.
 *   PREPARE-2  Files that a newer version has written are refused before anything is compared, moved or opened.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isUnopenedNewer } from '../../shared/base/directoryVersion.ts';
import { newerFileIn } from '../../shared/base/fileVersions.ts';
import { freeTime } from '../../shared/base/freeName.ts';
import { closeKeepingRoom } from '../../shared/base/keptRoom.ts';
import { MASTER_KEY_CHECK, opensMasterKeyCheck } from '../../shared/crypto/masterKey.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { Reader } from './copyTable.ts';
import { GIVING_FOLDER } from './giving.ts';
import { type FoundMark, HeldMark, heldMarkDamage, readHeldMark } from './heldMark.ts';
import { joinByCopy } from './join.ts';
import { CONTROL_FILE, finishJoining, reasonToJoin, setStateAside } from './joiningFiles.ts';
import {
  type Base,
  JoinAnewError,
  type LogHistory,
  LostRowsError,
  NotAMemberError,
  type ReplicatedLog,
} from './log.ts';
import { NOT_BEGUN } from './mayTake.ts';
import { becomeFounder, type Decision, streamName } from './memberHeads.ts';
import type { StartReads } from './patientReads.ts';
import { openAlone, rejoinRecords } from './records.ts';
import { COPIED, requireBehind, requireStanding } from './standing.ts';

/** A first member leads this soon after it has created the log. */
const FOUNDS_WITHIN_MS = 10_000;
const LOOK_MS = 200;

type PrepareOptions = DirectoryToPrepare & {
  /** A copy is begun again after a failure. */
  readonly log: Pick<ReplicatedLog, 'report'> & Reader;
  readonly reads: StartReads;
  readonly cluster: string;
  readonly holder: string;
  /** An operator's decision about this member's files: a log of this id was founded from them, or contains them all. */
  readonly decision: (log: string) => Promise<Decision>;
  readonly onNews: (text: string) => void;
  readonly onDamagedMark: (text: string) => void;
  readonly isStopped: () => boolean;
};

/** A line for everything that was set aside or copied, and the log to which the files belong. */
type Prepared = {
  readonly lines: readonly string[];
  readonly log: string;
  /** Why rows that only this machine has were never acknowledged; null if it has no such rows. */
  readonly proof: string | null;
};

export async function prepareDirectory(options: PrepareOptions): Promise<Prepared> {
  const { reads, directory, records } = options;
  requireNotNewer(directory);
  finishJoining(directory);
  // A member that ended while it gave a copy leaves this folder; another member gives the next copy.
  rmSync(join(directory, GIVING_FOLDER), { recursive: true, force: true });
  const history = await reads.history();
  const isMember = existsSync(join(directory, CONTROL_FILE));
  const damage = isMember ? heldMarkDamage(directory) : null;
  if (damage !== null) options.onDamagedMark(`${damage}: all files are compared with the log, and it is written anew`);
  const isNew = history.id === null && (await reads.lease()).epoch === 0;
  if (isNew) throw isMember ? notOf(readHeldMark(directory), null, []) : noLog();
  // A log of an older version has no id yet; the first member to propose one sets it.
  const log = history.id ?? (await reads.found(randomUUID()));
  const isFirst = !isMember && (await isFirstOf(options));
  if (isFirst) {
    const { run, foundedOn } = await reads.history();
    if (run !== foundedOn) throw new NotAMemberError(`refused: ${NOT_BEGUN}`);
    return { lines: [], log, proof: null };
  }
  const mark = isMember ? readHeldMark(directory) : null;
  let standing: Standing = { anew: null, proof: null };
  if (isMember && mark?.log !== log) {
    const decision = await options.decision(log);
    // A member without a mark may still belong to this log.
    if (decision === 'founder') {
      becomeFounder(options);
      return { lines: [`the log ${log} goes on from the files of this member`], log, proof: null };
    }
    if (decision === 'contained')
      standing.anew = `the log ${log} goes on from another member, which has all of this one's`;
    // Files without a mark are of an older version, which founds no log from a member's files.
    else if (mark !== null || history.bases.length > 0) throw notOf(mark, log, history.bases);
  }
  if (isMember && standing.anew === null) standing = await standingOf(options, history, mark);
  if (isMember && standing.anew === null) {
    try {
      return { lines: await rejoinRecords(reads, records, standing.proof), log, proof: standing.proof };
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      standing.anew = error.message;
    }
  }
  const lines = await joinAnew(options, log, standing.anew);
  // A leader's files may have records that are still on their way into the log.
  const after = await rejoinRecords(reads, records, COPIED);
  return { lines: [...lines, ...after], log, proof: COPIED };
}

/** PREPARE-2. */
function requireNotNewer(directory: string): void {
  if (!existsSync(directory)) return;
  const control = join(directory, CONTROL_FILE);
  const newer = existsSync(control) && isUnopenedNewer(control) ? control : newerFileIn(directory);
  if (newer !== null) throw new NotAMemberError(`refused: ${newer} was written by a newer version`);
}

/** PREPARE-1. */
async function isFirstOf({ reads, holder, isStopped }: PrepareOptions): Promise<boolean> {
  for (let waits = 0; ; ) {
    if ((await reads.ends()).some(({ stream }) => stream === STREAM.CONTROL)) return false;
    if ((await reads.beginner()) === holder || isStopped() || waits * LOOK_MS >= FOUNDS_WITHIN_MS) return true;
    const lease = await reads.lease();
    // The first record, which holds the journals' key, comes once the log accepts rows.
    const isLed = lease.holder !== '' && lease.holder !== holder && lease.expiresInMs > 0;
    if (!isLed) waits++;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

type Standing = {
  /** Why this member joins anew, or null. */
  anew: string | null;
  readonly proof: string | null;
};

/** Throws if the log lacks what this member has. */
async function standingOf(options: PrepareOptions, history: LogHistory, mark: FoundMark | null): Promise<Standing> {
  const { reads, directory } = options;
  const otherKey = otherKeyIn(options);
  if (otherKey !== null) {
    await requireBehind(options, reads, history, mark);
    return { anew: otherKey, proof: null };
  }
  try {
    const proof = await requireStanding(options, reads, history, mark);
    return { anew: reasonToJoin(directory), proof };
  } catch (error) {
    if (!(error instanceof RecordError || error instanceof JoinAnewError)) throw error;
    return { anew: error.message, proof: null };
  }
}

/** Members that have files may not have been started yet: their rows would be missing from a log begun by this one. */
function noLog(): NotAMemberError {
  return new NotAMemberError(
    'refused: the database has no log yet under this name, and this member has no files. A new cluster begins with ' +
      '`npm run admin -- cluster found --new`; where there was one, start a member that has files ' +
      '(data/docs/cluster.md)',
  );
}

/** Another log would take this member's rows for new ones, or ignore them. */
function notOf(mark: FoundMark | null, log: string | null, bases: readonly Base[]): LostRowsError {
  const own =
    mark === null ? 'it has no mark of the log that they are of' : `they are of the log ${mark.log} by held.mark`;
  const all = bases.map(({ stream, sequence }) => `${streamName(stream)} after record ${sequence}`);
  const since = all.length === 0 ? '' : `, which goes on with ${all.join(', ')}`;
  const found =
    log === null ? 'the database has no log yet under this name' : `the database has the log ${log}${since}`;
  return new LostRowsError(
    `refused: the files of this member are those of another log: ${own}, and ${found}. Nothing was changed. ` +
      'Where held.mark is not theirs, put their own back; otherwise an operator decides: ' +
      '`npm run admin -- cluster found` (data/docs/cluster.md)',
  );
}

/** The files are from before the cluster's master key was replaced (RULES.md 18.20). */
function otherKeyIn({ directory, masterKey }: PrepareOptions): string | null {
  const path = join(directory, CONTROL_FILE);
  if (!existsSync(path)) return null;
  const database = openAlone(path);
  try {
    const select = database.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck();
    const check = select.get(MASTER_KEY_CHECK);
    if (check === undefined || opensMasterKeyCheck(masterKey, check)) return null;
    return 'its files are sealed under another MASTER_KEY than those of the cluster';
  } finally {
    closeKeepingRoom(database);
  }
}

async function joinAnew(options: PrepareOptions, log: string, reason: string | null): Promise<string[]> {
  const { directory, onNews } = options;
  const lines: string[] = [];
  if (reason !== null) onNews(`this member joins anew: ${reason}`);
  const aside = existsSync(directory) ? setStateAside(directory, freeTime(directory)) : null;
  // From this mark, a start after an interruption knows what the files are.
  const mark = new HeldMark(directory, log);
  mark.copy();
  mark.close();
  if (aside !== null) lines.push(`the files of this member were set aside in ${aside}`);
  const giver = await joinByCopy(options);
  if (giver !== null) lines.push(`this member has joined with a copy of the files of ${giver}`);
  return lines;
}
