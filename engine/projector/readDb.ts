/**
 * The file behind read.db (data/schema/read.sql): opened by the projector, emptied and made again whenever it is not
 * exactly what this version would have written.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { JournalHead } from '../journalRow.ts';

/** A new number for every change of the schema or of what the projections write into it. */
export const READ_DB_VERSION = 7;

const SCHEMA_URL = new URL('../../data/schema/read.sql', import.meta.url);
const CHECKPOINT_PAGES = 4000;
const UNREADABLE = new Set(['SQLITE_NOTADB', 'SQLITE_CORRUPT']);
/** Indexes whose keys come in no order want more pages in memory than the default 16 MiB once orders are millions. */
const CACHE_KIB = 64 * 1024;

/** Everything in the file follows from the journals, so one that SQLite cannot read is put aside and made again. */
export function openReadDb(path: string): Database.Database {
  try {
    return openFile(path);
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || !UNREADABLE.has(error.code)) throw error;
    renameSync(path, `${path}.damaged`);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    return openFile(path);
  }
}

function openFile(path: string): Database.Database {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  // A power cut may lose the last transactions: rows and cursor alike, so they are read from the journal again.
  db.pragma('synchronous = NORMAL');
  // What a row refers to is written before it; looking for it again costs each order a search.
  db.pragma('foreign_keys = OFF');
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version !== READ_DB_VERSION) {
    if (version !== 0) keepCopy(db, `${path}.version-${version}`);
    clearReadDb(db);
  }
  return db;
}

/** Once journals are trimmed, what another version wrote is the only copy of older history. */
function keepCopy(db: Database.Database, path: string): void {
  if (!existsSync(path)) db.prepare('VACUUM INTO ?').run(path);
}

/** Empties the database in place, in one transaction: queries have it open and must never see a half of it. */
export function clearReadDb(db: Database.Database): void {
  db.transaction(() => {
    // Latest first, so that a table goes before the one it references.
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid DESC")
      .pluck()
      .all();
    for (const table of tables) db.exec(`DROP TABLE "${table}"`);
    db.exec(readFileSync(SCHEMA_URL, 'utf8'));
    db.pragma(`user_version = ${READ_DB_VERSION}`);
  }).immediate();
}

type CursorRow = {
  readonly shard: number;
  readonly sequence: number;
  readonly chain_low: number;
  readonly chain_high: number;
};

/** One cursor per shard, written in the transaction of the rows it stands behind. */
export class Cursors {
  readonly #select: Database.Statement<[number], CursorRow>;
  readonly #write: Database.Statement<[number, number, number, number]>;

  constructor(db: Database.Database) {
    this.#select = db.prepare('SELECT * FROM cursors WHERE shard = ?');
    this.#write = db.prepare('INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?)');
  }

  load(shard: number): JournalHead {
    const row = this.#select.get(shard);
    return row === undefined ? new JournalHead(0, 0, 0) : new JournalHead(row.sequence, row.chain_low, row.chain_high);
  }

  save(shard: number, head: JournalHead): void {
    this.#write.run(shard, head.sequence, head.chainLow, head.chainHigh);
  }
}
