/**
 * `admin control repair`: rebuilds control.db from the readable rows in the pages of a damaged file, and reports what
 * could not be read. The exchange must be stopped.
 *
 * Invariants:
 *   CONTROLREPAIR-1  The damaged file stays beside the new one, and a row that does not fit into the new one is written
 *                    to a text file: everything that was readable before is readable afterwards.
 *   CONTROLREPAIR-2  The new file takes the name only when it has every market that the journals have, and a row for
 *                    every account that there was, as far as a row, a sum or the journals name it or a later one: no
 *                    index is given to a second one, and none is left out.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { makeRowSums, rowsThatDiffer } from '../../shared/base/rowSums.ts';
import { type Column, commitsBehindDamage, SqlitePages, type TreeRow } from '../../shared/base/sqlitePages.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { MASTER_KEY_CHECK } from '../../shared/crypto/masterKey.ts';
import { HELD_MARK_FILE } from '../replication/heldMark.ts';
import { legible } from '../replication/records.ts';
import { type Entry, findTables } from './controlTables.ts';
import { AdminError, type ShardFile } from './directory.ts';
import { remakeMovements } from './remadeMovements.ts';
import { findUnnamed } from './unnamed.ts';

/** Rows that have no place in the new file, as lines. */
type Aside = (table: string, row: object, why: string) => void;
/** Of a table: its rows in the new file, and the pages that could not be read. */
type TableCount = { readonly entry: Entry; readonly table: string; rows: number; readonly lostPages: number };

const SUMS = 'row_sums';
const NONE = 'no damaged table takes it';
const INDEX = 'it may be of an index';
const SEVERAL = 'several damaged tables take it';
const DELETED = 'the list of free pages is lost: it may have been deleted';

type Repaired = {
  readonly lines: readonly string[];
  /** Nothing is lost, or the operator accepts it, and the file is in place. */
  readonly isInPlace: boolean;
};

type RepairOptions = {
  readonly directory: string;
  /** The journals, whole. */
  readonly files: readonly ShardFile[];
  readonly acceptsLoss: boolean;
  /** Part of the names of files. */
  readonly time: string;
};

export function repairControl({ directory, files, acceptsLoss, time }: RepairOptions): Repaired {
  const path = join(directory, 'control.db');
  const fresh = `${path}.part`;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(fresh + suffix, { force: true });
  const aside: string[] = [];
  const { lines, isWhole, mayServe } = recover(path, fresh, files, (table, row, why) => {
    aside.push(JSON.stringify({ table, why, ...row }, legible));
  });
  const isInPlace = mayServe && (isWhole || acceptsLoss);
  if (!isInPlace && !acceptsLoss) {
    rmSync(fresh);
    const next = 'nothing was changed yet: `npm run admin -- control repair --accept-loss` ';
    return { lines: [...lines, next + (mayServe ? 'puts this in place' : 'writes what can be read')], isInPlace };
  }
  if (aside.length > 0) {
    const list = `${path}.lost-${time}.jsonl`;
    writeFileSync(list, aside.map((line) => `${line}\n`).join(''), { mode: 0o600, flush: true });
    lines.push(`${aside.length} rows that have no place are in ${list}`);
  }
  if (isInPlace) {
    for (const suffix of ['-wal', '']) {
      if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.damaged-${time}${suffix}`);
    }
    rmSync(`${path}-shm`, { force: true });
    lines.push(`the damaged file is ${path}.damaged-${time}`);
  }
  const name = isInPlace ? path : `${path}.recovered-${time}`;
  renameSync(fresh, name);
  syncDirectory(directory);
  if (!isInPlace) lines.push(`what can be read is in ${name}: restore the data directory from a backup`);
  return { lines, isInPlace };
}

function recover(path: string, fresh: string, files: readonly ShardFile[], aside: Aside) {
  const pages = new SqlitePages(path);
  const db = new Database(fresh);
  try {
    db.pragma('journal_mode = MEMORY');
    db.pragma('foreign_keys = OFF');
    const isOfMember = existsSync(join(dirname(path), HELD_MARK_FILE));
    const { counts, version, isRead } = db.transaction(() => copyAll(pages, db, isOfMember, aside))();
    db.pragma(`user_version = ${version}`);
    const hasSums = counts.every(({ table, lostPages }) => table !== SUMS || lostPages === 0);
    const differing = hasSums ? rowsThatDiffer(db) : ['the checksums of rows are damaged: none was compared'];
    const { lines, mayServe } = compare(db, files);
    lines.unshift(...differing);
    const behind = existsSync(`${path}-wal`) ? commitsBehindDamage(path) : 0;
    if (behind > 0) lines.unshift(`${behind} changes stand behind a damaged page of ${path}-wal, and are left out`);
    const schema = isRead
      ? []
      : [`the pages that name the tables are damaged: those of version ${version} are made anew`];
    const lost = counts.filter(({ lostPages }) => lostPages > 0);
    const homeless = removeHomeless(db, aside);
    const rows = counts.map(({ table, rows: count, lostPages }) => {
      return `${table}: ${count} rows${lostPages > 0 ? `, ${lostPages} pages of them cannot be read` : ''}`;
    });
    makeRowSums(db, version);
    if (homeless > 0) lines.push(`${homeless} rows name one that is lost: they have no place`);
    const isWhole = lost.length === 0 && homeless === 0 && lines.length === 0;
    return { lines: [...schema, ...rows, ...lines], isWhole, mayServe };
  } finally {
    db.close();
    pages.close();
  }
}

/** Tables and rows first: indexes are made of whole tables. */
function copyAll(pages: SqlitePages, db: Database.Database, isOfMember: boolean, aside: Aside) {
  const seen = new Set<number>();
  const { entries, version, indexRoots, isRead } = findTables(pages, seen);
  if (isOfMember || entries.some(({ name }) => name === 'record_end')) {
    throw new AdminError(
      'control.db is of a member of a cluster: start it with an empty directory beside another member',
    );
  }
  const tables = entries.filter(({ type }) => type === 'table');
  for (const { sql } of tables) db.exec(sql);
  const counts = tables.map((entry) => copyTree(pages, db, entry, seen, aside));
  const indexes = indexRoots.map((root) => pages.tree(root, seen));
  const areIndexesKnown = isRead && indexes.every(({ lostPages }) => lostPages === 0);
  const damaged = counts.filter(({ lostPages }) => lostPages > 0);
  if (damaged.length > 0) copyOrphans({ pages, db, seen, damaged, areIndexesKnown, aside });
  for (const { type, sql } of entries) if (type !== 'table') db.exec(sql);
  return { counts, version, isRead };
}

/** The rows of a table as far as pages lead to them; of a place that is a guess only if all of them fit. */
function copyTree(
  pages: SqlitePages,
  db: Database.Database,
  entry: Entry,
  seen: Set<number>,
  aside: Aside,
): TableCount {
  const own = new Set(seen);
  const { rows, lostPages } = pages.tree(entry.root, own);
  const isOwn = !entry.isGuess || (!seen.has(entry.root) && takesAll(db, entry, rows));
  if (!isOwn) return { entry, table: entry.name, rows: 0, lostPages: 1 };
  for (const page of own) seen.add(page);
  return { entry, table: entry.name, lostPages, rows: rows.filter((row) => insert(db, entry, row, aside)).length };
}

type OrphanOptions = {
  readonly pages: SqlitePages;
  readonly db: Database.Database;
  readonly seen: ReadonlySet<number>;
  readonly damaged: readonly TableCount[];
  /** False: rows without a rowid may be of an index. */
  readonly areIndexesKnown: boolean;
  readonly aside: Aside;
};

/** Rows on pages that no other page points to. Without the list of free pages they may be deleted rows. */
function copyOrphans({ pages, db, seen, damaged, areIndexesKnown, aside }: OrphanOptions): void {
  for (const { rows } of pages.orphans(seen)) {
    const takers = damaged.filter(({ entry }) => takesAll(db, entry, rows));
    const homes = takers.length > 0 ? takers : damaged;
    const isOfIndex = !areIndexesKnown && rows.some(({ rowid }) => rowid === null);
    const doubt = !pages.hasHeader ? DELETED : isOfIndex ? INDEX : takers.length > 1 ? SEVERAL : null;
    for (const row of rows) {
      const home = doubt === null ? homes.find(({ entry }) => insert(db, entry, row, null)) : undefined;
      if (home === undefined) aside('unknown', { columns: row.columns }, doubt ?? NONE);
      else home.rows++;
    }
  }
}

/** Changes nothing. */
function takesAll(db: Database.Database, entry: Entry, rows: readonly TreeRow[]): boolean {
  db.exec('SAVEPOINT fits');
  try {
    return rows.every((row) => insert(db, entry, row, null));
  } finally {
    db.exec('ROLLBACK TO fits; RELEASE fits');
  }
}

/** @param aside null: a row that does not fit is of another table */
function insert(
  db: Database.Database,
  { name, sql }: Entry,
  { rowid, columns }: TreeRow,
  aside: Aside | null,
): boolean {
  const form = formOf(db, name, rowid === null, columns.length);
  const hasRowid = !/WITHOUT ROWID/i.test(sql);
  const { used } = form;
  const values = columns.map((value, index) => (value === null && used[index]?.isRowid ? rowid : value));
  // Without this check SQLite would turn a number into text.
  const isOfTypes = used.every(({ type }, index) => isOfType(values[index], type));
  if (columns.length > used.length || hasRowid !== (rowid !== null) || !isOfTypes) {
    aside?.(name, { columns }, 'it is of another form than its table');
    return false;
  }
  try {
    form.insert ??= db.prepare(insertionOf(name, used));
    form.insert.run(values.map(bound));
    return true;
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    const row = Object.fromEntries(used.map((column, index) => [column.name, values[index]]));
    aside?.(name, row, error.message);
    return false;
  }
}

type Form = { readonly used: ReturnType<typeof columnsOf>; insert?: Database.Statement };

/** By connection. Its tables keep their columns while rows are copied into them. */
const forms = new WeakMap<Database.Database, Map<string, Form>>();

/** The columns of a table that a row of so many values has. */
function formOf(db: Database.Database, table: string, isKeyFirst: boolean, count: number): Form {
  const ofTables = forms.get(db) ?? new Map<string, Form>();
  forms.set(db, ofTables);
  const key = `${isKeyFirst} ${count} ${table}`;
  const form = ofTables.get(key) ?? { used: columnsOf(db, table, isKeyFirst).slice(0, count) };
  ofTables.set(key, form);
  return form;
}

function insertionOf(table: string, used: Form['used']): string {
  const list = used.map((column) => `"${column.name}"`).join(', ');
  return `INSERT INTO "${table}" (${list}) VALUES (${used.map(() => '?').join(', ')})`;
}

function isOfType(value: Column, type: string): boolean {
  if (value === null) return true;
  if (type === 'TEXT') return typeof value === 'string';
  if (type === 'BLOB') return value instanceof Uint8Array;
  if (type === 'INTEGER') return typeof value === 'bigint' || Number.isInteger(value);
  return true;
}

/** A JavaScript number would be bound as a floating-point value. */
function bound(value: Column): Column {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

/** In the order in which a row has them: without a rowid those of the primary key come first. */
function columnsOf(db: Database.Database, table: string, isKeyFirst: boolean) {
  type Info = { readonly name: string; readonly type: string; readonly pk: number };
  const infos = db.prepare<[], Info>(`PRAGMA table_info("${table}")`).all();
  const keys = infos.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  const ordered = isKeyFirst ? [...keys, ...infos.filter(({ pk }) => pk === 0)] : infos;
  const isRowid = (info: Info): boolean => !isKeyFirst && keys.length === 1 && info.pk === 1 && info.type === 'INTEGER';
  return ordered.map((info) => ({ name: info.name, type: info.type, isRowid: isRowid(info) }));
}

/** CONTROLREPAIR-2. */
function compare(db: Database.Database, files: readonly ShardFile[]): { lines: string[]; mayServe: boolean } {
  const lines: string[] = [];
  const users = new Set(db.prepare<[], number>('SELECT account_index FROM users').pluck().all());
  const named = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check').all();
  const lost = new Set<number>();
  for (const table of new Set(named.filter(({ parent }) => parent === 'users').map((row) => row.table))) {
    for (const { from } of keysOf(db, table).filter((key) => key.table === 'users')) {
      const values = db.prepare<[], number | null>(`SELECT DISTINCT "${from}" FROM "${table}"`).pluck().all();
      for (const value of values) if (value !== null && !users.has(value)) lost.add(value);
    }
  }
  const { accounts, markets, movements } = findUnnamed(db, files);
  for (const { shard, id } of markets) lines.push(`market ${id} of journal ${shard} is lost`);
  for (const account of accounts) lost.add(account);
  let mayServe = markets.length === 0;
  const hole = mayServe ? missingMarket(db) : null;
  if (hole !== null) {
    lines.push(hole);
    mayServe = false;
  }
  const has = db.prepare<[string], number>('SELECT 1 FROM platform WHERE key = ?').pluck();
  if (has.get(MASTER_KEY_CHECK) === undefined) {
    lines.push('the facts of the platform are lost');
    mayServe = false;
  }
  const add = db.prepare(
    'INSERT INTO users (account_index, id, role, referral_code, created_ms) VALUES (?, ?, ?, ?, 0)',
  );
  for (const account of lostBetween(db, users, lost)) {
    const id = randomUUID();
    add.run(account, id, 'user', randomBytes(8).toString('hex').toUpperCase());
    lines.push(`account ${account} has lost its name, its id and its e-mail address: its id is ${id} now`);
  }
  return { lines: [...lines, ...remakeMovements(db, files[0]?.directory ?? '', movements)], mayServe };
}

/** Numbers of accounts without a row, up to the last one that anything names. */
function lostBetween(db: Database.Database, users: ReadonlySet<number>, lost: ReadonlySet<number>): number[] {
  const hasSums = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(SUMS) !== undefined;
  const summed = hasSums
    ? db.prepare<[], number>(`SELECT ifnull(max(CAST(key AS INTEGER)), 0) FROM ${SUMS} WHERE table_name = 'users'`)
    : null;
  let last = summed?.pluck().get() ?? 0;
  for (const account of [...users, ...lost]) last = Math.max(last, account);
  // The exchange's own account, 0, has no row.
  return Array.from({ length: last }, (_, index) => index + 1).filter((account) => !users.has(account));
}

/** Null where every market is there up to the last one. */
function missingMarket(db: Database.Database): string | null {
  const indexes = db.prepare<[], number>('SELECT market_index FROM markets ORDER BY market_index').pluck().all();
  const hole = indexes.findIndex((index, place) => index !== place);
  return hole < 0 ? null : `market ${hole} is lost, which no journal has`;
}

type Key = { readonly table: string; readonly from: string; readonly to: string };

function keysOf(db: Database.Database, table: string): Key[] {
  return db.prepare<[], Key>(`PRAGMA foreign_key_list("${table}")`).all();
}

/** Removes rows whose referenced row is lost, repeatedly, until every row has its own. @returns the number removed */
function removeHomeless(db: Database.Database, aside: Aside): number {
  let removed = 0;
  for (let before = -1; before < removed; ) {
    before = removed;
    const [first] = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check').all();
    if (first === undefined) return removed;
    for (const { table, from, to } of keysOf(db, first.table).filter((key) => key.table === first.parent)) {
      const where = `"${from}" IS NOT NULL AND "${from}" NOT IN (SELECT "${to}" FROM "${table}")`;
      for (const row of db.prepare<[], object>(`SELECT * FROM "${first.table}" WHERE ${where}`).all()) {
        aside(first.table, row, `its ${from} is not there`);
        removed++;
      }
      db.exec(`DELETE FROM "${first.table}" WHERE ${where}`);
    }
  }
  throw new AdminError(
    'control.db: a row names one that is lost, and is not found: restore the directory from a backup',
  );
}
