/**
 * Reads orders that never filled from the archive (shared/tables/orderArchive.ts), so that lists continue from read.db
 * into its files. Runs in a thread of the query pool, within the transaction of a query: the manifest in read.db says
 * which orders are in which file, so each is found once.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { ARCHIVED_ACCOUNTS, ARCHIVED_FILES, archiveFileName, archiveFolder } from '../../shared/tables/orderArchive.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';

const FILE = select(ARCHIVED_FILES, 'file', 'sha256');
type NamedFile = SelectedBy<typeof FILE>;
const PART = select(ARCHIVED_ACCOUNTS, 'cancelled', 'expired', 'first_id', 'last_id', 'last_ms');
/** The orders of an account in one file: those up to `last_id`. */
export type ArchivedPart = NamedFile & SelectedBy<typeof PART>;

/** A row of a list; `part` is null if it is in read.db. */
export type Found<R> = { readonly row: R; readonly part: ArchivedPart | null };
export type FoundRows<R> = {
  readonly rows: readonly Found<R>[];
  /** The end of the newest order that a missing file may have; null if every file was read. */
  readonly archivedBeforeMs: number | null;
};

type ArchiveList<R> = {
  readonly parts: readonly ArchivedPart[];
  /** Those in read.db, newest first. */
  readonly live: readonly R[];
  readonly wanted: number;
  /** The rows of a file, newest first. */
  readonly read: (file: Database.Database, part: ArchivedPart) => readonly R[];
  /** False if each row of the part comes after this one. */
  readonly mayPrecede: (part: ArchivedPart, row: R) => boolean;
  /** True if `a` comes before `b` in the list. */
  readonly precedes: (a: R, b: R) => boolean;
};

/** A query has met a file that is missing or damaged. The thread says so once. */
export type UnreadArchive = { readonly unreadArchive: string };

/** Files that a thread has open; opening one takes a fraction of a millisecond. */
const MOST_OPEN = 64;

const ofConnections = new WeakMap<Database.Database, ArchivedOrders>();

export class ArchivedOrders {
  readonly #db: Database.Database;
  readonly #folder: string;
  readonly #parts: Database.Statement<[number], ArchivedPart>;
  /** The most recently used last. */
  readonly #open = new Map<number, Database.Database>();
  /** The paths of files that could not be read. */
  readonly #unread = new Set<string>();

  private constructor(db: Database.Database) {
    this.#db = db;
    this.#folder = archiveFolder(db.name);
    this.#parts = db.prepare(`
      SELECT ${FILE.sql}, ${PART.sql} FROM archived_accounts CROSS JOIN archived_files USING (file)
      WHERE account = ?`);
  }

  /** All queries of a connection share the open files. */
  static of(db: Database.Database): ArchivedOrders {
    const known = ofConnections.get(db);
    if (known !== undefined) return known;
    const made = new ArchivedOrders(db);
    ofConnections.set(db, made);
    return made;
  }

  /** The latest end first. */
  partsOf(account: number): readonly ArchivedPart[] {
    return this.#parts.all(account).sort((a, b) => b.last_ms - a.last_ms);
  }

  /** The part that has this order of the account. */
  partWith(account: number, id: Uint8Array): ArchivedPart | undefined {
    const sql = 'SELECT account FROM orders WHERE id = ?';
    return this.partsOf(account).find((part) => {
      if (Buffer.compare(part.first_id, id) > 0 || Buffer.compare(part.last_id, id) < 0) return false;
      return this.read(part, (db) => prepared<[Uint8Array], { account: number }>(db, sql).get(id)?.account) === account;
    });
  }

  /** The files that may have the order, of any account. */
  filesWith(id: Uint8Array): readonly NamedFile[] {
    const sql = `SELECT ${FILE.sql} FROM archived_files WHERE first_id <= @id AND last_id >= @id`;
    return prepared<[{ id: Uint8Array }], NamedFile>(this.#db, sql).all({ id });
  }

  /** Continues a list into the archive. */
  list<R>({ parts, live, wanted, read, mayPrecede, precedes }: ArchiveList<R>): FoundRows<R> {
    let rows: readonly Found<R>[] = live.map((row) => ({ row, part: null }));
    let archivedBeforeMs: number | null = null;
    for (const part of parts) {
      const last = rows.length < wanted ? undefined : rows[wanted - 1];
      if (last !== undefined && !mayPrecede(part, last.row)) continue;
      const found = this.read(part, (file) => read(file, part).map((row) => ({ row, part })));
      if (found === null) archivedBeforeMs = Math.max(archivedBeforeMs ?? 0, part.last_ms);
      else rows = merged(rows, found, precedes).slice(0, wanted);
    }
    return { rows, archivedBeforeMs };
  }

  /** The sum over the parts, or something above `most`; a missing file counts by the manifest. */
  count(parts: readonly ArchivedPart[], most: number, count: (file: Database.Database, part: ArchivedPart) => number) {
    let sum = 0;
    for (const part of parts) {
      if (sum > most) break;
      sum += this.read(part, (file) => count(file, part)) ?? 0;
    }
    return sum;
  }

  /**
   * An order of a part, or of read.db, with columns of its market. @param orderColumns as `select` writes them.
   */
  order<O, M>(part: ArchivedPart | null, orderColumns: string, marketColumns: string, id: Uint8Array): O & M {
    const sql = `SELECT ${orderColumns}, orders.market AS market FROM orders WHERE orders.id = ?`;
    const read = (db: Database.Database) => prepared<[Uint8Array], O & { market: number }>(db, sql).get(id);
    const order = part === null ? read(this.#db) : this.read(part, read);
    if (order === undefined || order === null) throw new Error('archived orders: a listed order is in its file');
    const market = prepared<[number], M>(this.#db, `SELECT ${marketColumns} FROM markets WHERE market = ?`);
    return { ...order, ...market.get(order.market)! };
  }

  /** Null if the file is missing or damaged. */
  read<T>(file: NamedFile, work: (db: Database.Database) => T): T | null {
    try {
      const db = this.#connection(file);
      return db === null ? null : work(db);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      this.#open.get(file.file)?.close();
      this.#open.delete(file.file);
      this.#reportUnread(join(this.#folder, archiveFileName(file)));
      return null;
    }
  }

  #reportUnread(path: string): void {
    if (this.#unread.has(path)) return;
    this.#unread.add(path);
    parentPort?.postMessage({ unreadArchive: path } satisfies UnreadArchive);
  }

  #connection(named: NamedFile): Database.Database | null {
    const { file } = named;
    let db = this.#open.get(file);
    if (db === undefined) {
      const path = join(this.#folder, archiveFileName(named));
      if (!existsSync(path)) {
        this.#reportUnread(path);
        return null;
      }
      db = openDatabase(path, { readonly: true, fileMustExist: true });
    }
    this.#open.delete(file);
    this.#open.set(file, db);
    for (const [oldest, connection] of this.#open) {
      if (this.#open.size <= MOST_OPEN) break;
      connection.close();
      this.#open.delete(oldest);
    }
    return db;
  }
}

function merged<R>(
  a: readonly Found<R>[],
  b: readonly Found<R>[],
  precedes: (a: R, b: R) => boolean,
): readonly Found<R>[] {
  const all: Found<R>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) all.push(precedes(a[i].row, b[j].row) ? a[i++] : b[j++]);
  return [...all, ...a.slice(i), ...b.slice(j)];
}
