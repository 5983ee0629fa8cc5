/**
 * Copies of read.db, which may be the only ones of older history (RULES.md 10.19).
 *
 * Invariant:
 *   DBCOPY-1  A copy under its final name is whole and on disk, whatever ended the process or filled the disk.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';

/**
 * Copies a database as it is at one moment, also while another connection writes to it. A file `to` is replaced.
 * @param check called with the copy's temporary name; throws if the copy must not be kept
 */
export function copyDatabase(db: Database.Database, to: string, check?: (part: string) => void): void {
  const part = `${to}.part`;
  rmSync(part, { force: true });
  try {
    // A copy can give pages back (freePages.ts), also where its source is too old for that. A source that can would be
    // written to, and may be open for reading only.
    if (db.pragma('auto_vacuum', { simple: true }) === 0) db.pragma('auto_vacuum = INCREMENTAL');
    db.prepare('VACUUM INTO ?').run(part);
    check?.(part);
    syncFile(part);
    renameSync(part, to);
    syncDirectory(dirname(to));
  } finally {
    rmSync(part, { force: true });
  }
}

export function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
