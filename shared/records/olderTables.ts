/** The tables of members of an older version; those members repeat this member's records over them (RECORDS-8). */
import type { Database } from 'better-sqlite3';
import { errorMessage } from '../base/thrown.ts';

export class OlderTables {
  readonly #empty: Database;
  readonly #known = new Set<string>();

  /** @param empty a database with these tables */
  constructor(empty: Database) {
    this.#empty = empty;
  }

  /** Throws for a statement that cannot be run over these tables. */
  requireStatement(sql: string): void {
    if (this.#known.has(sql)) return;
    try {
      this.#empty.prepare(sql);
    } catch (error) {
      const message = errorMessage(error);
      throw new Error(`RECORDS-8: the cluster has to be raised first (cluster raise): ${message}`);
    }
    this.#known.add(sql);
  }

  /** Throws if the table is not one of them. */
  requireTable(table: string): void {
    this.requireStatement(`SELECT 1 FROM ${table}`);
  }
}
