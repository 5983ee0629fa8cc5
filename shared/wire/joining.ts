/** The files of a member of a cluster before they are opened, and the copies of them for a joining member. */
import { join } from 'node:path';
import { STREAM } from './replication.ts';

/** A file with records of a stream (shared/records/), before it is opened. */
export type RecordsToRejoin = {
  readonly path: string;
  readonly stream: number;
  /**
   * True if the file keeps the statements that undo its records; other files undo what they must by themselves, while
   * they follow rows of the log.
   */
  readonly hasUndo: boolean;
};

/**
 * The files with records in the directory of a member. idempotency.db and audit.log undo by themselves what differs
 * from the log, and settlement.db is never ahead of it.
 */
export function recordFilesOf(directory: string): readonly RecordsToRejoin[] {
  return [
    { path: join(directory, 'control.db'), stream: STREAM.CONTROL, hasUndo: true },
    { path: join(directory, 'idempotency.db'), stream: STREAM.ANSWERS, hasUndo: false },
    { path: join(directory, 'settlement.db'), stream: STREAM.SETTLEMENT, hasUndo: false },
  ];
}

export type DirectoryToPrepare = {
  readonly directory: string;
  readonly shards: number;
  readonly masterKey: Uint8Array;
  readonly records: readonly RecordsToRejoin[];
};

/** A copy of control.db for a joining member. */
export type ControlCopy = {
  readonly path: string;
  /** The copy contains this record. */
  readonly atLeast: number;
};
