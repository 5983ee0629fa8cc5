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
  return numberOf(db, 'user_version');
}

/**
 * The version of a file's tables, of which this program knows none after `newest`. Throws, as for any other damaged
 * file, if it is later and the file does not have its mark (FILEVERSION-3).
 */
export function checkedVersion(db: Database.Database, newest: number): number {
  const version = userVersion(db);
  if (version <= newest || numberOf(db, 'application_id') === versionMark(version)) return version;
  const text = `database disk image is malformed: ${db.name} says version ${version} without its mark`;
  throw new Database.SqliteError(text, 'SQLITE_CORRUPT');
}

/** Within a transaction: a file has its version and the mark of it (FILEVERSION-3). */
export function setUserVersion(db: Pick<Database.Database, 'pragma'>, version: number): void {
  db.pragma(`user_version = ${version}`);
  db.pragma(`application_id = ${versionMark(version)}`);
}

/** All bits of a version but the sign, turned over. */
export function versionMark(version: number): number {
  return ~version & 0x7fffffff;
}

function numberOf(db: { pragma(source: string, options: { simple: true }): unknown }, name: string): number {
  const number = db.pragma(name, { simple: true });
  assert(typeof number === 'number', `openDatabase: ${name} is a number`);
  return number;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
