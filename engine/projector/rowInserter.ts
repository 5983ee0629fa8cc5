/**
 * INSERT of many rows in few statements: each run of a statement costs as much as the columns of several rows.
 * Owner: the projector thread.
 *
 * Invariant:
 *   INSERTER-1  A run of the large statement writes exactly ROWS_PER_RUN rows; fewer wait for the rows after them or
 *               for `flush`, which leaves none.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { insertMany, type NewRowOf, type Table } from '../../shared/tables/table.ts';

export const ROWS_PER_RUN = 16;
/** SQLITE_MAX_VARIABLE_NUMBER. */
const MOST_VALUES = 32_766;
/** In place of a row with the same key. */
export const REPLACE = 'OR REPLACE';
/** A row that cannot be written ends the thread and its transaction, so SQLite need not undo the statement alone. */
const CONFLICT = 'OR FAIL';

export class RowInserter<T extends Table> {
  readonly #columns: readonly (keyof NewRowOf<T>)[];
  readonly #one: Database.Statement;
  readonly #many: Database.Statement;
  /** The values of the rows that wait, one row after the other; the array has the length of a full run. */
  readonly #values: unknown[];
  /** The number of values in it that belong to waiting rows. */
  #count = 0;

  constructor(db: Database.Database, table: T, conflict = CONFLICT) {
    assert(ROWS_PER_RUN * table.inserted.length <= MOST_VALUES, 'INSERTER-1: a run has room for every value');
    this.#columns = table.inserted as readonly (keyof NewRowOf<T>)[];
    this.#values = new Array(ROWS_PER_RUN * table.inserted.length).fill(null);
    this.#one = db.prepare(insertMany(table, 1, conflict));
    this.#many = db.prepare(insertMany(table, ROWS_PER_RUN, conflict));
  }

  /** Bytes in the row must not change before the next `flush`, or before ROWS_PER_RUN more rows are added. */
  add(row: NewRowOf<T>): void {
    const values = this.#values;
    const columns = this.#columns;
    let at = this.#count;
    for (let i = 0; i < columns.length; i++) values[at++] = row[columns[i]];
    this.#count = at;
    if (at < values.length) return;
    assert(at === values.length, 'INSERTER-1: only whole rows wait');
    this.#many.run(values);
    this.#count = 0;
  }

  /** After the last row. */
  flush(): void {
    const { length } = this.#columns;
    for (let at = 0; at < this.#count; at += length) this.#one.run(this.#values.slice(at, at + length));
    this.#count = 0;
  }
}
