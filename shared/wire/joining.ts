/** The files of a member of a cluster before they are opened, and the copy of them for one that joins. */
import { join } from 'node:path';
import { STREAM } from './replication.ts';

/** A file with records of a stream (shared/records/), before it is opened. */
export type RecordsToRejoin = {
  readonly path: string;
  readonly stream: number;
  /** It keeps what takes its records back; another one takes back what it has to by itself, as rows of the log come. */
  readonly hasUndo: boolean;
};

/**
 * The files with records in the directory of a member. idempotency.db and audit.log take back by themselves what the
 * log has otherwise, and settlement.db is never ahead of it.
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

/** A copy of control.db for a member that joins. */
export type ControlCopy = {
  readonly path: string;
  /** It has this record. */
  readonly atLeast: number;
};
