/**
 * Rows of one kind that changed since the last digest. Their parts of the digest are recomputed once, when the digest
 * is next asked for, however often the rows changed meanwhile. Owner: the shard thread. Memory grows by doubling.
 */
import { assert } from '../../shared/base/assert.ts';
import { extend } from './columns.ts';

const FIRST_ROWS = 64;
/** A small number, for the same reason as INITIAL_ROW_BYTES (journal/row.ts). */
const FIRST_LISTED = 8;

export class DirtyRows {
  count = 0;
  /** The first `count` entries are dirty, in order of their first change. */
  rows = new Int32Array(FIRST_LISTED);
  #isDirty = new Uint8Array(FIRST_ROWS);

  mark(row: number): void {
    if (row < this.#isDirty.length && this.#isDirty[row] !== 0) return;
    this.#add(row);
  }

  clear(): void {
    for (let i = 0; i < this.count; i++) this.#isDirty[this.rows[i]] = 0;
    this.count = 0;
  }

  #add(row: number): void {
    assert(row >= 0, 'dirty rows: a row is an index');
    assert(this.count <= this.#isDirty.length, 'dirty rows: a row is listed once');
    if (row >= this.#isDirty.length) {
      let n = this.#isDirty.length * 2;
      while (n <= row) n *= 2;
      this.#isDirty = extend(this.#isDirty, new Uint8Array(n));
    }
    if (this.count === this.rows.length) this.rows = extend(this.rows, new Int32Array(this.count * 2));
    this.#isDirty[row] = 1;
    this.rows[this.count++] = row;
  }
}
