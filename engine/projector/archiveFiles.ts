/** The files of the archive of orders, as they lie in their folder (shared/tables/orderArchive.ts). */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { openDatabase, userVersion } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { setAside } from '../../shared/base/setAside.ts';
import {
  ARCHIVE_LAYOUT,
  type ARCHIVED_FILES,
  archiveFileName,
  archiveFolder,
  readArchiveFileName,
  WHOLE_LAYOUT,
} from '../../shared/tables/orderArchive.ts';
import { OrderBlock } from '../../shared/tables/orderBlocks.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { OrderTable } from '../../shared/tables/orderTable.ts';
import type { RowOf } from '../../shared/tables/table.ts';

type NamedFile = { readonly file: number; readonly sha256: string };

const READ_BYTES = 1 << 20;

/** By number. */
export function archiveFiles(folder: string): NamedFile[] {
  if (!existsSync(folder)) return [];
  const named = readdirSync(folder).map(readArchiveFileName);
  return named.filter((each) => each !== null).sort((a, b) => a.file - b.file);
}

/** The SHA-256 of a file's bytes, in hex. */
export function hashOf(path: string): string {
  const hash = createHash('sha256');
  const buffer = new Uint8Array(READ_BYTES);
  const fd = openSync(path, 'r');
  try {
    for (let read = 1; read > 0; ) {
      read = readSync(fd, buffer, 0, buffer.length, null);
      hash.update(buffer.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
  return hash.digest('hex');
}

/** The paths of listed files that are missing, or whose bytes are not those that their names say. */
export function wrongArchiveFiles(db: Database.Database): string[] {
  const listed = db.prepare<[], NamedFile>('SELECT file, sha256 FROM archived_files ORDER BY file').all();
  return listed
    .map((named) => ({ path: join(archiveFolder(db.name), archiveFileName(named)), sha256: named.sha256 }))
    .filter(({ path, sha256 }) => !existsSync(path) || hashOf(path) !== sha256)
    .map(({ path }) => path);
}

/** The orders that have left read.db for the archive. @param columns as SQL */
export function* archivedOrders<R>(db: Database.Database, columns: string): Generator<R, void> {
  const listed = db.prepare<[], RowOf<typeof ARCHIVED_FILES>>('SELECT * FROM archived_files ORDER BY file').all();
  const sql = `SELECT ${columns} FROM orders WHERE ?1 IS NULL OR (account, id) <= (?1, ?2)`;
  for (const { file, sha256, left_account, left_id } of listed) {
    const path = join(archiveFolder(db.name), archiveFileName({ file, sha256 }));
    const archive = openDatabase(path, { readonly: true, fileMustExist: true });
    try {
      for (const part of tablesOf(archive)) {
        const orders = prepared<[Record<number, number | Uint8Array | null>], R>(part, sql);
        yield* orders.iterate({ 1: left_account, 2: left_id });
      }
    } finally {
      archive.close();
    }
  }
}

/** The orders of a file in databases with a table `orders`, by account and id. Each is used until the next is read. */
export function* tablesOf(file: Database.Database): Generator<Database.Database, void> {
  if (userVersion(file) === WHOLE_LAYOUT) {
    yield file;
    return;
  }
  const table = new OrderTable();
  try {
    for (const data of file.prepare<[], Uint8Array>('SELECT data FROM blocks ORDER BY block').pluck().iterate()) {
      table.fill(new OrderBlock(data));
      yield table.db;
    }
  } finally {
    table.db.close();
  }
}

type Beginning = {
  readonly shard: number;
  /** The record after which the shard is followed. */
  readonly sequence: number;
  /** The number of shards; there were more of them before a cut (engine/admin/README.md). */
  readonly shards: number;
};

/**
 * Reads back the orders of a shard that had ended by a record, for a read.db that is made anew and follows the journal
 * from that record on; for shard 0, also those of shards that are no more. A file that cannot be read is set aside.
 */
export function takeBack(folder: string, beginning: Beginning, take: (order: RowOf<typeof ORDERS>) => void): void {
  for (const named of archiveFiles(folder)) {
    const path = join(folder, archiveFileName(named));
    if (hashOf(path) !== named.sha256 || !takeFile(path, beginning, take)) setAside(path);
  }
}

/** @returns false if the file has another layout */
function takeFile(path: string, beginning: Beginning, take: (order: RowOf<typeof ORDERS>) => void): boolean {
  const db = openDatabase(path, { readonly: true, fileMustExist: true });
  try {
    const layout = userVersion(db);
    if (layout !== ARCHIVE_LAYOUT && layout !== WHOLE_LAYOUT) return false;
    for (const part of tablesOf(db)) for (const order of ordersOf(part, beginning)) take(order);
    return true;
  } finally {
    db.close();
  }
}

function ordersOf(db: Database.Database, beginning: Beginning): Iterable<RowOf<typeof ORDERS>> {
  const sql = `
    SELECT ${Object.keys(ORDERS.columns).join(', ')} FROM orders
    WHERE shard = @shard AND shard_sequence <= @sequence OR @shard = 0 AND shard >= @shards`;
  return prepared<[Beginning], RowOf<typeof ORDERS>>(db, sql).iterate(beginning);
}
