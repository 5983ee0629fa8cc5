/**
 * The tables of a damaged control.db, and where each begins. The pages that name them (sqlite_schema) may be damaged
 * themselves. Their contents follow from the file's version, and a file that only one version has written has its
 * tables at the same pages as a new file.
 *
 * Invariant:
 *   CONTROLTABLES-1  A location that is inferred, not read, is a guess: the caller uses its rows only if all of them
 *                    fit the table.
 */
import Database from 'better-sqlite3';
import { CONTROL_VERSION, controlMigrations } from '../../shared/base/controlSchema.ts';
import type { Column, SqlitePages, TreeRow } from '../../shared/base/sqlitePages.ts';
import { AdminError } from './directory.ts';

/** A line of the schema: the statement that makes it, and the first page of a table; 0: it is not known. */
export type Entry = {
  readonly type: string;
  readonly name: string;
  readonly root: number;
  readonly sql: string;
  readonly isGuess: boolean;
};

type FoundTables = {
  readonly entries: readonly Entry[];
  readonly version: number;
  /** The first pages of indexes, as far as they are known: no rows of tables are below them. */
  readonly indexRoots: readonly number[];
  /** True if nothing had to be concluded. */
  readonly isRead: boolean;
};

const KINDS: readonly unknown[] = ['table', 'index', 'trigger', 'view'];

/** @param seen gets the pages of the schema */
export function findTables(pages: SqlitePages, seen: Set<number>): FoundTables {
  const schema = pages.tree(1, seen);
  const rows = [...schema.rows];
  const isRead = schema.lostPages === 0 && rows.length > 0;
  if (!isRead) {
    for (const { page, rows: orphans } of pages.orphans(seen)) {
      if (orphans.length === 0 || !orphans.every(isOfSchema)) continue;
      seen.add(page);
      rows.push(...orphans);
    }
  }
  const named = rows.flatMap(({ columns }) => entryOf(columns));
  const indexRoots = rows.filter(({ columns }) => columns[0] === 'index').map(({ columns }) => Number(columns[3]));
  if (isRead) return { entries: named, version: pages.userVersion, indexRoots, isRead };
  const found = unambiguous(named);
  const version = versionOf(pages, [...found.values()]);
  const all = tablesOf(version);
  // A single differing location shows that the file was upgraded from an older version: then nothing is guessed.
  const isAsNew = all.every(({ name, root }) => (found.get(name)?.root ?? root) === root);
  const entries = all.map((entry) => {
    return found.get(entry.name) ?? { ...entry, root: isAsNew ? entry.root : 0, isGuess: true };
  });
  for (const [name, entry] of found) if (!all.some((one) => one.name === name)) entries.push(entry);
  return { entries, version, indexRoots, isRead };
}

/** Tables and indexes that SQLite makes by itself have no statement. */
function entryOf([type, name, , root, sql]: readonly Column[]): Entry[] {
  const isMade = typeof type === 'string' && typeof name === 'string' && typeof sql === 'string';
  return isMade && !name.startsWith('sqlite_') ? [{ type, name, root: Number(root), sql, isGuess: false }] : [];
}

function isOfSchema({ rowid, columns }: TreeRow): boolean {
  const [type, name, table, root] = columns;
  const isNamed = typeof name === 'string' && typeof table === 'string' && typeof root === 'number';
  return rowid !== null && columns.length === 5 && KINDS.includes(type) && isNamed;
}

/** A released page may name an old location of a table: then neither counts. */
function unambiguous(entries: readonly Entry[]): Map<string, Entry> {
  const found = new Map<string, Entry>();
  const doubted = new Set<string>();
  for (const entry of entries) {
    const other = found.get(entry.name);
    if (other !== undefined && (other.root !== entry.root || other.sql !== entry.sql)) doubted.add(entry.name);
    found.set(entry.name, entry);
  }
  for (const name of doubted) found.delete(name);
  return found;
}

/** The version in the header, or else the newest version that has the tables found. */
function versionOf(pages: SqlitePages, found: readonly Entry[]): number {
  const said = pages.hasHeader ? pages.userVersion : 0;
  if (said > CONTROL_VERSION) throw new AdminError('control.db was written by a newer version: use that one');
  if (said > 0) return said;
  for (let version = CONTROL_VERSION; version > 0; version--) {
    const all = new Map(tablesOf(version).map(({ name, sql }) => [name, sql]));
    if (found.every(({ name, sql }) => !all.has(name) || all.get(name) === sql)) return version;
  }
  throw new AdminError('control.db has tables of no known version: restore the directory from a backup');
}

/** Those of a new file. */
function tablesOf(version: number): Entry[] {
  const db = new Database(':memory:');
  try {
    for (const statements of controlMigrations(0, version)) db.exec(statements);
    type Row = Omit<Entry, 'root' | 'isGuess'> & { readonly rootpage: number };
    const rows = db.prepare<[], Row>('SELECT type, name, rootpage, sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
    return rows
      .filter(({ name }) => !name.startsWith('sqlite_'))
      .map(({ type, name, rootpage, sql }) => ({ type, name, sql, root: rootpage, isGuess: false }));
  } finally {
    db.close();
  }
}
