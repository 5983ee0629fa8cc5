/**
 * The administrator's program asks a running exchange for a copy of its control.db: over a socket in the data
 * directory, which only the user of the exchange can open. A connection is one request; when it ends, the copy is
 * deleted.
 *
 *   program ──connects──► exchange ──ControlCopyNews, a line of JSON each──► program ──reads the file, closes──►
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** The name of the socket in the data directory. */
export const CONTROL_COPY_SOCKET = 'backup.sock';
/** The folder in the data directory for the copy. */
export const CONTROL_COPY_FOLDER = 'backing-up';

export type ControlCopyNews =
  /** Another connection already has a copy. */
  | { readonly busy: true }
  | { readonly failed: string }
  | {
      /** The name of the copy in the data directory. */
      readonly copied: string;
      /** By shard: the last record that the journals must have beside it. */
      readonly cuts: readonly number[];
      readonly takenMs: number;
    };

/** The system limits names of sockets to about this length. */
const LONGEST_PATH = 100;

/** Calls `work` with a name of the socket that is short enough for the system, however long the directory's name is. */
export function withSocketPath<T>(directory: string, work: (path: string) => T): T {
  const path = join(directory, CONTROL_COPY_SOCKET);
  if (Buffer.byteLength(path) <= LONGEST_PATH || process.platform !== 'linux') return work(path);
  const fd = openSync(directory, 'r');
  try {
    return work(`/proc/self/fd/${fd}/${CONTROL_COPY_SOCKET}`);
  } finally {
    closeSync(fd);
  }
}
