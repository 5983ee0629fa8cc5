/**
 * The undo of records: statements that revert the rows that a record has written, in case the log never holds it. On a
 * leader, triggers of the connection note them, even for rows that SQLite removes by itself. They are stored in the
 * file, in the transaction of the record, until the log is known to hold the record. Owner: the thread with the
 * connection.
 *
 * Invariants:
 *   UNDO-1  The statements of an undo restore every recorded row, and the counter of each table, as they were before
 *           the record. They are run in the reverse order of the writes.
 *   UNDO-2  Records are undone only together with all later ones, the last one first, in one transaction that also sets
 *           the end of the file.
 */
import type { Database } from 'better-sqlite3';
import { RecordError, type SqlValue } from './bytes.ts';
import { decodeStatements, encodeStatements, NO_LINK, type Statement } from './statements.ts';

/** The statement that a trigger notes, with columns of its row as values. */
type Noted = { readonly table: string; readonly sql: string };
type Column = { readonly name: string; readonly type: string; readonly pk: number };

const EVENTS = ['INSERT', 'UPDATE', 'DELETE'] as const;

export class RecordUndo {
  readonly #database: Database;
  readonly #isLocal: (table: string, first: unknown) => boolean;
  readonly #noted: Noted[] = [];
  /** The statements of the open transaction, in the order in which rows were written. */
  #statements: Statement[] = [];

  constructor(database: Database, isLocal: (table: string, first: unknown) => boolean) {
    this.#database = database;
    this.#isLocal = isLocal;
    // Only with this setting do triggers fire for a row that is removed because another replaces it.
    database.pragma('recursive_triggers = ON');
    const options = { varargs: true, safeIntegers: true };
    database.function('note_undo', options, (at: bigint, first: unknown, ...values: SqlValue[]) => {
      this.#note(this.#noted[Number(at)], first, values);
      return null;
    });
    const tables = database.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    for (const table of tables) if (!table.startsWith('sqlite_') && !isLocal(table, undefined)) this.#watch(table);
  }

  /** The number of statements so far in the open transaction. */
  get length(): number {
    return this.#statements.length;
  }

  /** Called after a part of the transaction was rolled back. */
  keepFirst(length: number): void {
    this.#statements.length = length;
  }

  /** UNDO-1. Returns the undo of the transaction, and begins the next one. */
  take(): Uint8Array {
    const statements = this.#statements.toReversed();
    this.#statements = [];
    return encodeStatements({ link: NO_LINK, statements });
  }

  #note({ table, sql }: Noted, first: unknown, values: readonly SqlValue[]): void {
    if (!this.#isLocal(table, first)) this.#statements.push({ sql, values, changes: 1 });
  }

  #watch(table: string): void {
    const columns = this.#database.prepare<[], Column>(`PRAGMA table_info(${table})`).all();
    const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
    const names = columns.map(({ name }) => name);
    const schema = this.#database.prepare<[string], string>('SELECT sql FROM sqlite_master WHERE name = ?').pluck();
    const sql = schema.get(table)!;
    const hasRowid = !/WITHOUT\s+ROWID/i.test(sql);
    const isRowidNamed = keys.length === 1 && columns.find(({ pk }) => pk > 0)?.type.toUpperCase() === 'INTEGER';
    const key = hasRowid ? ['rowid'] : keys;
    const all = hasRowid && !isRowidNamed ? ['rowid', ...names] : names;
    const where = key.map((name) => `${name} IS ?`).join(' AND ');
    const first = names[0];
    const note = (statement: string, side: string, values: readonly string[]): string => {
      const at = this.#noted.push({ table, sql: statement }) - 1;
      return `SELECT note_undo(${[at, `${side}.${first}`, ...values].join(', ')})`;
    };
    const of = (side: string, columnsOf: readonly string[]): string[] => columnsOf.map((name) => `${side}.${name}`);
    const bodies = {
      INSERT: note(`DELETE FROM ${table} WHERE ${where}`, 'NEW', of('NEW', key)),
      UPDATE: note(`UPDATE ${table} SET ${all.map((name) => `${name} = ?`).join(', ')} WHERE ${where}`, 'OLD', [
        ...of('OLD', all),
        ...of('NEW', key),
      ]),
      DELETE: note(
        `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`,
        'OLD',
        of('OLD', all),
      ),
    };
    for (const event of EVENTS) this.#trigger(`undo_${table}_${event}`, `AFTER ${event}`, table, bodies[event]);
    if (/AUTOINCREMENT/i.test(sql)) this.#watchCounter(table, note);
  }

  /** The counter has its old value only until the first row is written, and does not exist at first. */
  #watchCounter(table: string, note: (statement: string, side: string, values: readonly string[]) => string): void {
    const remove = note('DELETE FROM sqlite_sequence WHERE name = ?', 'NEW', [`'${table}'`]);
    const put = note('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', 'NEW', [`'${table}'`, 'seq']);
    const counted = `${put} FROM sqlite_sequence WHERE name = '${table}'`;
    this.#trigger(`undo_${table}_counter`, 'BEFORE INSERT', table, `${counted}; ${remove}`);
  }

  #trigger(name: string, when: string, table: string, body: string): void {
    this.#database.exec(`CREATE TEMP TRIGGER ${name} ${when} ON main.${table} BEGIN ${body}; END`);
  }
}

/** UNDO-2. Throws a RecordError, and changes nothing, if the file lacks the undo of a record. */
export function takeBack(database: Database, from: number): void {
  // A row may be restored before the row to which it refers; in the end all of them are there.
  database.pragma('foreign_keys = OFF');
  try {
    database.transaction(() => takeBackAll(database, from)).immediate();
  } finally {
    database.pragma('foreign_keys = ON');
  }
}

function takeBackAll(database: Database, from: number): void {
  type Kept = { readonly sequence: number; readonly bytes: Uint8Array; readonly undo: Uint8Array | null };
  const select = database.prepare<[number], Kept>(
    `SELECT sequence, record_queue.bytes, record_undo.bytes AS undo
     FROM record_queue LEFT JOIN record_undo USING (sequence) WHERE sequence >= ? ORDER BY sequence DESC`,
  );
  for (const { sequence, bytes, undo } of select.all(from)) {
    if (undo === null) throw new RecordError(`record ${sequence} cannot be taken back: its undo is not in the file`);
    for (const { sql, values } of decodeStatements(undo).statements) database.prepare(sql).run(...values);
    const { link } = decodeStatements(bytes);
    database.prepare('INSERT OR REPLACE INTO record_end VALUES (0, ?, ?)').run(sequence - 1, link);
  }
  database.prepare('DELETE FROM record_queue WHERE sequence >= ?').run(from);
  database.prepare('DELETE FROM record_undo WHERE sequence >= ?').run(from);
}
