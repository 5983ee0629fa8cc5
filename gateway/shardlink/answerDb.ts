/**
 * idempotency.db (data/schema/idempotency.sql): its statements, and the lifetime of its rows. The gateway thread opens
 * it, creates it if it is missing, and reads; the writer thread (answerWriter.ts) writes.
 *
 * Invariant:
 *   ANSWERDB-1  An account has at most MOST_ROWS rows and MOST_BYTES bytes of answers: beyond that its oldest are
 *               deleted first.
 *   ANSWERDB-2  In a cluster the rows of a transaction are one record of the replicated log, and the file stores the
 *               number of its last record in the same transaction. Rows of records that the log never held are deleted
 *               when the log has other records in their place: no answer based on them was sent.
 */
import { readFileSync, statSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { checkedVersion, openDatabase, setUserVersion } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { setAside } from '../../shared/base/setAside.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { FileRecord } from '../../shared/records/recordedFile.ts';
import { linkAfter, NO_LINK } from '../../shared/records/statements.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import { StartError } from '../base/startError.ts';
import type { AnswerBatch, KeyedAnswer, KeyUse } from './answerBatch.ts';
import { decodeAnswers } from './answerRecord.ts';

/** Time for which an answer is guaranteed to be replayed (RULES.md 6.7). */
export const RELIABLE_MS = 24 * 3_600_000;
/** Time for which an expired answer is still read, before it is deleted. */
export const KEPT_EXPIRED_MS = 7 * 24 * 3_600_000;
const LIFETIME_MS = RELIABLE_MS + KEPT_EXPIRED_MS;

/** Status of a row whose request may have been carried out, but whose answer is unknown. */
export const UNRESOLVED = 0;
/** Rows deleted at most for each one written, so that deleting keeps up with writing and never takes long. */
const SWEPT_PER_WRITE = 2;
/** Rows deleted at once when there is nothing to write. */
const SWEPT_IDLE = 500;

/** The bounds of one account (RULES.md 6.11). */
const MOST_ROWS = 100_000;
const MOST_BYTES = 64 << 20;
/** Rows of an account that one write deletes at most: more than the largest answer needs, and few milliseconds. */
const EVICTED_PER_WRITE = 512;
/** Interval at which the rows of all accounts are added up. */
const COUNT_EVERY_MS = 1000;

const SCHEMA_URL = new URL('../../data/schema/idempotency.sql', import.meta.url);
const VERSION = FORMATS.answers.newest;
const BUSY_TIMEOUT_MS = 5000;
/** A start checks the whole of a file up to this length, which takes about a second. */
const MOST_CHECKED_BYTES = 1 << 30;

export type StoredAnswer = Pick<KeyedAnswer, 'fingerprint' | 'status' | 'body'>;

/** The number of rows of all accounts, and their bytes. */
export type KeptAnswers = { readonly rows: number; readonly bytes: number };

/**
 * Opened by the gateway thread, before any writer. A damaged file is set aside and recreated: only answers are lost.
 * @param onDamaged receives the new name of the damaged file; if absent, a damaged file is refused
 */
export function createAnswerDb(path: string, onDamaged?: (aside: string) => void): Database {
  try {
    return openAnswerDb(path);
  } catch (error) {
    if (!isDamaged(error) || onDamaged === undefined) throw refusalOf(path, error);
  }
  onDamaged(setAside(path)!);
  return openAnswerDb(path);
}

function refusalOf(path: string, error: unknown): unknown {
  const access = accessProblem(path, error);
  if (access !== null) return new StartError(access);
  if (isDamaged(error)) {
    return new StartError(`${path} is damaged: set the directory of this member aside, and start with an empty one`);
  }
  return error instanceof Sqlite.SqliteError ? new StartError(`${path}: ${error.message}`) : error;
}

/** SQLite notices a damaged page only when it reads it. */
function requireWhole(db: Database): void {
  if (statSync(db.name).size > MOST_CHECKED_BYTES) return;
  const found = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().get();
  if (found !== 'ok') throw new Error(`database disk image is malformed: ${found}`);
}

function openAnswerDb(path: string): Database {
  let db: Database | undefined;
  try {
    db = open(path);
    requireWhole(db);
    const version = checkedVersion(db, VERSION);
    if (version > VERSION) throw new StartError(`${path} was written by a newer version`);
    if (version === 0) create(db);
    else if (version < VERSION) throw new StartError(`${path} has layout ${version}, and the first is ${VERSION}`);
    return db;
  } catch (error) {
    db?.close();
    throw error;
  }
}

function open(path: string): Database {
  const db = openDatabase(path, { timeout: BUSY_TIMEOUT_MS });
  db.pragma('journal_mode = WAL');
  return db;
}

function create(db: Database): void {
  const sql = readFileSync(SCHEMA_URL, 'utf8');
  db.transaction(() => {
    db.exec(sql);
    setUserVersion(db, VERSION);
  }).immediate();
}

/** The file's last record, and the records that the log may not have. */
type AnswerTail = {
  readonly sequence: number;
  readonly link: Uint8Array;
  readonly queue: readonly FileRecord[];
};

/** The part of a batch that identifies it in the log. */
export type BatchRecord = FileRecord & { readonly link: Uint8Array; readonly held: number };

const RECORDS_URL = new URL('../../data/schema/records.sql', import.meta.url);

/** In a cluster: the tables that record how far log and file agree. */
export function addRecordTables(db: Database): void {
  db.exec(readFileSync(RECORDS_URL, 'utf8'));
}

export function readTail(db: Database): AnswerTail {
  const end = prepared<[], Omit<AnswerTail, 'queue'>>(db, 'SELECT sequence, link FROM record_end').get();
  const queue = prepared<[], FileRecord>(db, 'SELECT sequence, bytes FROM record_queue ORDER BY sequence').all();
  return { ...(end ?? { sequence: 0, link: NO_LINK }), queue };
}

export class AnswerReader {
  readonly #find;
  readonly #settled;

  constructor(db: Database) {
    this.#find = db.prepare<[KeyUse], StoredAnswer>(
      `SELECT fingerprint, status, body FROM answers WHERE account = @account AND key = @key
       ORDER BY fingerprint = @fingerprint DESC LIMIT 1`,
    );
    this.#settled = db.prepare<[], number>('SELECT settled_ms FROM settled').pluck();
  }

  /** The answer to this payload, or else the answer to another payload with the same key. */
  find(use: KeyUse): StoredAnswer | null {
    return this.#find.get(use) ?? null;
  }

  /** Every key used before this moment has its row. */
  settledMs(): number {
    return this.#settled.get()!;
  }
}

export class AnswerWriter {
  readonly #db: Database;
  readonly #mostRows: number;
  readonly #mostBytes: number;
  readonly #put;
  readonly #note;
  readonly #settle;
  readonly #sweep;
  readonly #isOver;
  readonly #evict;
  readonly #count;
  readonly #write: (batch: AnswerBatch, record: BatchRecord | null) => number;
  readonly #apply: (record: FileRecord) => void;
  #kept: KeptAnswers = { rows: 0, bytes: 0 };
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, sync: JournalSync, { mostRows = MOST_ROWS, mostBytes = MOST_BYTES } = {}) {
    this.#mostRows = mostRows;
    this.#mostBytes = mostBytes;
    this.#db = open(path);
    this.#db.pragma(`synchronous = ${sync === 'full' ? 'FULL' : 'NORMAL'}`);
    const columns = 'account, route, key, fingerprint, status, body, created_ms';
    const values = '@account, @route, @key, @fingerprint, @status, @body, @createdMs';
    const insert = `INSERT INTO answers (${columns}) VALUES (${values})`;
    this.#put = this.#db.prepare(`${insert} ON CONFLICT DO UPDATE SET status = excluded.status, body = excluded.body`);
    this.#note = this.#db.prepare(`${insert} ON CONFLICT DO NOTHING`);
    this.#settle = this.#db.prepare<[number]>('UPDATE settled SET settled_ms = ?');
    this.#sweep = this.#db.prepare<[number, number]>(
      'DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY id LIMIT ?) AND created_ms < ?',
    );
    this.#isOver = this.#db
      .prepare<[number, number, number], number>('SELECT rows > ? OR bytes > ? FROM kept WHERE account = ?')
      .pluck();
    this.#evict = this.#db.prepare<[number]>(
      'DELETE FROM answers WHERE id = (SELECT min(id) FROM answers WHERE account = ?)',
    );
    this.#count = this.#db.prepare<[], KeptAnswers>('SELECT total(rows) AS rows, total(bytes) AS bytes FROM kept');
    this.#write = this.#db.transaction((batch: AnswerBatch, record: BatchRecord | null) => {
      if (record !== null) this.#keepRecord(record);
      return this.#writeRows(batch);
    }).immediate;
    this.#apply = this.#db.transaction((record: FileRecord) => this.#follow(record)).immediate;
  }

  #writeRows(batch: AnswerBatch): number {
    // A known answer replaces the row that said it was unknown.
    for (const row of batch.rows) (row.status === UNRESOLVED ? this.#note : this.#put).run(row);
    for (const account of new Set(batch.rows.map((row) => row.account))) this.#bound(account);
    if (batch.settledMs !== null) this.#settle.run(batch.settledMs);
    const most = batch.rows.length === 0 ? SWEPT_IDLE : SWEPT_PER_WRITE * batch.rows.length;
    return this.#sweep.run(most, batch.nowMs - LIFETIME_MS).changes;
  }

  /** Returns when the batch is durable. @returns the number of rows that were deleted. */
  write(batch: AnswerBatch, record: BatchRecord | null = null): number {
    return this.#write(batch, record);
  }

  /** ANSWERDB-2. Returns when another member's record is durable; a record that is already here changes nothing. */
  apply(record: FileRecord): void {
    this.#apply(record);
  }

  #keepRecord({ sequence, bytes, link, held }: BatchRecord): void {
    prepared(this.#db, 'DELETE FROM record_queue WHERE sequence <= ?').run(held);
    prepared(this.#db, 'INSERT OR REPLACE INTO record_queue VALUES (?, ?)').run(sequence, bytes);
    this.#setEnd(sequence, link);
  }

  #setEnd(sequence: number, link: Uint8Array): void {
    prepared(this.#db, 'INSERT OR REPLACE INTO record_end VALUES (0, ?, ?)').run(sequence, link);
  }

  #follow({ sequence, bytes }: FileRecord): void {
    let end = readTail(this.#db);
    if (sequence <= end.sequence) {
      const own = end.queue.find((each) => each.sequence === sequence);
      if (own === undefined || Buffer.compare(own.bytes, bytes) === 0) return;
      for (const each of end.queue) if (each.sequence >= sequence) this.#takeBack(each);
      end = { sequence: sequence - 1, link: decodeAnswers(own.bytes).link, queue: [] };
    }
    if (sequence !== end.sequence + 1) throw new RecordError(`answers ${sequence} came after ${end.sequence}`);
    const { link, batch } = decodeAnswers(bytes);
    if (Buffer.compare(link, end.link) !== 0) throw new RecordError(`answers ${sequence} do not follow`);
    this.#writeRows(batch);
    this.#setEnd(sequence, linkAfter(bytes));
  }

  #takeBack({ sequence, bytes }: FileRecord): void {
    const remove = prepared(this.#db, 'DELETE FROM answers WHERE account = ? AND key = ? AND fingerprint = ?');
    for (const { account, key, fingerprint } of decodeAnswers(bytes).batch.rows) remove.run(account, key, fingerprint);
    prepared(this.#db, 'DELETE FROM record_queue WHERE sequence = ?').run(sequence);
  }

  /** The rows of all accounts, as of COUNT_EVERY_MS ago or later. */
  kept(nowMs: number): KeptAnswers {
    if (nowMs - this.#countedMs >= COUNT_EVERY_MS) {
      this.#countedMs = nowMs;
      this.#kept = this.#count.get()!;
    }
    return this.#kept;
  }

  /** ANSWERDB-1 */
  #bound(account: number): void {
    for (let evicted = 0; evicted < EVICTED_PER_WRITE; evicted++) {
      if (this.#isOver.get(this.#mostRows, this.#mostBytes, account) !== 1) return;
      this.#evict.run(account);
    }
  }

  close(): void {
    this.#db.close();
  }
}
