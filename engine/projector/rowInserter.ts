/**
 * INSERT of many rows in few statements: each run of a statement costs as much as the columns of several rows.
 * Owner: the projector thread.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';

const ROWS = 16;

export class RowInserter {
  readonly #columns: number;
  readonly #one: Database.Statement;
  readonly #many: Database.Statement;
  /** Of the rows added since the last run. */
  readonly #values: unknown[] = [];

  constructor(db: Database.Database, table: string, columns: string[]) {
    this.#columns = columns.length;
    // OR FAIL: what cannot be written ends the thread and its transaction, so SQLite need not copy every page the
    // statement touches, which it would to undo the statement alone.
    const insert = `INSERT OR FAIL INTO ${table} (${columns.join(', ')}) VALUES `;
    const row = `(${columns.map(() => '?').join(', ')})`;
    this.#one = db.prepare(insert + row);
    this.#many = db.prepare(insert + new Array(ROWS).fill(row).join(', '));
  }

  /** What is added is taken as it is at the next `flush` at the latest. */
  add(...row: readonly unknown[]): void {
    assert(row.length === this.#columns, 'projector: a row has a value for each of its columns');
    const values = this.#values;
    for (const value of row) values.push(value);
    if (values.length < ROWS * this.#columns) return;
    this.#many.run(values);
    values.length = 0;
  }

  /** After the last row. */
  flush(): void {
    const values = this.#values;
    for (let at = 0; at < values.length; at += this.#columns) this.#one.run(values.slice(at, at + this.#columns));
    values.length = 0;
  }
}
