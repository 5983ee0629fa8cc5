/**
 * The directory of a member before anything opens it: its records agree with the log, or it gets a copy of another
 * member's files, because it has none or because the log does not reach back to its own. A log that lacks what this
 * member has, or is another one, ends the start, and nothing was changed.
 * Owner: the replication thread.
 *
 * Invariant:
 *   PREPARE-1  One member begins a log with an empty directory, and only one that an operator has founded, on the run
 *              of the database on which that was. Another one that starts at the same time, or before the first record
 *              of that one is held, gets a copy of its files; so all have the same key of the journals. Where none
 *              leads by then, that one is taken to be gone.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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

/** A first member leads so soon after it has made the log. */
const FOUNDS_WITHIN_MS = 10_000;
const LOOK_MS = 200;

type PrepareOptions = DirectoryToPrepare & {
  /** A copy is begun anew after a failure. */
  readonly log: Pick<ReplicatedLog, 'report'> & Reader;
  readonly reads: StartReads;
  readonly cluster: string;
  readonly holder: string;
  /** Of an operator, about the files that this member has: a log of this id was founded from them, or has them all. */
  readonly decision: (log: string) => Promise<Decision>;
  readonly onNews: (text: string) => void;
  readonly onDamagedMark: (text: string) => void;
  readonly isStopped: () => boolean;
};

/** A line for everything that was set aside or copied, and the log that the files are of. */
type Prepared = {
  readonly lines: readonly string[];
  readonly log: string;
  /** Why no one was answered on what only this machine has; null: it has nothing of the kind. */
  readonly proof: string | null;
};

export async function prepareDirectory(options: PrepareOptions): Promise<Prepared> {
  const { reads, directory, records } = options;
  finishJoining(directory);
  // This member may have ended while it gave a copy, and another one gives the next.
  rmSync(join(directory, GIVING_FOLDER), { recursive: true, force: true });
  const history = await reads.history();
  const isMember = existsSync(join(directory, CONTROL_FILE));
  const damage = isMember ? heldMarkDamage(directory) : null;
  if (damage !== null) options.onDamagedMark(`${damage}: all files are compared with the log, and it is written anew`);
  const isNew = history.id === null && (await reads.lease()).epoch === 0;
  if (isNew) throw isMember ? notOf(readHeldMark(directory), null, []) : noLog();
  // A log of an older version has no id yet, and gets one from the first member that gives it one.
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
    // A member that has no mark may be of this log all the same.
    if (decision === 'founder') {
      becomeFounder(options);
      return { lines: [`the log ${log} goes on from the files of this member`], log, proof: null };
    }
    if (decision === 'contained')
      standing.anew = `the log ${log} goes on from another member, which has all of this one's`;
    // Files without a mark are of an older version, which founds no log from the files of a member.
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
  // The files of a leader may have records that are still on their way into the log.
  const after = await rejoinRecords(reads, records, COPIED);
  return { lines: [...lines, ...after], log, proof: COPIED };
}

/** PREPARE-1. */
async function isFirstOf({ reads, holder, isStopped }: PrepareOptions): Promise<boolean> {
  for (let waits = 0; ; ) {
    if ((await reads.ends()).some(({ stream }) => stream === STREAM.CONTROL)) return false;
    if ((await reads.beginner()) === holder || isStopped() || waits * LOOK_MS >= FOUNDS_WITHIN_MS) return true;
    const lease = await reads.lease();
    // Its first record, which has the key of the journals, comes once the log takes rows.
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

/** Throws where the log does not have what this member has. */
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

/** The members that have files may not have been started yet: what they have would not be in a log of this one. */
function noLog(): NotAMemberError {
  return new NotAMemberError(
    'refused: the database has no log yet under this name, and this member has no files. A new cluster begins with ' +
      '`npm run admin -- cluster found --new`; where there was one, start a member that has files ' +
      '(data/docs/cluster.md)',
  );
}

/** Another log would take what this member has for new, or for nothing. */
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

/** Its files are from before the master key of the cluster was replaced (RULES.md 18.20). */
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
  // A start after an interruption knows what the files are.
  const mark = new HeldMark(directory, log);
  mark.copy();
  mark.close();
  if (aside !== null) lines.push(`the files of this member were set aside in ${aside}`);
  const giver = await joinByCopy(options);
  if (giver !== null) lines.push(`this member has joined with a copy of the files of ${giver}`);
  return lines;
}
