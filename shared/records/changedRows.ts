/**
 * The keys of the rows that a follower's records have changed, so that cached rows of a large table are read again one
 * by one. Triggers of the connection note them, even for rows that SQLite deletes by itself. Owner: the thread with the
 * connection.
 */
import type { Database } from 'better-sqlite3';
import type { SqlValue } from './bytes.ts';

type RowKey = readonly SqlValue[];

/** The key columns by table. */
type KeyColumns = { readonly [table: string]: readonly string[] };

const EVENTS = { INSERT: ['NEW'], UPDATE: ['OLD', 'NEW'], DELETE: ['OLD'] } as const;

export class ChangedRows {
  readonly #database: Database;
  readonly #columns: KeyColumns;
  /** By table, then by the text of the key. */
  #rows = new Map<string, Map<string, RowKey>>();

  constructor(database: Database, columns: KeyColumns) {
    this.#database = database;
    this.#columns = columns;
    // Different keys of a table must have different texts. JSON has no text for a bigint, so no key is a bigint.
    database.function('note_changed_row', { varargs: true }, (table: string, ...key: SqlValue[]) => {
      const rows = this.#rows.get(table) ?? new Map<string, RowKey>();
      this.#rows.set(table, rows.set(JSON.stringify(key), key));
      return null;
    });
    for (const [name, sql] of this.#triggers()) database.exec(`CREATE TEMP TRIGGER ${name} ${sql}`);
  }

  /** The keys since the last call, each once, in the order of their first change. */
  take(): TakenRows {
    const rows = this.#rows;
    this.#rows = new Map();
    return new TakenRows(rows);
  }

  /** Ends the noting of rows, because the member leads. */
  stop(): void {
    for (const [name] of this.#triggers()) this.#database.exec(`DROP TRIGGER temp.${name}`);
  }

  *#triggers(): Generator<readonly [name: string, sql: string]> {
    for (const [table, columns] of Object.entries(this.#columns)) {
      for (const [event, sides] of Object.entries(EVENTS)) {
        const notes = sides.map((side) => {
          return `SELECT note_changed_row('${table}', ${columns.map((column) => `${side}.${column}`).join(', ')});`;
        });
        yield [`changed_${table}_${event}`, `AFTER ${event} ON main.${table} BEGIN ${notes.join(' ')} END`];
      }
    }
  }
}

export class TakenRows {
  readonly #rows: ReadonlyMap<string, ReadonlyMap<string, RowKey>>;

  constructor(rows: ReadonlyMap<string, ReadonlyMap<string, RowKey>>) {
    this.#rows = rows;
  }

  get tables(): readonly string[] {
    return [...this.#rows.keys()];
  }

  keysOf(table: string): readonly RowKey[] {
    return [...(this.#rows.get(table)?.values() ?? [])];
  }

  /** The keys of a table whose key is one number. */
  numbersOf(table: string): readonly number[] {
    return this.keysOf(table).map(([key]) => Number(key));
  }

  /** The keys of a table whose key is one text. */
  textsOf(table: string): readonly string[] {
    return this.keysOf(table).map(([key]) => String(key));
  }
}
