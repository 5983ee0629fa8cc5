/**
 * Opens SQLite files of a data directory. SQLite treats an empty or missing file as a new database, and deletes the
 * write-ahead log beside it, even for a reader; that log may contain everything that was written.
 */
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { assert } from './assert.ts';

/** Throws, as for any other damaged file, if opening the file would delete its write-ahead log. */
export function openDatabase(path: string, options: Database.Options = {}): Database.Database {
  const log = `${path}-wal`;
  if (bytesOf(path) === 0 && bytesOf(log) > 0) {
    const what = existsSync(path) ? 'empty' : 'missing';
    const text = `database disk image is malformed: ${path} is ${what}, and ${log} has what was written to it`;
    throw new Database.SqliteError(text, 'SQLITE_CORRUPT');
  }
  return new Database(path, options);
}

/** The number that a file keeps for the version of its tables; 0 for a new file. */
export function userVersion(db: { pragma(source: string, options: { simple: true }): unknown }): number {
  const version = db.pragma('user_version', { simple: true });
  assert(typeof version === 'number', 'openDatabase: a version is a number');
  return version;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
