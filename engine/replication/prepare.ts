/**
 * The directory of a member before anything opens it: its records agree with the log, or it gets a copy of another
 * member's files, because it has none or because the log does not reach back to its own.
 * Owner: the replication thread.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MASTER_KEY_CHECK, opensMasterKeyCheck } from '../../shared/crypto/masterKey.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { Reader } from './copyTable.ts';
import { GIVING_FOLDER } from './giving.ts';
import { joinByCopy } from './join.ts';
import { CONTROL_FILE, finishJoining, reasonToJoin, setStateAside } from './joiningFiles.ts';
import type { ReplicatedLog } from './log.ts';
import type { StartReads } from './patientReads.ts';
import { openAlone, rejoinRecords, timeOfNames } from './records.ts';

type PrepareOptions = DirectoryToPrepare & {
  /** A copy is begun anew after a failure. */
  readonly log: Pick<ReplicatedLog, 'report'> & Reader;
  readonly reads: Pick<StartReads, 'ends' | 'rowOf'>;
  readonly cluster: string;
  readonly holder: string;
  readonly onNews: (text: string) => void;
  readonly isStopped: () => boolean;
};

/** @returns a line for everything that was set aside, and one for a copy. */
export async function prepareDirectory(options: PrepareOptions): Promise<string[]> {
  const { reads, directory, records } = options;
  finishJoining(directory);
  // This member may have ended while it gave a copy, and another one gives the next.
  rmSync(join(directory, GIVING_FOLDER), { recursive: true, force: true });
  const isMember = existsSync(join(directory, CONTROL_FILE));
  const isFirst = !isMember && !(await reads.ends()).some(({ stream }) => stream === STREAM.CONTROL);
  if (isFirst) return [];
  let reason = existsSync(directory) ? (reasonToJoin(directory) ?? otherKeyIn(options)) : null;
  if (isMember && reason === null) {
    try {
      return await rejoinRecords(reads, records);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      reason = error.message;
    }
  }
  const lines = await joinAnew(options, reason);
  // The files of a leader may have records that are still on their way into the log.
  return [...lines, ...(await rejoinRecords(reads, records))];
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
    database.close();
  }
}

async function joinAnew(options: PrepareOptions, reason: string | null): Promise<string[]> {
  const { directory, onNews } = options;
  const lines: string[] = [];
  if (reason !== null) onNews(`this member joins anew: ${reason}`);
  const aside = existsSync(directory) ? setStateAside(directory, timeOfNames()) : null;
  if (aside !== null) lines.push(`the files of this member were set aside in ${aside}`);
  const giver = await joinByCopy(options);
  if (giver !== null) lines.push(`this member has joined with a copy of the files of ${giver}`);
  return lines;
}
