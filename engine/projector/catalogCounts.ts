/**
 * A table of exact counts: how many rows there are of each key. A key without rows has no count. Owner: the projector
 * thread.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import type { Table } from '../../shared/tables/table.ts';

type Key = readonly (string | number)[];

export class Counts {
  readonly #add: Database.Statement<Key[]>;
  readonly #subtract: Database.Statement<Key[], number>;
  readonly #drop: Database.Statement<Key[]>;

  /** @param table whose last column is the count, and all others are its primary key */
  constructor(db: Database.Database, table: Table) {
    const columns = Object.keys(table.columns);
    const count = columns.at(-1)!;
    const key = columns.slice(0, -1);
    const isKey = key.map((column) => `${column} = ?`).join(' AND ');
    this.#add = db.prepare(
      `INSERT INTO ${table.name} VALUES (${key.map(() => '?').join(', ')}, 1)
       ON CONFLICT DO UPDATE SET ${count} = ${count} + 1`,
    );
    this.#subtract = db
      .prepare<Key[], number>(`UPDATE ${table.name} SET ${count} = ${count} - 1 WHERE ${isKey} RETURNING ${count}`)
      .pluck();
    this.#drop = db.prepare(`DELETE FROM ${table.name} WHERE ${isKey}`);
  }

  add(key: Key): void {
    this.#add.run(key);
  }

  subtract(key: Key): void {
    const left = this.#subtract.get(key);
    assert(left !== undefined, 'catalog counts: what is subtracted was added');
    if (left === 0) this.#drop.run(key);
  }
}
