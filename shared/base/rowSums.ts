/**
 * A checksum of each row of control.db that money or access rests on. SQLite finds a page that is no page of its own; a
 * byte that has changed inside of a row it does not see. Sums find that, by the name of the row, and rows that are gone
 * or that no program of ours has written. They are against bad disks and stray tools, not against one who knows them.
 *
 * Invariants:
 *   ROWSUMS-1  The sum of a row is written in the transaction that writes the row, by triggers of the connection: each
 *              one that writes control.db has them.
 *   ROWSUMS-2  All sums are made anew where the tables become those of another version, after a check of the old ones.
 */
import { crc32 } from 'node:zlib';
import type { Database } from 'better-sqlite3';

/** All but what is of a moment, such as who is online, and what follows from the journals. */
const SUMMED = [
  ...['platform', 'users', 'wallets', 'grants', 'operators', 'approvals', 'account_states', 'account_exits'],
  ...['identities', 'api_keys', 'session_keys', 'events', 'markets', 'deployments', 'movements', 'order_groups'],
  ...['rebate_rates', 'nonce_floors', 'gaming_preferences', 'trading_timeouts', 'open_order_bounds', 'fiat_sessions'],
  ...['fiat_intents', 'fiat_envelopes', 'fiat_claims', 'fiat_transitions', 'rail_transactions'],
  ...['fiat_statements', 'fiat_stated', 'fiat_differences'],
] as const;

/** Rows of one table that are named. */
const MOST_NAMED = 20;

const EVENTS = { INSERT: ['NEW'], UPDATE: ['OLD', 'NEW'], DELETE: ['OLD'] } as const;

type Column = { readonly name: string; readonly pk: number };
/** Expressions of SQL over a row. */
type Summed = { readonly table: string; readonly keyOf: RowText; readonly sumOf: RowText };
type RowText = (side: string) => string;

/** ROWSUMS-1. Does nothing in a file of a version without sums. */
export function keepRowSums(db: Database): void {
  const tables = summedTables(db);
  if (tables.length === 0) return;
  // A row that another one replaces is removed with its triggers only then.
  db.pragma('recursive_triggers = ON');
  for (const { table, keyOf, sumOf } of tables) {
    for (const [event, sides] of Object.entries(EVENTS)) {
      const remove = sides.map((side) => {
        return `DELETE FROM row_sums WHERE table_name = '${table}' AND key = ${keyOf(side)};`;
      });
      // Not REPLACE: the statement that fires a trigger decides about conflicts in it.
      const add =
        event === 'DELETE' ? '' : `INSERT INTO row_sums VALUES ('${table}', ${keyOf('NEW')}, ${sumOf('NEW')});`;
      db.exec(
        `CREATE TEMP TRIGGER IF NOT EXISTS sum_${table}_${event} AFTER ${event} ON main.${table}
         BEGIN ${remove.join(' ')} ${add} END`,
      );
    }
  }
}

/** ROWSUMS-2. Called in the transaction that makes the tables. @param version of the tables */
export function makeRowSums(db: Database, version: number): void {
  const tables = summedTables(db);
  if (tables.length === 0) return;
  db.exec('DELETE FROM row_sums');
  for (const { table, keyOf, sumOf } of tables) {
    db.exec(`INSERT INTO row_sums SELECT '${table}', ${keyOf('t')}, ${sumOf('t')} FROM ${table} AS t`);
  }
  db.prepare("INSERT INTO row_sums VALUES ('', '', ?)").run(version);
}

/**
 * The rows that are not as they were written, a line each.
 * @param mostRows rows that are looked at; tables that are left then are not
 */
export function rowsThatDiffer(db: Database, mostRows = Number.POSITIVE_INFINITY): string[] {
  const tables = summedTables(db);
  if (tables.length === 0) return [];
  const version = db.prepare<[], number>("SELECT sum FROM row_sums WHERE table_name = '' AND key = ''").pluck().get();
  if (version !== db.pragma('user_version', { simple: true })) return ['row_sums: not of these tables'];
  const count = (sql: string): number => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const lines: string[] = [];
  let left = mostRows;
  for (const { table, keyOf, sumOf } of tables) {
    const rows = count(`SELECT count(*) FROM ${table}`);
    left -= rows;
    if (left < 0) return lines;
    type Row = { readonly key: string; readonly kept: number | null };
    const differing = db.prepare<[number], Row>(
      `SELECT key, kept FROM (
         SELECT ${keyOf('t')} AS key, ${sumOf('t')} AS sum, s.sum AS kept
         FROM ${table} AS t LEFT JOIN row_sums AS s ON s.table_name = '${table}' AND s.key = ${keyOf('t')}
       ) WHERE kept IS NULL OR kept != sum LIMIT ?`,
    );
    const found = differing.all(MOST_NAMED);
    for (const { key, kept } of found) {
      lines.push(`${table} ${key}: ${kept === null ? 'written by another program' : 'not as it was written'}`);
    }
    const sums = count(`SELECT count(*) FROM row_sums WHERE table_name = '${table}'`);
    if (sums === rows && found.every(({ kept }) => kept !== null)) continue;
    const gone = db.prepare<[number], string>(
      `SELECT key FROM row_sums WHERE table_name = '${table}' EXCEPT SELECT ${keyOf('t')} FROM ${table} AS t LIMIT ?`,
    );
    for (const key of gone.pluck().all(MOST_NAMED)) lines.push(`${table} ${key}: gone`);
  }
  return lines;
}

/** Those that the file has; none in a file of a version without sums. */
function summedTables(db: Database): Summed[] {
  const names = new Set(db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all());
  if (!names.has('row_sums')) return [];
  db.function('row_sum', { deterministic: true }, (text: unknown) => crc32(text as string));
  return SUMMED.filter((table) => names.has(table)).map((table) => {
    const columns = db.prepare<[], Column>(`PRAGMA table_info(${table})`).all();
    const keys = columns.filter(({ pk }) => pk > 0);
    const text = (all: readonly Column[]) => (side: string) => {
      return all.map(({ name }) => `quote(${side}."${name}")`).join(" || ',' || ");
    };
    const whole = text(columns);
    return { table, keyOf: text(keys), sumOf: (side) => `row_sum(${whole(side)})` };
  });
}
