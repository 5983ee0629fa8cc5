/**
 * The connection of a SQLite file whose changes are records, as stores see it: their writes go through the recorder
 * (recordedFile.ts), their reads do not.
 */
import type { Database, Statement as SqliteStatement } from 'better-sqlite3';
import type { SqlValue } from './bytes.ts';
import { parameterNames, withColumns, writtenTable } from './statements.ts';

/** The part of a connection that stores use. */
export type StoreDatabase = Pick<Database, 'prepare' | 'inTransaction' | 'readonly'> & {
  pragma(source: string, options?: { simple?: boolean }): unknown;
  exec(sql: string): unknown;
  close(): unknown;
  transaction<A extends unknown[], R>(body: (...values: A) => R): (...values: A) => R;
  /** True while the member follows a leader: then its stores write nothing by themselves. */
  readonly isFollowing?: boolean;
};

type Recorder = {
  readonly isFollowing: boolean;
  transact<R>(body: () => R): R;
  /** Runs a writing statement, and records it. @param run runs it, and returns its result. */
  write<R>(sql: string, values: readonly SqlValue[], table: string, run: () => R): R;
};

/** The connection as stores see it: statements that only read are the connection's own. */
export class RecordedDatabase implements StoreDatabase {
  readonly #file: Recorder;
  readonly #raw: Database;
  readonly prepare: Database['prepare'];

  constructor(file: Recorder, raw: Database) {
    this.#file = file;
    this.#raw = raw;
    const columnsOf = (table: string): readonly string[] =>
      raw
        .prepare<[], { name: string }>(`PRAGMA table_info(${table})`)
        .all()
        .map(({ name }) => name);
    this.prepare = ((sql: string) => {
      const statement = raw.prepare(sql);
      if (statement.readonly) return statement;
      return new RecordedStatement(file, statement, withColumns(sql, columnsOf));
    }) as unknown as Database['prepare'];
  }

  get isFollowing(): boolean {
    return this.#file.isFollowing;
  }

  get inTransaction(): boolean {
    return this.#raw.inTransaction;
  }

  get readonly(): boolean {
    return this.#raw.readonly;
  }

  transaction<A extends unknown[], R>(body: (...values: A) => R): (...values: A) => R {
    return (...values) => this.#file.transact(() => body(...values));
  }

  pragma(source: string, options?: { simple?: boolean }): unknown {
    return this.#raw.pragma(source, options);
  }

  /** Not recorded; stores write by statements. */
  exec(sql: string): void {
    this.#raw.exec(sql);
  }

  close(): void {
    this.#raw.close();
  }
}

class RecordedStatement {
  readonly #file: Recorder;
  readonly #statement: SqliteStatement;
  readonly #sql: string;
  readonly #table: string;
  readonly #names: readonly string[];

  constructor(file: Recorder, statement: SqliteStatement, sql: string) {
    this.#file = file;
    this.#statement = statement;
    this.#sql = sql;
    this.#table = writtenTable(sql);
    this.#names = parameterNames(sql);
  }

  pluck(): this {
    this.#statement.pluck();
    return this;
  }

  run(...values: unknown[]): unknown {
    return this.#write(values, () => this.#statement.run(...values));
  }

  get(...values: unknown[]): unknown {
    return this.#write(values, () => this.#statement.get(...values));
  }

  all(...values: unknown[]): unknown {
    return this.#write(values, () => this.#statement.all(...values));
  }

  #write(values: readonly unknown[], run: () => unknown): unknown {
    return this.#file.write(this.#sql, this.#bound(values), this.#table, run);
  }

  #bound(values: readonly unknown[]): readonly SqlValue[] {
    if (this.#names.length === 0) return values as readonly SqlValue[];
    const named = values[0] as { readonly [name: string]: SqlValue };
    return this.#names.map((name) => named[name] ?? null);
  }
}
