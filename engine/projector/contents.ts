/**
 * The contents of read.db as one number for each table: two files that follow the same journals have the same numbers,
 * however their records were divided into transactions. The projector's tests and the operator's tools compare them.
 *
 * Invariant:
 *   CONTENTS-1  A number is the sum of the hashes of the rows: it depends neither on their order, nor on the numbers
 *               that SQLite assigned, nor on where an order hash is, nor on when the catalogue's volumes followed, nor
 *               on which orders are in the archive.
 */
import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { CATALOG_MARKETS } from '../../shared/tables/catalogMarkets.ts';
import { ARCHIVE_CURSOR, ARCHIVE_LATE, ARCHIVED_ACCOUNTS, ARCHIVED_FILES } from '../../shared/tables/orderArchive.ts';
import { ENTRY_BYTES, ORDER_HASH_TAIL, ORDER_HASHES } from '../../shared/tables/orderHashes.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { PRIVATE_TAIL, PRIVATE_TAIL_STARTS } from '../../shared/tables/privateTail.ts';
import { READ_DB_TABLES } from '../../shared/tables/readDb.ts';
import { archivedOrders } from './archiveFiles.ts';

/** The manifest of the archive: its orders are counted with those of read.db. */
const OF_THE_ARCHIVE: ReadonlySet<string> = new Set(
  [ARCHIVED_FILES, ARCHIVED_ACCOUNTS, ARCHIVE_LATE, ARCHIVE_CURSOR].map(({ name }) => name),
);
/** Tables whose rows depend on the gateway's own log, and not only on the journals. */
const OF_THE_GATEWAY: ReadonlySet<string> = new Set([PRIVATE_TAIL.name, PRIVATE_TAIL_STARTS.name]);
/** Columns that depend on when they were written; the other columns, and `markets`, carry the same information. */
const OF_A_MOMENT: ReadonlySet<string> = new Set([
  `${ORDER_HASHES.name}.generation`,
  `${CATALOG_MARKETS.name}.volume_micro`,
]);
/** The sums are below it. */
const MODULUS = 1n << 128n;

type TableContents = { readonly rows: number; readonly sum: string };
export type Contents = Readonly<Record<string, TableContents>>;

/** @param except the names of tables that are left out. */
export function contentsOf(db: Database.Database, except: ReadonlySet<string> = new Set()): Contents {
  const contents: Record<string, TableContents> = {};
  for (const { name, inserted } of READ_DB_TABLES) {
    if (OF_THE_GATEWAY.has(name) || OF_THE_ARCHIVE.has(name) || name === ORDER_HASH_TAIL.name || except.has(name))
      continue;
    const compared = inserted?.filter((column) => !OF_A_MOMENT.has(`${name}.${column}`));
    const rows = compared === undefined ? words(db, name) : values(db, name, compared);
    const tail = name === ORDER_HASHES.name ? entriesOfTail(db) : [];
    const archived = name === ORDERS.name ? archivedValues(db) : [];
    contents[name] = sumOf(rows, tail, archived);
  }
  return contents;
}

/** The tables that differ, one line each. */
export function differences(expected: Contents, found: Contents): string[] {
  return Object.entries(expected).flatMap(([name, { rows, sum }]) => {
    const other = found[name];
    if (other?.sum === sum && other.rows === rows) return [];
    const have = other === undefined ? 'is missing' : `has ${other.rows} rows`;
    return [`${name} ${have}, ${rows} follow from the journals${other?.rows === rows ? ' with other values' : ''}`];
  });
}

function sumOf(...parts: Iterable<string>[]): TableContents {
  let rows = 0;
  let sum = 0n;
  for (const part of parts) {
    for (const row of part) {
      rows++;
      sum += BigInt(`0x${hash('sha256', row, 'hex').slice(0, 32)}`);
    }
  }
  return { rows, sum: (sum % MODULUS).toString(16) };
}

function values(db: Database.Database, name: string, columns: readonly string[]): Iterable<string> {
  return db
    .prepare<[], string>(`SELECT ${rowOf(columns)} FROM ${name}`)
    .pluck()
    .iterate();
}

function rowOf(columns: readonly string[]): string {
  return columns.map((column) => `quote(${column})`).join(` || ',' || `);
}

function* archivedValues(db: Database.Database): Generator<string> {
  for (const { row } of archivedOrders<{ row: string }>(db, `${rowOf(ORDERS.inserted)} AS row`)) yield row;
}

/** Every word of a full-text index with its places. */
function words(db: Database.Database, name: string): Iterable<string> {
  db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.${name}_words USING fts5vocab('main', '${name}', 'instance')`);
  return db
    .prepare<[], string>(`SELECT term || ' ' || doc || ' ' || col || ' ' || "offset" FROM temp.${name}_words`)
    .pluck()
    .iterate();
}

/** As the rows that they will be in the index. */
function* entriesOfTail(db: Database.Database): Generator<string> {
  const tail = db.prepare<[], Uint8Array>(`SELECT entries FROM ${ORDER_HASH_TAIL.name}`).pluck();
  for (const entries of tail.all()) {
    for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
      yield `X'${Buffer.from(entries.subarray(at, at + ENTRY_BYTES))
        .toString('hex')
        .toUpperCase()}'`;
    }
  }
}
