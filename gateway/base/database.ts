/**
 * Opens control.db: accounts, keys, catalogue, fund movements and more. It is small, written rarely, and read into
 * memory at the start; the stores write through it.
 * Owner: the gateway thread, whose one connection locks the file as long as the process lives, so a second server on
 * the same directory ends at its start.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { CONTROL_LOCK_PATIENCE_MS } from '../../shared/base/controlLock.ts';
import { CONTROL_VERSION, controlMigrations } from '../../shared/base/controlSchema.ts';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { isOfMember, isOfNewerVersion, isOfThisVersion, noteVersion } from '../../shared/base/directoryVersion.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { newerFileIn } from '../../shared/base/fileVersions.ts';
import { openDatabase, userVersion } from '../../shared/base/openDatabase.ts';
import { keepRowSums, makeRowSums, rowsThatDiffer } from '../../shared/base/rowSums.ts';
import { keepCopy } from '../../shared/base/setAside.ts';
import { commitsBehindDamage } from '../../shared/base/sqlitePages.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { StartError } from './startError.ts';

export type ControlDatabase = StoreDatabase;

const NEXT_STEP =
  'restore the data directory from a backup (`npm run admin -- restore`), or see what `control repair` can read of it';

/** Returns an empty database in memory with the tables of a version, as members of an older version have them. */
export function emptyControlDatabase(version: number): Database {
  const database = new Sqlite(':memory:');
  bring(database, version);
  return database;
}

/** Opens the file with the newest tables. */
export function openControlDatabase(path: string): Database {
  const database = lockControlDatabase(path);
  // All in one transaction, which syncs once; otherwise a new file would be synced for each of dozens of migrations.
  database.transaction(() => bring(database, CONTROL_VERSION))();
  return database;
}

/**
 * Migrates the file to the newest tables and does the rest of a start in the same transaction. If the start is refused,
 * a file of an older version is unchanged: the older version can go on with it.
 */
export function withNewestTables<T>(database: Database, start: () => T): T {
  const version = userVersion(database);
  if (version === CONTROL_VERSION && isOfThisVersion(database)) {
    keepRowSums(database);
    return start();
  }
  return database.transaction(() => {
    bring(database, CONTROL_VERSION);
    const started = start();
    noteVersion(database);
    return started;
  })();
}

/** Opens and locks the file without migrating it. */
export function lockControlDatabase(path: string): Database {
  let database: Database | undefined;
  try {
    database = openDatabase(path, { timeout: CONTROL_LOCK_PATIENCE_MS });
    // Exclusive mode is set before WAL: then the lock is permanent, and SQLite needs no shared-memory file.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    const newer = isOfNewerVersion(database) ? path : newerFileIn(dirname(path));
    if (newer !== null) throw new StartError(`${newer} was written by a newer version`);
    return database;
  } catch (error) {
    database?.close();
    throw explained(path, error);
  }
}

/**
 * Called before anything is written to the file: the part of the log that SQLite does not read would be overwritten.
 * @returns what is left out, as a line for the operator; null if nothing is
 */
export function keepTornLog(path: string): string | null {
  const log = `${path}-wal`;
  const commits = existsSync(log) ? commitsBehindDamage(path) : 0;
  if (commits === 0) return null;
  const kept = keepCopy(log);
  return (
    `${commits} changes stand behind a damaged page of ${log}, and are left out; that log is kept as ${kept}. ` +
    'Stop and compare the money with `npm run admin -- audit`, or restore the data directory from a backup'
  );
}

/**
 * In a cluster a change without a record would be in this file only, and no later record would follow from the others'
 * files.
 */
export function requireNoCluster(database: Database, path: string): void {
  if (!isOfMember(database)) return;
  throw new StartError(`${path} belongs to a member of a cluster: start it with JOURNAL=postgres and its JOURNAL_URL`);
}

/** Adds to an error of SQLite the name of its file and what to do. */
export function explained(path: string, error: unknown): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  if (error.code.startsWith('SQLITE_BUSY')) return new StartError(`${path} is in use by another server`);
  const access = accessProblem(path, error);
  if (access !== null) return new StartError(access);
  if (!isDamaged(error)) return new StartError(`${path}: ${error.message}`);
  return new StartError(`${path} is damaged (${error.message}): ${NEXT_STEP}`);
}

function bring(database: Database, to: number): void {
  const version = userVersion(database);
  if (version !== to) {
    const differing = rowsThatDiffer(database);
    if (differing.length > 0) throw new StartError(`${database.name}: ${differing.join('; ')}: ${NEXT_STEP}`);
    for (const statements of controlMigrations(version, to)) database.exec(statements);
    database.pragma(`user_version = ${to}`);
    makeRowSums(database, to);
  }
  keepRowSums(database);
}
