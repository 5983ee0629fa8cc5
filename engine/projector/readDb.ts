/**
 * The file of read.db (shared/tables/readDb.ts). The projector opens it, and empties and fills it again when another
 * version of this program wrote it or the journals are not those it follows.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { freeName } from '../../shared/base/freeName.ts';
import { openDatabase, setUserVersion, userVersion } from '../../shared/base/openDatabase.ts';
import { preparedValue } from '../../shared/base/prepared.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { CURSORS } from '../../shared/tables/cursors.ts';
import { HISTORY_STARTS } from '../../shared/tables/historyStarts.ts';
import { READ_DB_SCHEMA, READ_DB_VERSION } from '../../shared/tables/readDb.ts';
import { insert, type NewRowOf, type RowOf } from '../../shared/tables/table.ts';
import { JournalHead } from '../journal/row.ts';
import { copyDatabase, syncFile } from './databaseCopy.ts';
import { upgradeReadDb } from './upgrade.ts';

/**
 * Pages of the write-ahead log: one that several transactions change is copied into the file once. A checkpoint of so
 * many takes a tenth of a second, for which a waiting query waits.
 */
const CHECKPOINT_PAGES = 16_000;
const PAGE_BYTES = 4096;
/** Indexes with keys in random order change most of their pages again and again once there are millions of orders. */
const CACHE_KIB = 256 * 1024;
/** Of `auto_vacuum`: pages without rows can be given back to the system (freePages.ts). */
const INCREMENTAL = 2;

/** Copies a file that is about to be emptied although the journals do not have all its history any more. */
export function keepReplaced(db: Database.Database): void {
  copyDatabase(db, freeName(`${db.name}.replaced`));
}

/** @param areTrimmed the journals are not all there: a file of another version is brought up, if that is possible. */
export function openReadDb(path: string, areTrimmed: boolean): Database.Database {
  const db = openDatabase(path);
  // A file that has tables keeps the mode that it has.
  db.pragma('auto_vacuum = INCREMENTAL');
  const mode = db.pragma('journal_mode = WAL', { simple: true });
  assert(mode === 'wal', 'read model: queries read while the projector writes');
  // A power cut may lose the last transactions: rows and cursor alike, so they are read from the journal again.
  db.pragma('synchronous = NORMAL');
  // A referenced row is always written first; checking that would cost a search for each order.
  db.pragma('foreign_keys = OFF');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  // A large transaction leaves no larger file behind than that.
  db.pragma(`journal_size_limit = ${CHECKPOINT_PAGES * PAGE_BYTES}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  const version = userVersion(db);
  if (version !== READ_DB_VERSION) {
    if (version !== 0) keepCopy(db, `${path}.version-${version}`);
    const isBroughtUp = areTrimmed && version !== 0 && upgradeReadDb(db, version);
    if (!isBroughtUp) clearReadDb(db);
  }
  return db;
}

/** Once journals are trimmed, the file of another version is the only copy of older history. */
function keepCopy(db: Database.Database, path: string): void {
  if (!existsSync(path)) copyDatabase(db, path);
}

/** Empties the database in place and in one transaction: queries have it open and must never see a part of it. */
export function clearReadDb(db: Database.Database): void {
  db.transaction(() => {
    // A full-text index takes its own tables with it, so it goes before they would be found.
    dropAll(db, "sql LIKE 'CREATE VIRTUAL TABLE%'");
    // Latest first, so that a table is dropped before the one it references.
    dropAll(db, "type = 'table'");
    db.exec(READ_DB_SCHEMA);
    setUserVersion(db, READ_DB_VERSION);
  }).immediate();
  // Only VACUUM changes the mode of a file that has tables. Of one without rows it takes a moment.
  if (!givesPagesBack(db)) db.exec('VACUUM');
}

/** False for a file that an older version made. A copy of it gives pages back (databaseCopy.ts). */
export function givesPagesBack(db: Database.Database): boolean {
  return preparedValue<[], number>(db, 'PRAGMA auto_vacuum').get() === INCREMENTAL;
}

function dropAll(db: Database.Database, condition: string): void {
  const tables = db
    .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE ${condition} ORDER BY rowid DESC`)
    .pluck()
    .all();
  for (const table of tables) db.exec(`DROP TABLE "${table}"`);
}

/** Everything that was committed is on the disk afterwards: what is not in the file yet is in its write-ahead log. */
export function makeDurable(db: Database.Database): void {
  syncFile(`${db.name}-wal`);
  syncDirectory(dirname(db.name));
}

/** One cursor per shard, written in the transaction of the rows before it. */
export class Cursors {
  readonly #select: Database.Statement<[number], RowOf<typeof CURSORS>>;
  readonly #write: Database.Statement<[NewRowOf<typeof CURSORS>]>;
  readonly #latest: Database.Statement<[], number | null>;

  constructor(db: Database.Database) {
    this.#select = db.prepare('SELECT * FROM cursors WHERE shard = ?');
    this.#write = db.prepare(insert(CURSORS, 'OR REPLACE'));
    this.#latest = db.prepare<[], number | null>('SELECT max(time_ms) FROM cursors').pluck();
  }

  load(shard: number): JournalHead {
    const row = this.#select.get(shard);
    return row === undefined ? new JournalHead(0, 0, 0) : new JournalHead(row.sequence, row.chain_low, row.chain_high);
  }

  /** The time of the last record of all shards; 0 before the first one. */
  latestMs(): number {
    return this.#latest.get() ?? 0;
  }

  /** @param timeMs of the record at the head */
  save(shard: number, head: JournalHead, timeMs: number): void {
    const { sequence, chainLow: chain_low, chainHigh: chain_high } = head;
    this.#write.run({ shard, sequence, chain_low, chain_high, time_ms: timeMs });
  }
}

/** Where the history of a shard begins, if not with its first record. */
export class HistoryStarts {
  readonly #write: Database.Statement<[NewRowOf<typeof HISTORY_STARTS>]>;
  readonly #latest: Database.Statement<[], number | null>;

  constructor(db: Database.Database) {
    this.#write = db.prepare(insert(HISTORY_STARTS));
    this.#latest = db.prepare<[], number | null>(`SELECT max(time_ms) FROM ${HISTORY_STARTS.name}`).pluck();
  }

  /** From then on the history of every shard is there; 0 where all of it is. */
  latestMs(): number {
    return this.#latest.get() ?? 0;
  }

  save({ shard, shardSequence, timeMs }: { shard: number; shardSequence: number; timeMs: number }): void {
    this.#write.run({ shard, sequence: shardSequence, time_ms: timeMs });
  }
}
