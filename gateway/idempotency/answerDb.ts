/**
 * idempotency.db (data/schema/idempotency.sql): its statements, and the lifetime of its rows. The gateway thread opens
 * it, creates it if it is missing, and reads; the writer thread (writer.ts) writes.
 */
import { readFileSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import type { JournalSync } from '../../shared/wire/threads.ts';
import { StartError } from '../process/startError.ts';

/** Time for which an answer is guaranteed to be replayed (RULES.md 6.7). */
export const RELIABLE_MS = 24 * 3_600_000;
/** Time for which an expired answer is still read, before it is deleted. */
export const KEPT_EXPIRED_MS = 7 * 24 * 3_600_000;
const LIFETIME_MS = RELIABLE_MS + KEPT_EXPIRED_MS;

/** The status of a row whose request may have been carried out, with an answer that is not known. */
export const UNRESOLVED = 0;
/** Rows deleted at most for each one written, so that deleting keeps up with writing and never takes long. */
const SWEPT_PER_WRITE = 2;
/** Rows deleted at once when there is nothing to write. */
const SWEPT_IDLE = 500;

const SCHEMA_URL = new URL('../../data/schema/idempotency.sql', import.meta.url);
const VERSION = 1;
const BUSY_TIMEOUT_MS = 5000;

/** A key with its account and route; it is unique only among those. */
export type KeyId = {
  readonly account: number;
  /** EXT_ROUTE. */
  readonly route: number;
  /** 16 bytes, as is the fingerprint of a KeyedAnswer. */
  readonly key: Uint8Array;
};

export type KeyedAnswer = KeyId & {
  readonly fingerprint: Uint8Array;
  readonly status: number;
  readonly body: string;
  readonly createdMs: number;
};

export type StoredAnswer = Pick<KeyedAnswer, 'fingerprint' | 'status' | 'body'>;

/** One transaction. */
export type AnswerBatch = {
  readonly rows: readonly KeyedAnswer[];
  /** Every key used before this moment has its row, here or in an earlier batch; null leaves the moment unchanged. */
  readonly settledMs: number | null;
  readonly nowMs: number;
};

/** Opened by the gateway thread, before any writer. */
export function createAnswerDb(path: string): Database {
  let db: Database | undefined;
  try {
    db = open(path);
    const version = db.pragma('user_version', { simple: true }) as number;
    if (version > VERSION) throw new StartError(`${path} was written by a newer version`);
    if (version < VERSION) create(db);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof Sqlite.SqliteError) throw new StartError(`${path}: ${error.message}`);
    throw error;
  }
}

function open(path: string): Database {
  const db = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS });
  db.pragma('journal_mode = WAL');
  return db;
}

function create(db: Database): void {
  const sql = readFileSync(SCHEMA_URL, 'utf8');
  db.transaction(() => {
    db.exec(sql);
    db.pragma(`user_version = ${VERSION}`);
  }).immediate();
}

export class AnswerReader {
  readonly #find;
  readonly #settled;

  constructor(db: Database) {
    this.#find = db.prepare<[number, number, Uint8Array], StoredAnswer>(
      'SELECT fingerprint, status, body FROM answers WHERE account = ? AND route = ? AND key = ?',
    );
    this.#settled = db.prepare<[], number>('SELECT settled_ms FROM settled').pluck();
  }

  find({ account, route, key }: KeyId): StoredAnswer | null {
    return this.#find.get(account, route, key) ?? null;
  }

  /** Every key used before this moment has its row. */
  settledMs(): number {
    return this.#settled.get()!;
  }
}

export class AnswerWriter {
  readonly #db: Database;
  readonly #put;
  readonly #note;
  readonly #settle;
  readonly #sweep;
  readonly #write: (batch: AnswerBatch) => number;

  constructor(path: string, sync: JournalSync) {
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
    this.#write = this.#db.transaction((batch: AnswerBatch) => {
      // A known answer replaces the row that said it was unknown.
      for (const row of batch.rows) (row.status === UNRESOLVED ? this.#note : this.#put).run(row);
      if (batch.settledMs !== null) this.#settle.run(batch.settledMs);
      const most = batch.rows.length === 0 ? SWEPT_IDLE : SWEPT_PER_WRITE * batch.rows.length;
      return this.#sweep.run(most, batch.nowMs - LIFETIME_MS).changes;
    }).immediate;
  }

  /** Returns when the batch is durable. @returns the number of rows that were deleted. */
  write(batch: AnswerBatch): number {
    return this.#write(batch);
  }

  close(): void {
    this.#db.close();
  }
}
