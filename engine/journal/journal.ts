/**
 * The journal of one shard: every accepted command with the events it caused, in a SQLite file of its own.
 * Owner: the shard thread has the only connection that writes rows. The projector reads through a JournalReader, and a
 * Checkpointer, where there is one, copies pages from the WAL into the file.
 *
 * row.ts describes a row, file.ts the file around it. A second file holds the high-water mark (mark.ts), because SQLite
 * cuts a damaged WAL short without an error.
 *
 * Invariants:
 *   JOURNAL-1  Sequences start at 1 and have no gap.
 *   JOURNAL-2  A batch is one transaction: its rows become durable together, at `commit`, or none does.
 *   JOURNAL-3  After a failed statement nothing is written any more. What a failed fsync left on the disk is unknown,
 *              and a second try could report success for pages that are gone, so the shard ends and recovers from the
 *              file.
 *   JOURNAL-4  Only the oldest rows are trimmed, and never the last: it says where the journal continues.
 *   JOURNAL-5  The mark is written after the commit it names and before any reply to that commit is published.
 */
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { WalReserve } from '../../shared/base/walReserve.ts';
import { CHECKPOINT, type CheckpointCell } from './checkpointCell.ts';
import {
  BUSY_TIMEOUT_MS,
  type JournalOptions,
  located,
  markPath,
  requireShard,
  requireSqlite,
  tryCheckpoint,
} from './file.ts';
import { Mark } from './mark.ts';
import { crcOf, JournalError, JournalHead, type Row, RowReader, RowWriter } from './row.ts';
import type { RowView, RowVisitor } from './rowView.ts';
import type { ShardKey } from './shardKey.ts';

/** The durable log of a shard. */
export type JournalStore = {
  /** The last committed or staged sequence, 0 when there is none. */
  readonly lastSequence: number;
  /** True while rows are appended that are not committed. */
  readonly isStaged: boolean;
  append(row: RowView): void;
  /** Returns when all appended rows are durable. */
  commit(): void;
  /** The end of the journal. */
  readonly head: JournalHead;
  /** Visits every row after `after`; a view is valid until the visitor returns. */
  replay(after: JournalHead, visit: RowVisitor): void;
  /** Housekeeping for a moment without commands: syncs the mark, copies the WAL. */
  idle(): void;
  /** Deletes rows up to `sequence`, a limited number at a time. @returns whether some of them are left. */
  trim(sequence: number): boolean;
  close(): void;
};

/** Bytes written between two requests to the checkpointer: few syncs, and none of them long. */
const REQUEST_BYTES = 4 << 20;
/**
 * Bytes written between two checkpoints of a journal that has no checkpointer. Each holds up a commit for 4-25 ms, so
 * they should be rare; but a restart has to read the whole WAL again.
 */
const OWN_CHECKPOINT_BYTES = 16 << 20;
/** Bytes after which the writer makes a checkpoint itself, when the checkpointer has ended or is too slow. */
const LATE_CHECKPOINT_BYTES = 128 << 20;
/** The WAL starts anew at about this length (RESTART_DUE_PAGES of the checkpointer). */
const WAL_CYCLE_BYTES = 32 << 20;
/** By then a checkpointer that runs has copied as much; one that does not must not stop the shard. */
const LATE_WAIT_MS = 1000;
/** Bytes of a commit beside its rows: the page in which they start is written again, and one page above it. */
const COMMIT_BYTES = 2 * 4096;
/** Bytes of a trim, roughly: the emptied pages are linked in a list. */
const TRIM_BYTES = 1 << 20;
/** Rows that one call of `trim` deletes: a few milliseconds, between two batches. */
const TRIM_ROWS = 1000;

assert(
  REQUEST_BYTES < OWN_CHECKPOINT_BYTES && OWN_CHECKPOINT_BYTES < LATE_CHECKPOINT_BYTES,
  'journal: the checkpointer is asked before the writer makes a checkpoint itself',
);

export class Journal implements JournalStore {
  isStaged = false;
  readonly key: ShardKey;
  readonly #path: string;
  readonly #db: Database.Database;
  readonly #begin: Database.Statement;
  readonly #insert: Database.Statement<[number, Uint8Array]>;
  readonly #commit: Database.Statement;
  readonly #trim: Database.Statement<[number, number]>;
  readonly #mark: Mark;
  readonly #head: JournalHead;
  readonly #rows: RowWriter;
  readonly #reserve: WalReserve;
  /** The mark as it was at the opening: a replay must pass through exactly this head. */
  readonly #reached: JournalHead;
  /** The newest head that control.db has, which a replay must pass through as well. */
  readonly #known: JournalHead;
  #isPoisoned = false;
  #checkpoints: CheckpointCell | null = null;
  /** Bytes written since the last request to the checkpointer. */
  #bytesSinceRequest = 0;
  /** Bytes written since the last checkpoint of this connection. */
  #bytesSinceCheckpoint = 0;

  /**
   * Opens or creates the file. Its last row is checked here, all others by `replay`.
   * @param start the head of a new file: after the rows that a repair leaves out.
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
    this.key = options.key;
    this.#rows = new RowWriter(options.key);
    requireSqlite(db);
    db.pragma('page_size = 4096');
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${options.journalSync === 'full' ? 'FULL' : 'NORMAL'}`);
    // SQLite ignores the errors of its automatic checkpoints.
    db.pragma('wal_autocheckpoint = 0');
    requireShard(db, options);
    this.#reserve = new WalReserve(db, options.journalPath, {
      reserveBytes: options.journalReserveBytes ?? 0,
      cycleBytes: WAL_CYCLE_BYTES,
    });
    this.#reserve.refill();
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#insert = db.prepare('INSERT INTO journal (sequence, bytes) VALUES (?, ?)');
    this.#commit = db.prepare('COMMIT');
    const last = db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence DESC LIMIT 1').get();
    this.#head = last === undefined ? start.copy() : new RowReader(this.#path, this.key).headAfter(last);
    this.#trim = db.prepare(
      `DELETE FROM journal WHERE sequence IN
         (SELECT sequence FROM journal WHERE sequence <= ? ORDER BY sequence LIMIT ?)`,
    );
    this.#mark = new Mark(markPath(options.journalPath), options.shard);
    try {
      this.#reached = this.#checkMark(last !== undefined);
      const { sequence, chainLow, chainHigh } = options.knownHead ?? this.#reached;
      this.#known = new JournalHead(sequence, chainLow, chainHigh);
      if (sequence > this.#head.sequence) {
        throw new JournalError(
          `journal ${this.#path}: sequence ${this.#head.sequence + 1}: missing, control.db knows of ${sequence}`,
        );
      }
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

  /** The oldest row that was not trimmed, or 1 when there are no rows. */
  get firstSequence(): number {
    try {
      return this.#db.prepare<[], number>('SELECT min(sequence) FROM journal').pluck().get() ?? this.lastSequence + 1;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  append(row: RowView): void {
    assert(row.sequence === this.#head.sequence + 1, 'JOURNAL-1: sequences have no gap');
    const bytes = this.#rows.build(this.#head, row);
    this.#append(row.sequence, bytes, this.#rows.crc);
  }

  /** Appends a row of another journal as it is. The caller has checked that it follows. */
  appendCopy({ sequence, bytes }: Row): void {
    this.#append(sequence, bytes, crcOf(bytes));
  }

  #append(sequence: number, bytes: Uint8Array, crc: number): void {
    assert(!this.#isPoisoned, 'JOURNAL-3: a failed journal refuses everything');
    assert(sequence === this.#head.sequence + 1, 'JOURNAL-1: sequences have no gap');
    if (!this.isStaged) this.#checkpointIfDue();
    this.#isPoisoned = true;
    try {
      if (!this.isStaged) this.#begin.run();
      this.isStaged = true;
      // SQLite copies the bytes while it binds them, so the next row may use their memory again.
      this.#insert.run(sequence, bytes);
      this.#wrote(bytes.length);
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${sequence}`);
    }
    this.#isPoisoned = false;
    this.#head.advance(crc);
    assert(this.#head.sequence === sequence, 'JOURNAL-1: the head stands after the row');
  }

  commit(): void {
    assert(!this.#isPoisoned, 'JOURNAL-3: a failed journal refuses everything');
    if (!this.isStaged) return;
    this.#isPoisoned = true;
    try {
      this.#commit.run();
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${this.#head.sequence}`);
    }
    assert(this.#head.sequence >= this.#reached.sequence, 'JOURNAL-5: the mark follows the commits');
    this.#mark.advance(this.#head);
    this.#wrote(COMMIT_BYTES);
    this.#isPoisoned = false;
    this.isStaged = false;
  }

  replay(after: JournalHead, visit: RowVisitor): void {
    assert(!this.isStaged, 'JOURNAL-2: only committed rows are replayed');
    const head = after.copy();
    const reader = new RowReader(this.#path, this.key);
    const rows = this.#db
      .prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence')
      .iterate(after.sequence);
    try {
      for (const row of rows) {
        reader.load(row, head);
        this.#requireAt(head, this.#reached, 'its mark');
        this.#requireAt(head, this.#known, 'control.db');
        reader.show(visit);
      }
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${head.sequence + 1}`);
    }
    if (!head.equals(this.#head)) {
      throw new JournalError(`journal ${this.#path}: ends at ${this.#head.sequence}, before the replay starts`);
    }
  }

  idle(): void {
    this.#mark.sync();
    this.#checkpointIfDue();
    this.#reserve.refill();
  }

  /** Bytes that commits can write on a full disk. */
  reserveLeftBytes(): number {
    return this.#reserve.leftBytes();
  }

  /** From now on a checkpointer copies the WAL into the file, on request through this cell. */
  checkpointsBy(cell: CheckpointCell): void {
    this.#checkpoints = cell;
  }

  trim(sequence: number): boolean {
    assert(!this.isStaged, 'JOURNAL-2: a trim is no part of a batch');
    assert(sequence < this.#head.sequence, 'JOURNAL-4: the last row is never trimmed');
    this.#wrote(TRIM_BYTES);
    try {
      return this.#trim.run(sequence, TRIM_ROWS).changes === TRIM_ROWS;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  /** Rows that are not committed are dropped. */
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
    this.#bytesSinceRequest += bytes;
    this.#bytesSinceCheckpoint += bytes;
  }

  /** Called between two batches: replies to durable commands should not wait for a checkpoint. */
  #checkpointIfDue(): void {
    const cell = this.#checkpoints;
    const most = cell === null ? OWN_CHECKPOINT_BYTES : LATE_CHECKPOINT_BYTES;
    // Without this pause a checkpointer that gets too little processor time would let the WAL grow without bound.
    if (this.#bytesSinceCheckpoint >= most) cell?.awaitCheckpointer(LATE_WAIT_MS);
    const state = cell === null ? CHECKPOINT.IDLE : cell.state;
    if (state === CHECKPOINT.FAILED) {
      this.#isPoisoned = true;
      throw new JournalError(`journal ${this.#path}: its checkpoint failed: ${cell?.failure}`);
    }
    if (state === CHECKPOINT.RESTART_DUE) {
      this.#checkpoint();
      cell?.restarted();
    } else if (state === CHECKPOINT.IDLE && cell !== null && this.#bytesSinceRequest >= REQUEST_BYTES) {
      this.#bytesSinceRequest = 0;
      cell.request();
    }
    if (this.#bytesSinceCheckpoint >= most) this.#checkpoint();
  }

  /** Copies the WAL to its end, so that the next batch starts it anew. */
  #checkpoint(): void {
    this.#isPoisoned = true;
    let pages: number | null;
    try {
      pages = tryCheckpoint(this.#db);
    } catch (error) {
      throw located(error, `${this.#path}: checkpoint`);
    }
    this.#isPoisoned = false;
    // While the checkpointer copies, this copied nothing: it is tried again soon, before the WAL has doubled.
    const isBusy = pages !== null && pages < 0;
    this.#bytesSinceCheckpoint = isBusy ? Math.max(0, this.#bytesSinceCheckpoint - REQUEST_BYTES) : 0;
  }

  #requireAt(head: JournalHead, anchor: JournalHead, witness: string): void {
    if (head.sequence !== anchor.sequence || head.equals(anchor)) return;
    throw new JournalError(`journal ${this.#path}: sequence ${head.sequence}: not what ${witness} says was written`);
  }

  /** A journal that ends before its mark, or has rows and no mark, has lost records that may have been acknowledged. */
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
