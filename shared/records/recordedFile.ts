/**
 * A SQLite file whose changes are records of the replicated log: the other members repeat the writes of the leader.
 * Owner: the thread with the connection.
 *
 *   leads     statement ──► file ──┬─ commit ──► put(record) ──► log
 *                                  └─ record_end and record_queue, in the same transaction
 *   follows   log ──► apply(record) ──► the same statements, in one transaction ──► which rows have changed
 *
 * Without a cluster none of this exists: the stores use the plain connection.
 *
 * Invariants:
 *   RECORDS-1  A transaction is one record, with the next sequence number, or no record if it changed only local rows.
 *              The same transaction writes this number into the file, so the file's end and its contents agree.
 *   RECORDS-2  A record that the log may lack is in the queue. After a restart the leader puts it into the log again.
 *   RECORDS-3  A follower changes recorded rows only by records, each once, in order. A record that does not follow
 *              from the last one, or that changes a different number of rows than at its origin, is refused and changes
 *              nothing.
 *   RECORDS-4  A record is put into the log in the same turn as its commit, so it is in the log before anything that
 *              depends on it.
 *   RECORDS-5  Until a store has opened the file, a record in the queue can be undone with the statements that the file
 *              keeps for this (undo.ts): a start undoes the records that the log never held. If a record of the file
 *              still differs from the log's, the file is refused.
 *   RECORDS-6  After `leadHeld` a record is in the file only once the log holds it: the file is never ahead of the log,
 *              its queue is empty, and nothing in it is ever undone.
 *   RECORDS-7  Derived rows follow from the values in the record and from data that every member has: the rows are in
 *              no record, and each member must derive the same number of them.
 *   RECORDS-8  A statement of a record names its columns. In a lead with older tables than this file's, no record has a
 *              statement that those tables do not support, because members of an older version must repeat it and
 *              derive as many rows. Such a statement is refused, with its whole transaction.
 */
import { readFileSync } from 'node:fs';
import type { Database, Statement as SqliteStatement } from 'better-sqlite3';
import { assert } from '../base/assert.ts';
import { prepared } from '../base/prepared.ts';
import { RecordError, type SqlValue } from './bytes.ts';
import type { RecordLog } from './heldLog.ts';
import type { OlderTables } from './olderTables.ts';
import { RecordedDatabase, type StoreDatabase } from './recordedDatabase.ts';
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

export type FileRecord = { readonly sequence: number; readonly bytes: Uint8Array };

type RecordedFileOptions = {
  readonly database: Database;
  readonly isFollowing: boolean;
  /** Returns true for rows that each member keeps for itself. @param first the first value of the statement */
  readonly isLocal: (table: string, first: unknown) => boolean;
  /** RECORDS-7. Writes the rows that follow from these values; called in the transaction of the record. */
  readonly derive?: (values: readonly SqlValue[]) => void;
  /** Returns true for tables whose rows may be derived. */
  readonly mayDerive?: (table: string) => boolean;
};

type EndRow = { sequence: number; link: Uint8Array };

const SCHEMA_URL = new URL('../../data/schema/records.sql', import.meta.url);
/** Stands in place of the SQL of derived rows. */
const DERIVED = 'DERIVED';
/** The number of statements that a follower keeps prepared: the stores have a few hundred. */
const MOST_PREPARED = 1000;

/** RECORDS-7. The values from which a record derives rows, in the record's order. */
export function derivedValues({ bytes }: FileRecord): readonly (readonly SqlValue[])[] {
  return decodeStatements(bytes).statements.flatMap(({ sql, values }) => (sql === DERIVED ? [values] : []));
}

export class RecordedFile {
  /** The connection for the stores. */
  readonly database: StoreDatabase;
  readonly #raw: Database;
  readonly #isLocal: RecordedFileOptions['isLocal'];
  readonly #derive: RecordedFileOptions['derive'];
  readonly #mayDerive: RecordedFileOptions['mayDerive'];
  #isFollowing: boolean;
  #log: RecordLog | null = null;
  /** RECORDS-8. Null for a lead with the same tables as this file. */
  #older: OlderTables | null = null;
  /** RECORDS-6. Returns once the log holds the record. */
  #hold: ((record: FileRecord) => void) | null = null;
  /** The number of rows changed since the present derivation began; null outside of one. */
  #derivedChanges: number | null = null;
  #end: EndRow;
  /** The last record that is known to equal the log's. */
  #shared: number;
  /** True while a transaction of this file is open. */
  #isOpen = false;
  /** The statements of the open transaction. */
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

  constructor({ database, isFollowing, isLocal, derive, mayDerive }: RecordedFileOptions) {
    this.#raw = database;
    this.#isLocal = isLocal;
    this.#derive = derive;
    this.#mayDerive = mayDerive;
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

  /** The file agrees with the log up to this record; later records of its own may differ. */
  get sharedSequence(): number {
    return this.#shared;
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** The records that the log may lack, oldest first (RECORDS-2). */
  queue(): FileRecord[] {
    return prepared<[], FileRecord>(this.#raw, 'SELECT sequence, bytes FROM record_queue ORDER BY sequence').all();
  }

  /** From now on this member applies the records of another member. */
  follow(): void {
    assert(this.#log === null, 'RECORDS-3: a member that has led does not follow');
    this.#isFollowing = true;
  }

  /**
   * From now on this member leads: it puts the queue into the log, then each new record.
   * @param older RECORDS-8; null if the lead has the same tables as this file
   */
  lead(log: RecordLog, older: OlderTables | null = null): void {
    this.#isFollowing = false;
    this.#older = older;
    this.#log = log;
    this.#undo = new RecordUndo(this.#raw, this.#isLocal);
    for (const { sequence, bytes } of this.queue()) if (sequence > log.held()) log.put(sequence, bytes);
  }

  /** RECORDS-6. From now on this member leads. @param hold throws when the log will not hold the record */
  leadHeld(hold: (record: FileRecord) => void, older: OlderTables | null = null): void {
    assert(this.#shared === this.sequence && this.#log === null, 'RECORDS-6: the file has what the log has');
    this.#isFollowing = false;
    this.#older = older;
    this.#hold = hold;
  }

  /**
   * RECORDS-3. A record that the file already contains changes nothing. The caller decides whether to sync.
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
      throw new RecordError(`record ${sequence} does not follow the last record of the file`);
    }
    const end = { sequence, link: linkAfter(bytes) };
    this.#raw.transaction(() => {
      for (const statement of statements) {
        if (statement.sql === DERIVED) this.#deriveAgain(sequence, statement);
        else {
          this.#repeat(sequence, statement);
          tables.add(writtenTable(statement.sql));
        }
      }
      this.#setEnd.run(end.sequence, end.link);
    })();
    this.#end = end;
    this.#shared = sequence;
    return tables;
  }

  /**
   * Runs one transaction and makes its record (RECORDS-1). Inside of another transaction it is a part of that one. If
   * the connection already has a transaction that is not this file's, as at a start with newer tables, the record is
   * committed together with it.
   */
  transact<R>(body: () => R): R {
    if (this.#isOpen) return this.#nested(body);
    const { result, record } = this.#commit(body);
    if (record !== null) this.#log?.put(record.sequence, record.bytes);
    return result;
  }

  /** Runs a writing statement, and records it unless it is local. @param run runs it, and returns its result. */
  write<R>(sql: string, values: readonly SqlValue[], table: string, run: () => R): R {
    if (this.#isLocal(table, values[0])) return run();
    if (this.#derivedChanges !== null) {
      assert(this.#mayDerive?.(table) === true, 'RECORDS-7: only what every member has is derived');
      this.#older?.requireTable(table);
      const result = run();
      this.#derivedChanges += this.#countChanges.get()!;
      return result;
    }
    assert(!this.#isFollowing, 'RECORDS-3: who follows writes nothing of its own accord');
    this.#older?.requireStatement(sql);
    return this.transact(() => {
      const result = run();
      this.#statements.push({ sql, values, changes: this.#countChanges.get()! });
      return result;
    });
  }

  /** RECORDS-7. Runs as one transaction, or as a part of the open one. */
  derive(values: readonly SqlValue[]): void {
    assert(!this.#isFollowing, 'RECORDS-3: who follows writes nothing of its own accord');
    this.transact(() => {
      const changes = this.#runDerivation(values);
      this.#statements.push({ sql: DERIVED, values, changes });
    });
  }

  #commit<R>(body: () => R): { readonly result: R; readonly record: FileRecord | null } {
    const end = this.#end;
    this.#isOpen = true;
    try {
      return this.#raw.transaction(() => {
        const result = body();
        const record = this.#seal();
        if (record !== null) this.#hold?.(record);
        return { result, record };
      })();
    } catch (error) {
      this.#end = end;
      throw error;
    } finally {
      this.#isOpen = false;
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
    if (this.#hold === null) this.#keep(end.sequence, bytes);
    this.#setEnd.run(end.sequence, end.link);
    this.#end = end;
    return { sequence: end.sequence, bytes };
  }

  /** RECORDS-2, RECORDS-5 */
  #keep(sequence: number, bytes: Uint8Array): void {
    const held = this.#log?.held() ?? 0;
    this.#dequeue.run(held);
    this.#enqueue.run(sequence, bytes);
    if (this.#undo === null) return;
    this.#forgetUndo.run(held);
    this.#addUndo.run(sequence, this.#undo.take());
  }

  #runDerivation(values: readonly SqlValue[]): number {
    assert(this.#derive !== undefined && this.#derivedChanges === null, 'RECORDS-7: one derivation at a time');
    this.#derivedChanges = 0;
    try {
      this.#derive(values);
      return this.#derivedChanges;
    } finally {
      this.#derivedChanges = null;
    }
  }

  #deriveAgain(sequence: number, { values, changes }: Statement): void {
    const changed = this.#runDerivation(values);
    if (changed === changes) return;
    throw new RecordError(`record ${sequence} derived ${changed} rows, and ${changes} where it was made`);
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
