/**
 * The journal of one shard: every accepted command with the events it caused, in a SQLite file of its own.
 * Owner: the shard thread holds the one connection that writes rows. The projector reads beside it through a
 * JournalReader; a Checkpointer, where there is one, copies pages from the WAL into the file.
 *
 * journalRow.ts draws a row, journalFile.ts the file around it. Beside it lies its high-water mark (mark.ts), because
 * SQLite cuts a damaged WAL short in silence.
 *
 * Invariants:
 *   J1  Sequences start at 1 and have no gap.
 *   J2  A batch is one transaction: its rows become durable together, at `commit`, or none does.
 *   J3  After a failed statement nothing is written any more. What a failed fsync left on the disk is unknown and a
 *       second try could report success for pages that are gone, so the shard ends and recovers from the file.
 */
import Database from 'better-sqlite3';
import { assert } from '../shared/assert.ts';
import { CHECKPOINT, type CheckpointCell } from './checkpointCell.ts';
import {
  BUSY_TIMEOUT_MS,
  claim,
  type JournalOptions,
  located,
  markPath,
  requireSqlite,
  tryCheckpoint,
} from './journalFile.ts';
import { JournalError, JournalHead, type JournalVisitor, type Row, RowReader, RowWriter } from './journalRow.ts';
import { Mark } from './mark.ts';

/** What a shard asks of a durable log; SQLite is the first answer to it. */
export type JournalStore = {
  /** The last committed or staged sequence, 0 when there is none. */
  readonly lastSequence: number;
  /** Something was appended since the last commit. */
  readonly isStaged: boolean;
  append(
    shardSequence: number,
    timeMs: number,
    commandWords: Uint32Array,
    commandWord: number,
    commandBytes: number,
    eventWords: Uint32Array,
    eventWord: number,
    eventBytes: number,
  ): void;
  /** Returns when everything staged is durable. */
  commit(): void;
  /** Where the journal ends. */
  readonly head: JournalHead;
  /** Every row behind `after`; the words belong to the visitor until it returns. */
  replay(after: JournalHead, visit: JournalVisitor): void;
  /** Nothing else is to be done: a moment for what may wait. */
  idle(): void;
  /** Forgets rows up to `sequence`, a few at a time. @returns whether some are left. */
  trim(sequence: number): boolean;
  close(): void;
};

/** What is written between two requests to the checkpointer: a short sync, and not many of them. */
const REQUEST_BYTES = 4 << 20;
/**
 * What a journal without a checkpointer writes between two checkpoints of its own. Each holds up a commit for 4-25 ms:
 * they should be rare, but the WAL is what a restart has to read again.
 */
const OWN_CHECKPOINT_BYTES = 16 << 20;
/** A checkpointer that died or is too slow is not waited for: so much is written at most without the writer's part. */
const LATE_CHECKPOINT_BYTES = 128 << 20;
/** What a commit writes beside its rows: the page they begin in once more, and one above it. */
const COMMIT_BYTES = 2 * 4096;
/** What a trim writes, roughly: the pages it empties name each other in a list. */
const TRIM_BYTES = 1 << 20;
/** Rows a trim takes at once: a few milliseconds, between two batches. */
const TRIM_ROWS = 1000;

export class Journal implements JournalStore {
  isStaged = false;
  readonly #path: string;
  readonly #db: Database.Database;
  readonly #begin: Database.Statement;
  readonly #insert: Database.Statement<[number, Uint8Array]>;
  readonly #commit: Database.Statement;
  readonly #trim: Database.Statement<[number, number]>;
  readonly #mark: Mark;
  readonly #head: JournalHead;
  readonly #rows = new RowWriter();
  /** The mark as it was found: a replay has to pass exactly here. */
  readonly #reached: JournalHead;
  #isPoisoned = false;
  #checkpoints: CheckpointCell | null = null;
  /** Written since the checkpointer was last asked. */
  #unaskedBytes = 0;
  /** Written since this connection last checkpointed. */
  #uncopiedBytes = 0;

  /**
   * Opens or creates the file. Its last row is checked here, all others by `replay`.
   * @param start where a new file begins: behind the rows that a repair leaves out.
   */
  static open(options: JournalOptions, start = new JournalHead(0, 0, 0)): Journal {
    const db = new Database(options.journalPath, { timeout: BUSY_TIMEOUT_MS });
    try {
      return new Journal(db, options, start);
    } catch (error) {
      db.close();
      throw located(error, options.journalPath);
    }
  }

  private constructor(db: Database.Database, options: JournalOptions, start: JournalHead) {
    this.#db = db;
    this.#path = options.journalPath;
    requireSqlite(db);
    db.pragma('page_size = 4096');
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${options.journalSync === 'full' ? 'FULL' : 'NORMAL'}`);
    // SQLite's own checkpoints drop their errors.
    db.pragma('wal_autocheckpoint = 0');
    claim(db, options);
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#insert = db.prepare('INSERT INTO journal (sequence, bytes) VALUES (?, ?)');
    this.#commit = db.prepare('COMMIT');
    const last = db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence DESC LIMIT 1').get();
    this.#head = last === undefined ? start.copy() : new RowReader(this.#path).headAfter(last);
    this.#trim = db.prepare(
      `DELETE FROM journal WHERE sequence IN
         (SELECT sequence FROM journal WHERE sequence <= ? ORDER BY sequence LIMIT ?)`,
    );
    this.#mark = new Mark(markPath(options.journalPath), options.shard);
    try {
      this.#reached = this.#checkMark(last !== undefined);
    } catch (error) {
      this.#mark.close();
      throw error;
    }
  }

  get lastSequence(): number {
    return this.#head.sequence;
  }

  get head(): JournalHead {
    return this.#head.copy();
  }

  /** The oldest row that was not trimmed, or 1 when there is none at all. */
  get firstSequence(): number {
    try {
      return this.#db.prepare<[], number>('SELECT min(sequence) FROM journal').pluck().get() ?? this.lastSequence + 1;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  append(
    shardSequence: number,
    timeMs: number,
    commandWords: Uint32Array,
    commandWord: number,
    commandBytes: number,
    eventWords: Uint32Array,
    eventWord: number,
    eventBytes: number,
  ): void {
    assert(!this.#isPoisoned, 'J3: a failed journal refuses everything');
    assert(shardSequence === this.#head.sequence + 1, 'J1: sequences have no gap');
    if (!this.isStaged) this.#tendWal();
    const bytes = this.#rows.build(
      this.#head,
      timeMs,
      commandWords,
      commandWord,
      commandBytes,
      eventWords,
      eventWord,
      eventBytes,
    );
    this.#isPoisoned = true;
    try {
      if (!this.isStaged) this.#begin.run();
      this.isStaged = true;
      // SQLite copies the bytes while it binds them, so the next row may use their memory again.
      this.#insert.run(shardSequence, bytes);
      this.#wrote(bytes.length);
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${shardSequence}`);
    }
    this.#isPoisoned = false;
    this.#head.advance(this.#rows.crc);
  }

  commit(): void {
    assert(!this.#isPoisoned, 'J3: a failed journal refuses everything');
    if (!this.isStaged) return;
    this.#isPoisoned = true;
    try {
      this.#commit.run();
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${this.#head.sequence}`);
    }
    this.#mark.advance(this.#head);
    this.#wrote(COMMIT_BYTES);
    this.#isPoisoned = false;
    this.isStaged = false;
  }

  replay(after: JournalHead, visit: JournalVisitor): void {
    assert(!this.isStaged, 'journal: nothing is staged during a replay');
    const head = after.copy();
    const reader = new RowReader(this.#path);
    const rows = this.#db
      .prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence')
      .iterate(after.sequence);
    try {
      for (const row of rows) {
        reader.load(row, head);
        if (head.sequence === this.#reached.sequence && !head.equals(this.#reached)) {
          throw new JournalError(
            `journal ${this.#path}: sequence ${head.sequence}: not what its mark says was written`,
          );
        }
        reader.show(visit);
      }
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${head.sequence + 1}`);
    }
    if (!head.equals(this.#head)) {
      throw new JournalError(`journal ${this.#path}: ends at ${this.#head.sequence}, behind where the replay starts`);
    }
  }

  idle(): void {
    this.#mark.sync();
    this.#tendWal();
  }

  /** From now on somebody else copies the WAL into the file, as this cell tells. */
  checkpointsBy(cell: CheckpointCell): void {
    this.#checkpoints = cell;
  }

  trim(sequence: number): boolean {
    assert(!this.isStaged, 'journal: trimmed between batches');
    this.#wrote(TRIM_BYTES);
    try {
      return this.#trim.run(sequence, TRIM_ROWS).changes === TRIM_ROWS;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  /** What is staged and not committed is dropped. */
  close(): void {
    try {
      if (!this.isStaged && !this.#isPoisoned) this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      throw located(error, this.#path);
    } finally {
      this.#db.close();
      this.#mark.close();
    }
  }

  #wrote(bytes: number): void {
    this.#unaskedBytes += bytes;
    this.#uncopiedBytes += bytes;
  }

  /** Between two batches, so that what is durable is answered before anything else takes time. */
  #tendWal(): void {
    const cell = this.#checkpoints;
    const state = cell === null ? CHECKPOINT.IDLE : cell.state;
    if (state === CHECKPOINT.FAILED) {
      this.#isPoisoned = true;
      throw new JournalError(`journal ${this.#path}: its checkpoint failed: ${cell?.failure}`);
    }
    if (state === CHECKPOINT.REST_DUE) {
      this.#checkpoint();
      cell?.rested();
    } else if (state === CHECKPOINT.IDLE && cell !== null && this.#unaskedBytes >= REQUEST_BYTES) {
      this.#unaskedBytes = 0;
      cell.request();
    }
    const most = cell === null ? OWN_CHECKPOINT_BYTES : LATE_CHECKPOINT_BYTES;
    if (this.#uncopiedBytes >= most) this.#checkpoint();
  }

  /** What is committed is copied to its end, so that the next batch begins the WAL anew. */
  #checkpoint(): void {
    this.#isPoisoned = true;
    try {
      tryCheckpoint(this.#db);
    } catch (error) {
      throw located(error, `${this.#path}: checkpoint`);
    }
    this.#isPoisoned = false;
    this.#uncopiedBytes = 0;
  }

  /** A journal that ends before its mark, or has rows and no mark, has lost something that may have been answered. */
  #checkMark(hasRows: boolean): JournalHead {
    const marked = this.#mark.read();
    const { sequence } = this.#head;
    if (marked === null) {
      if (hasRows) throw new JournalError(`journal ${this.#path}: its high-water mark is missing or damaged`);
      this.#mark.advance(this.#head);
      this.#mark.sync();
      return this.head;
    }
    if (marked.sequence > sequence) {
      throw new JournalError(
        `journal ${this.#path}: sequence ${sequence + 1}: missing, the mark says that ${marked.sequence} was written`,
      );
    }
    if (marked.sequence === sequence && !marked.equals(this.#head)) {
      throw new JournalError(`journal ${this.#path}: sequence ${sequence}: not what its mark says was written`);
    }
    return marked;
  }
}
