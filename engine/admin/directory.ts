/**
 * Opens a data directory for the administrator's commands: its journals, and the lock that keeps an exchange from
 * running on it. Nothing here writes.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { isOfMember, isOfNewerVersion } from '../../shared/base/directoryVersion.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { newerFileIn } from '../../shared/base/fileVersions.ts';
import type { JournalKey, KnownHead } from '../../shared/base/journalKey.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { isResharding } from '../../shared/base/resharding.ts';
import { keepRowSums } from '../../shared/base/rowSums.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { hasJournalKey, JOURNAL_KEY_FILE, readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { IN_FILE, MASTER_KEY_FILE, parseMasterKey, readMasterKey } from '../../shared/crypto/masterKey.ts';
import { ShardKey } from '../journal/shardKey.ts';

/** A command cannot be carried out. The message is one line for the operator. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

const NO_MASTER_KEY =
  'MASTER_KEY: records are checked with it: set it, or name the unit that runs the exchange with --service';

/** A server has the lock of the directory. */
export class RunningError extends AdminError {}

export type ShardFile = {
  readonly shard: number;
  readonly shards: number;
  readonly directory: string;
  readonly journalPath: string;
  readonly key: ShardKey;
  /** The newest row that control.db knows of; if absent, only the mark says how far the journal goes. */
  readonly known?: KnownHead | undefined;
};

/**
 * Lists the journals of all shards. A missing journal is an error: any report without it would be wrong.
 * @param key undefined to use the directory's key
 * @param isVouchedFor true if the operator vouches for all existing records and snapshots, so that the key need not
 * authenticate any
 */
export async function listShards(directory: string, key?: JournalKey, isVouchedFor = false): Promise<ShardFile[]> {
  if (!existsSync(directory)) throw new AdminError(`${directory} does not exist`);
  if (isResharding(directory))
    throw new AdminError(`${directory}: a reshard was interrupted: finish it with \`npm run admin -- reshard N\``);
  const found = readdirSync(directory).flatMap((name) => {
    const match = /^journal-(0|[1-9][0-9]{0,3})\.db$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  if (found.length === 0)
    throw new AdminError(`${directory} holds no journals: put back journal-0.db and all others, or give --data`);
  const shards = Math.max(...found) + 1;
  const paths = Array.from({ length: shards }, (_, shard) => join(directory, `journal-${shard}.db`));
  const missing = paths.find((_, shard) => !found.includes(shard));
  if (missing !== undefined)
    throw new AdminError(`${missing} is missing: put it back, or restore the data directory from a backup`);
  const { keys } = await ShardKey.forAll({ journalPaths: paths, journalKey: key ?? openKey(directory) });
  return paths.map((journalPath, shard) => {
    const own = keys[shard];
    return { shard, shards, directory, journalPath, key: isVouchedFor ? own.unchecked() : own };
  });
}

function openKey(directory: string): JournalKey {
  const masterKey = openMasterKey(directory);
  if (!hasJournalKey(directory)) {
    throw new AdminError(
      `${directory}/journal.key is missing: put it back, or vouch for the records there are with ` +
        '`npm run admin -- journal adopt`',
    );
  }
  try {
    return readJournalKey(directory, masterKey);
  } catch (error) {
    const access = accessProblem(join(directory, JOURNAL_KEY_FILE), error);
    if (access !== null) throw new AdminError(access);
    throw new AdminError(
      `${directory}/journal.key is damaged, or ${nameOfKey(directory)} is another exchange's: put back the right one`,
    );
  }
}

/** The name of the setting, or of the file that has the key instead. */
function nameOfKey(directory: string): string {
  return givenKey() === '' ? join(directory, MASTER_KEY_FILE) : 'MASTER_KEY';
}

function givenKey(): string {
  const given = process.env['MASTER_KEY'] ?? '';
  return given === IN_FILE ? '' : given;
}

/** Opens the master key of MASTER_KEY or of the file in the data directory, as the exchange does. */
export function openMasterKey(directory: string): Uint8Array {
  const text = givenKey();
  const path = join(directory, MASTER_KEY_FILE);
  if (text === '' && !existsSync(path)) throw new AdminError(`${NO_MASTER_KEY}, or put ${path} back`);
  const masterKey = text === '' ? readMasterKey(path) : parseMasterKey(text);
  if (masterKey === null)
    throw new AdminError(
      `MASTER_KEY: ${text === '' ? `${path} does not hold one: put a copy of it back` : 'not a master key'}`,
    );
  return masterKey;
}

/**
 * Keeps every server out of the directory while `work` runs; throws if a server is running. `work` gets control.db, or
 * null if there is none.
 */
export function withExclusiveDirectory<T>(
  directory: string,
  work: (control: Database.Database | null) => T | Promise<T>,
): Promise<T> {
  return withLock(directory, work, false);
}

/** Like `withExclusiveDirectory`, for `work` that only reads: a killed server's write-ahead log is left unchanged. */
export function withDirectoryToRead<T>(
  directory: string,
  work: (control: Database.Database | null) => T | Promise<T>,
): Promise<T> {
  return withLock(directory, work, true);
}

async function withLock<T>(
  directory: string,
  work: (control: Database.Database | null) => T | Promise<T>,
  isReading: boolean,
): Promise<T> {
  const path = join(directory, 'control.db');
  // A server creates this file before anything else, so without it no server is running.
  if (!existsSync(path)) return work(null);
  const index = `${path}-shm`;
  const hadIndex = existsSync(index);
  const lock = lockControl(path, directory, isReading);
  try {
    return await work(lock);
  } finally {
    lock.close();
    if (isReading && !hadIndex) rmSync(index, { force: true });
  }
}

/** Throws for a member of a cluster: a change of its files that is not in the log would exist only on that member. */
export function requireAlone(control: Database.Database, directory: string, reason: string): void {
  if (isOfMember(control)) throw new AdminError(`${directory} is of a member of a cluster: ${reason}`);
}

/**
 * Takes the lock that a server holds from its start to its end, or a reader's lock, which keeps a server out as well.
 * Closing the file releases it.
 */
function lockControl(path: string, directory: string, isReading: boolean): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = openDatabase(path, { timeout: 0, readonly: isReading });
    if (!isReading) db.pragma('locking_mode = EXCLUSIVE');
    db.exec(isReading ? 'BEGIN; SELECT 1 FROM sqlite_schema' : 'BEGIN EXCLUSIVE; COMMIT');
    const newer = isOfNewerVersion(db) ? path : newerFileIn(directory);
    if (newer !== null) throw new AdminError(`${newer} was written by a newer version: use that one`);
    if (!isReading) keepRowSums(db);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof AdminError) throw error;
    const access = accessProblem(path, error);
    if (access !== null) throw new AdminError(access);
    if (isDamaged(error))
      throw new AdminError(`${path} is damaged (${errorMessage(error)}): see \`npm run admin -- journal verify\``);
    if (!(error instanceof Database.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
    throw new RunningError(`the exchange is running on ${directory}: stop it first`);
  }
}
