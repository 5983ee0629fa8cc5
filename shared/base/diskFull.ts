/**
 * An error of SQLite shows whether a disk has no room or is broken. A full disk (ENOSPC) has a code of its own, but an
 * exceeded quota (EDQUOT) is reported like every failed write. In that case a test write beside the file decides: it
 * fails in the same way if there is no room, and usually succeeds on a broken disk.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { memberOf } from './memberOf.ts';

/** For pages, and for the index of a write-ahead log. */
const FULL: ReadonlySet<unknown> = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']);
const NO_ROOM: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);
/** Larger than the free space that the last block of a file may have. */
const PROBE = new Uint8Array(65_536);

/** @param path of the SQLite file. */
export function isDiskFull(error: unknown, path: string, probe: (path: string) => void = writeBeside): boolean {
  const code = memberOf(error, 'code');
  if (FULL.has(code)) return true;
  if (code !== 'SQLITE_IOERR_WRITE') return false;
  try {
    probe(path);
    return false;
  } catch (failure) {
    return NO_ROOM.has(memberOf(failure, 'code'));
  }
}

/** True if SQLite itself reports that nothing was written for lack of space. */
export function saysDiskFull(error: unknown): boolean {
  return FULL.has(memberOf(error, 'code'));
}

function writeBeside(path: string): void {
  const name = `${path}.room`;
  try {
    const fd = openSync(name, 'w', 0o600);
    try {
      writeSync(fd, PROBE);
    } finally {
      closeSync(fd);
    }
  } finally {
    rmSync(name, { force: true });
  }
}
