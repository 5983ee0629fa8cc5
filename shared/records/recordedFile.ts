/**
 * A SQLite file whose changes are records of the replicated log: what one member writes, the others write again.
 * Owner: the thread with the connection.
 *
 *   leads     statement ──► file ──┬─ commit ──► put(record) ──► log
 *                                  └─ record_end and record_queue, in the same transaction
 *   follows   log ──► apply(record) ──► the same statements, in one transaction ──► which rows are other ones
 *
 * Without a cluster there is none of this: the stores have the plain connection.
 *
 * Invariants:
 *   RECORDS-1  A transaction is one record, with the next sequence, or none where it changed local rows only. The file
 *              knows the sequence in the same transaction, so its end is the end of what it contains.
 *   RECORDS-2  A record that the log may not have is in the queue. Who leads puts it again after a restart.
 *   RECORDS-3  A follower changes recorded rows by records only, each once, in order. One that does not follow from its
 *              last record, or changes another number of rows than it did where it was made, is refused and changes
 *              nothing.
 *   RECORDS-4  A record is put in the turn of its commit, so it is in the log before anything that follows from it.
 *   RECORDS-5  A record of the queue can be taken back by what the file keeps with it (undo.ts), before any store has
 *              opened the file: a start does so with those that the log never held. A file that has another record
 *              than the log all the same is refused.
 */
import { readFileSync } from 'node:fs';
import type { Database, Statement as SqliteStatement } from 'better-sqlite3';
import { assert } from '../base/assert.ts';
import { RecordError, type SqlValue } from './bytes.ts';
import type { RecordLog } from './heldLog.ts';
import {
  decodeStatements,
  encodeStatements,
  linkAfter,
  NO_LINK,
  parameterNames,
  type Statement,
  writtenTable,
} from './statements.ts';
import { RecordUndo } from './undo.ts';

/** The part of a connection that stores use. */
export type StoreDatabase = Pick<Database, 'prepare' | 'inTransaction'> & {
  pragma(source: string, options?: { simple?: boolean }): unknown;
  exec(sql: string): unknown;
  close(): unknown;
  transaction<A extends unknown[], R>(body: (...values: A) => R): (...values: A) => R;
  /** The member follows another one: its stores write nothing of their own accord. */
  readonly isFollowing?: boolean;
};

export type FileRecord = { readonly sequence: number; readonly bytes: Uint8Array };

type RecordedFileOptions = {
  readonly database: Database;
  readonly isFollowing: boolean;
  /** True for the rows that each member keeps for itself. @param first the first value of the statement */
  readonly isLocal: (table: string, first: unknown) => boolean;
};

type EndRow = { sequence: number; link: Uint8Array };

const SCHEMA_URL = new URL('../../data/schema/records.sql', import.meta.url);
/** Statements that a follower keeps prepared: the stores have a few hundred. */
const MOST_PREPARED = 1000;

export class RecordedFile {
  /** For the stores. */
  readonly database: StoreDatabase;
  readonly #raw: Database;
  readonly #isLocal: RecordedFileOptions['isLocal'];
  #isFollowing: boolean;
  #log: RecordLog | null = null;
  #end: EndRow;
  /** The last record that is known to be the one of the log. */
  #shared: number;
  /** Of the transaction that is open. */
  #statements: Statement[] = [];
  /** Null while another member leads. */
  #undo: RecordUndo | null = null;
  readonly #prepared = new Map<string, SqliteStatement>();
  readonly #countChanges;
  readonly #setEnd;
  readonly #enqueue;
  readonly #dequeue;
  readonly #queued;
  readonly #addUndo;
  readonly #forgetUndo;

  constructor({ database, isFollowing, isLocal }: RecordedFileOptions) {
    this.#raw = database;
    this.#isLocal = isLocal;
    this.#isFollowing = isFollowing;
    database.exec(readFileSync(SCHEMA_URL, 'utf8'));
    this.#countChanges = database.prepare<[], number>('SELECT changes()').pluck();
    this.#setEnd = database.prepare<[number, Uint8Array]>('INSERT OR REPLACE INTO record_end VALUES (0, ?, ?)');
    this.#enqueue = database.prepare<[number, Uint8Array]>('INSERT INTO record_queue VALUES (?, ?)');
    this.#dequeue = database.prepare<[number]>('DELETE FROM record_queue WHERE sequence <= ?');
    this.#queued = database.prepare<[number], Uint8Array>('SELECT bytes FROM record_queue WHERE sequence = ?').pluck();
    this.#addUndo = database.prepare<[number, Uint8Array]>('INSERT OR REPLACE INTO record_undo VALUES (?, ?)');
    this.#forgetUndo = database.prepare<[number]>('DELETE FROM record_undo WHERE sequence <= ?');
    const end = database.prepare<[], EndRow>('SELECT sequence, link FROM record_end').get();
    this.#end = end ?? { sequence: 0, link: NO_LINK };
    this.#shared = (this.queue()[0]?.sequence ?? this.#end.sequence + 1) - 1;
    this.database = new RecordedDatabase(this, database);
  }

  /** The last record that the file contains. */
  get sequence(): number {
    return this.#end.sequence;
  }

  /** A follower has the records of the log up to this one; later ones of its own may be others. */
  get sharedSequence(): number {
    return this.#shared;
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** The records that the log may not have, oldest first (RECORDS-2). */
  queue(): FileRecord[] {
    return this.#raw.prepare<[], FileRecord>('SELECT sequence, bytes FROM record_queue ORDER BY sequence').all();
  }

  /** From now on records of another member come. */
  follow(): void {
    assert(this.#log === null, 'RECORDS-3: a member that has led does not follow');
    this.#isFollowing = true;
  }

  /** From now on this member leads: the queue is put into the log, then each new record. */
  lead(log: RecordLog): void {
    this.#isFollowing = false;
    this.#log = log;
    this.#undo = new RecordUndo(this.#raw, this.#isLocal);
    for (const { sequence, bytes } of this.queue()) if (sequence > log.held()) log.put(sequence, bytes);
  }

  /**
   * RECORDS-3. A record that the file contains already changes nothing. Not synced by itself: the caller decides.
   * @returns the tables of its statements.
   */
  apply({ sequence, bytes }: FileRecord): ReadonlySet<string> {
    assert(this.#isFollowing, 'RECORDS-3: only a follower takes the records of others');
    const tables = new Set<string>();
    if (sequence <= this.sequence) {
      this.#requireSame(sequence, bytes);
      this.#shared = Math.max(this.#shared, sequence);
      return tables;
    }
    if (sequence !== this.sequence + 1) throw new RecordError(`record ${sequence} came after ${this.sequence}`);
    const { link, statements } = decodeStatements(bytes);
    if (Buffer.compare(link, this.#end.link) !== 0) {
      throw new RecordError(`record ${sequence} does not follow from what is in the file`);
    }
    const end = { sequence, link: linkAfter(bytes) };
    this.#raw.transaction(() => {
      for (const statement of statements) {
        this.#repeat(sequence, statement);
        tables.add(writtenTable(statement.sql));
      }
      this.#setEnd.run(end.sequence, end.link);
    })();
    this.#end = end;
    this.#shared = sequence;
    return tables;
  }

  /** One transaction, and its record (RECORDS-1). Inside of another one it is a part of that. */
  transact<R>(body: () => R): R {
    if (this.#raw.inTransaction) return this.#nested(body);
    const { result, record } = this.#commit(body);
    if (record !== null) this.#log?.put(record.sequence, record.bytes);
    return result;
  }

  /** Runs a writing statement, and records it unless it is local. @param run runs it, and returns its result. */
  write<R>(sql: string, values: readonly SqlValue[], table: string, run: () => R): R {
    if (this.#isLocal(table, values[0])) return run();
    assert(!this.#isFollowing, 'RECORDS-3: who follows writes nothing of its own accord');
    return this.transact(() => {
      const result = run();
      this.#statements.push({ sql, values, changes: this.#countChanges.get()! });
      return result;
    });
  }

  #commit<R>(body: () => R): { readonly result: R; readonly record: FileRecord | null } {
    const end = this.#end;
    try {
      return this.#raw.transaction(() => {
        const result = body();
        return { result, record: this.#seal() };
      })();
    } catch (error) {
      this.#end = end;
      throw error;
    } finally {
      this.#statements = [];
      this.#undo?.keepFirst(0);
    }
  }

  #nested<R>(body: () => R): R {
    const before = this.#statements.length;
    const undoBefore = this.#undo?.length ?? 0;
    try {
      return this.#raw.transaction(body)();
    } catch (error) {
      this.#statements.length = before;
      this.#undo?.keepFirst(undoBefore);
      throw error;
    }
  }

  #seal(): FileRecord | null {
    if (this.#statements.length === 0) return null;
    const bytes = encodeStatements({ link: this.#end.link, statements: this.#statements });
    const end = { sequence: this.#end.sequence + 1, link: linkAfter(bytes) };
    const held = this.#log?.held() ?? 0;
    this.#dequeue.run(held);
    this.#enqueue.run(end.sequence, bytes);
    if (this.#undo !== null) this.#keepUndo(held, end.sequence, this.#undo.take());
    this.#setEnd.run(end.sequence, end.link);
    this.#end = end;
    return { sequence: end.sequence, bytes };
  }

  #keepUndo(held: number, sequence: number, bytes: Uint8Array): void {
    this.#forgetUndo.run(held);
    this.#addUndo.run(sequence, bytes);
  }

  /** RECORDS-5 */
  #requireSame(sequence: number, bytes: Uint8Array): void {
    const own = this.#queued.get(sequence);
    if (own === undefined || Buffer.compare(own, bytes) === 0) return;
    throw new RecordError(`record ${sequence} is another one in this file, which the log never held`);
  }

  #repeat(sequence: number, { sql, values, changes }: Statement): void {
    const names = parameterNames(sql);
    const bound = names.length === 0 ? values : [Object.fromEntries(names.map((name, at) => [name, values[at]]))];
    const statement = this.#prepare(sql);
    if (statement.reader) statement.all(...bound);
    else statement.run(...bound);
    const changed = this.#countChanges.get()!;
    if (changed === changes) return;
    throw new RecordError(`record ${sequence} changed ${changed} rows, and ${changes} where it was made: ${sql}`);
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      if (this.#prepared.size >= MOST_PREPARED) this.#prepared.clear();
      statement = this.#raw.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** The connection as stores see it: statements that only read are those of the connection itself. */
class RecordedDatabase implements StoreDatabase {
  readonly #file: RecordedFile;
  readonly #raw: Database;
  readonly prepare: Database['prepare'];

  constructor(file: RecordedFile, raw: Database) {
    this.#file = file;
    this.#raw = raw;
    this.prepare = ((sql: string) => {
      const statement = raw.prepare(sql);
      return statement.readonly ? statement : new RecordedStatement(file, statement, sql);
    }) as unknown as Database['prepare'];
  }

  get isFollowing(): boolean {
    return this.#file.isFollowing;
  }

  get inTransaction(): boolean {
    return this.#raw.inTransaction;
  }

  transaction<A extends unknown[], R>(body: (...values: A) => R): (...values: A) => R {
    return (...values) => this.#file.transact(() => body(...values));
  }

  pragma(source: string, options?: { simple?: boolean }): unknown {
    return this.#raw.pragma(source, options);
  }

  /** Not recorded: stores write by statements. */
  exec(sql: string): void {
    this.#raw.exec(sql);
  }

  close(): void {
    this.#raw.close();
  }
}

class RecordedStatement {
  readonly #file: RecordedFile;
  readonly #statement: SqliteStatement;
  readonly #sql: string;
  readonly #table: string;
  readonly #names: readonly string[];

  constructor(file: RecordedFile, statement: SqliteStatement, sql: string) {
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
