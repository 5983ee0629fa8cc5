/**
 * INSERT of many rows in few statements: each run of a statement costs as much as the columns of several rows. Values
 * are arguments of the run, not an array in one: better-sqlite3 would ask V8 for each element of it.
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
/** Copies the values of a row into the array, from an index on. */
type Put<T extends Table> = (row: NewRowOf<T>, values: unknown[], at: number) => void;
/** A row that cannot be written ends the thread and its transaction, so SQLite need not undo the statement alone. */
const CONFLICT = 'OR FAIL';

export class RowInserter<T extends Table> {
  /** The number of values of a row. */
  readonly #width: number;
  readonly #put: Put<T>;
  readonly #one: Database.Statement;
  readonly #many: Database.Statement;
  /** The values of the rows that wait, one row after the other; the array has the length of a full run. */
  readonly #values: unknown[];
  /** The number of values in it that belong to waiting rows. */
  #count = 0;

  constructor(db: Database.Database, table: T, conflict = CONFLICT) {
    assert(ROWS_PER_RUN * table.inserted.length <= MOST_VALUES, 'INSERTER-1: a run has room for every value');
    this.#width = table.inserted.length;
    this.#put = putOf(table);
    this.#values = new Array(ROWS_PER_RUN * table.inserted.length).fill(null);
    this.#one = db.prepare(insertMany(table, 1, conflict));
    this.#many = db.prepare(insertMany(table, ROWS_PER_RUN, conflict));
  }

  /** Bytes in the row must not change before the next `flush`, or before ROWS_PER_RUN more rows are added. */
  add(row: NewRowOf<T>): void {
    const values = this.#values;
    this.#put(row, values, this.#count);
    const at = this.#count + this.#width;
    this.#count = at;
    if (at < values.length) return;
    assert(at === values.length, 'INSERTER-1: only whole rows wait');
    this.#many.run(...values);
    this.#count = 0;
  }

  /** After the last row. */
  flush(): void {
    const width = this.#width;
    for (let at = 0; at < this.#count; at += width) this.#one.run(...this.#values.slice(at, at + width));
    this.#count = 0;
  }
}

/**
 * A function of its own for each table, made from its declaration: V8 then knows where the rows of this table have each
 * column. In a loop over the names of all tables' columns it would look up every one: 147 ns for a row instead of 25,
 * of the 850 that a trade costs with SQLite. Its text has nothing but the names of columns as they are declared, and it
 * gets what a row has as values, so no text of a client is ever compiled.
 */
function putOf<T extends Table>({ inserted }: T): Put<T> {
  const lines = inserted.map((column, index) => `values[at + ${index}] = row.${column};`);
  return new Function('row', 'values', 'at', lines.join('\n')) as Put<T>;
}
