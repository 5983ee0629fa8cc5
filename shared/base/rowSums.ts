/**
 * A checksum of each row of control.db on which money or access depends. SQLite notices an invalid page, but not a
 * changed byte inside of a row. Checksums reveal this, with the name of the row, and also missing rows and rows that no
 * program of ours has written. They protect against bad disks and stray tools, not against an attacker who knows them.
 *
 * Invariants:
 *   ROWSUMS-1  The checksum of a row is written in the transaction that writes the row, by triggers of the connection:
 *              every connection that writes control.db has them.
 *   ROWSUMS-2  When the tables are migrated to another version, all checksums are computed again, after a check of the
 *              old ones.
 */
import { crc32 } from 'node:zlib';
import type { Database } from 'better-sqlite3';

/** All tables except those with momentary content, such as who is online, and those that follow from the journals. */
const SUMMED = [
  ...['platform', 'users', 'wallets', 'grants', 'operators', 'approvals', 'account_states', 'account_exits'],
  ...['identities', 'api_keys', 'session_keys', 'events', 'markets', 'deployments', 'movements', 'order_groups'],
  ...['rebate_rates', 'nonce_floors', 'gaming_preferences', 'trading_timeouts', 'open_order_bounds', 'fiat_sessions'],
  ...['fiat_intents', 'fiat_envelopes', 'fiat_claims', 'fiat_transitions', 'rail_transactions'],
  ...['fiat_statements', 'fiat_stated', 'fiat_differences'],
] as const;

/** The number of rows of one table that are named. */
const MOST_NAMED = 20;

const EVENTS = { INSERT: ['NEW'], UPDATE: ['OLD', 'NEW'], DELETE: ['OLD'] } as const;

type Column = { readonly name: string; readonly pk: number };
/** SQL expressions over a row. */
type Summed = { readonly table: string; readonly keyOf: RowText; readonly sumOf: RowText };
type RowText = (side: string) => string;

/** ROWSUMS-1. Does nothing if the file's version has no checksums. */
export function keepRowSums(db: Database): void {
  const tables = summedTables(db);
  if (tables.length === 0) return;
  // Only with this setting do triggers fire for a row that is removed because another replaces it.
  db.pragma('recursive_triggers = ON');
  for (const { table, keyOf, sumOf } of tables) {
    for (const [event, sides] of Object.entries(EVENTS)) {
      const remove = sides.map((side) => {
        return `DELETE FROM row_sums WHERE table_name = '${table}' AND key = ${keyOf(side)};`;
      });
      // Not REPLACE, because the statement that fires a trigger decides about conflicts inside the trigger.
      const add =
        event === 'DELETE' ? '' : `INSERT INTO row_sums VALUES ('${table}', ${keyOf('NEW')}, ${sumOf('NEW')});`;
      db.exec(
        `CREATE TEMP TRIGGER IF NOT EXISTS sum_${table}_${event} AFTER ${event} ON main.${table}
         BEGIN ${remove.join(' ')} ${add} END`,
      );
    }
  }
}

/** ROWSUMS-2. Called in the transaction that migrates the tables. @param version the version of the tables */
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
 * The rows that differ from what was written, one line each.
 * @param mostRows the number of rows that are checked; further rows are not
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

/** The tables that the file has; empty if the file's version has no checksums. */
function summedTables(db: Database): Summed[] {
  const names = new Set(db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all());
  if (!names.has('row_sums')) return [];
  db.function('row_sum', { deterministic: true }, (text: string) => crc32(text));
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
