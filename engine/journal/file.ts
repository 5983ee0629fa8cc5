/** The SQLite file around a journal's rows: its schema and its shard, the required library, and its error messages. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { isDiskFull } from '../../shared/base/diskFull.ts';
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { commitsBehindDamage } from '../../shared/base/sqlitePages.ts';
import type { ShardOptions } from '../../shared/wire/threads.ts';
import { readMark } from './mark.ts';
import { JournalError, type JournalHead } from './row.ts';
import type { ShardKey } from './shardKey.ts';

export type JournalOptions = Pick<ShardOptions, 'shard' | 'shards' | 'journalPath' | 'journalSync'> & {
  /** Space reserved for commits on a full disk (walReserve.ts); if absent, none is reserved. */
  readonly journalReserveBytes?: number;
  readonly key: ShardKey;
  /** A row that the journal must contain, or must have trimmed; if absent, only the mark is checked. */
  readonly knownHead?: KnownHead;
};

/** The version of the tables; rows have one of their own (row.ts). */
export const FILE_VERSION = 1;
/** Time for which a connection waits for the lock of another one. */
export const BUSY_TIMEOUT_MS = 1000;

/** In older versions a WAL reset could race with a checkpoint of another connection and lose committed rows. */
const OLDEST_SQLITE = [3, 51, 3] as const;

const SCHEMA = `
  CREATE TABLE meta (
    layout_version INTEGER NOT NULL,
    shard          INTEGER NOT NULL,
    shards         INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY,
    bytes    BLOB NOT NULL
  ) STRICT;`;

/** The file of a journal's high-water mark. */
export function markPath(journalPath: string): string {
  return journalPath.replace(/(\.db)?$/, '.mark');
}

/**
 * Copies committed pages from the WAL into the file, as far as no reader needs the old ones, and syncs the file.
 * @returns the number of pages in the WAL, -1 when another connection is copying them at this moment, or null when the
 * disk is too full to copy them.
 */
export function tryCheckpoint(db: Pick<Database.Database, 'name' | 'prepare'>): number | null {
  try {
    return prepared<[], { log: number }>(db, 'PRAGMA wal_checkpoint(PASSIVE)').get()!.log;
  } catch (error) {
    if (isDiskFull(error, db.name)) return null;
    throw error;
  }
}

/**
 * Refuses a journal that lacks records because of a damaged page of its WAL, before anything may write to it. SQLite
 * reads a WAL up to that page, and with the last connection copies what it has read over the file, which may be newer
 * there: records that can still be read would be overwritten.
 */
export function requireWholeLog({ journalPath: path, shard }: JournalOptions): void {
  if (!existsSync(`${path}-wal`) || commitsBehindDamage(path) === 0) return;
  const marked = readMark(markPath(path), shard);
  if (marked === null) throw new JournalError(`journal ${path}: its high-water mark is missing or damaged`);
  try {
    const db = openDatabase(path, { readonly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      const last = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get() ?? 0;
      if (marked.sequence > last) throw missingAfter(path, last, marked);
    } finally {
      db.close();
    }
  } catch (error) {
    throw located(error, path);
  }
}

export function missingAfter(path: string, last: number, marked: JournalHead): JournalError {
  return new JournalError(
    `journal ${path}: sequence ${last + 1}: missing, the mark says that ${marked.sequence} was written`,
  );
}

/** Adds the path to an error of SQLite, whose message names only the fault. */
export function located(error: unknown, place: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  return new JournalError(`journal ${place}: ${error.message}`, { cause: error });
}

export function requireSqlite(db: Database.Database): void {
  const version = db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '';
  const parts = version.split('.').map(Number);
  const different = OLDEST_SQLITE.findIndex((part, index) => parts[index] !== part);
  const isRecent = different < 0 || (parts[different] ?? 0) > OLDEST_SQLITE[different];
  if (!isRecent) throw new JournalError(`journal: SQLite ${version} is older than ${OLDEST_SQLITE.join('.')}`);
}

/** Writes schema and shard into a new file. Refuses the file of another shard, because markets would move. */
export function requireShard(db: Database.Database, options: Omit<JournalOptions, 'key'>): void {
  const isNew = db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (isNew) {
    db.transaction(() => {
      db.exec(SCHEMA);
      db.prepare('INSERT INTO meta VALUES (?, ?, ?)').run(FILE_VERSION, options.shard, options.shards);
    }).immediate();
  }
  const meta = db.prepare<[], Meta>('SELECT layout_version, shard, shards FROM meta').get();
  if (meta?.layout_version !== FILE_VERSION) {
    const found = meta?.layout_version ?? 'none';
    throw new JournalError(`journal ${options.journalPath}: layout version ${found}, expected ${FILE_VERSION}`);
  }
  if (meta.shard !== options.shard || meta.shards !== options.shards) {
    throw new JournalError(
      `journal ${options.journalPath}: belongs to shard ${meta.shard} of ${meta.shards}, ` +
        `not to shard ${options.shard} of ${options.shards}`,
    );
  }
}

type Meta = { readonly layout_version: number; readonly shard: number; readonly shards: number };
