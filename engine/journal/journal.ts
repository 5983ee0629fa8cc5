/**
 * The journal of one shard: every accepted command with the events it caused, in a SQLite file of its own (RULES.md
 * 10.5). Owner: the shard thread has the only connection that writes rows. The projector reads through a JournalReader,
 * and a Checkpointer, if there is one, copies pages from the WAL into the file.
 *
 * The records of a batch form one row, which is built in memory and written by the commit. row.ts describes a row,
 * file.ts the file around it. A second file holds the high-water mark (mark.ts), because SQLite cuts a damaged WAL
 * short without an error.
 *
 * Invariants:
 *   JOURNAL-1  Sequence numbers of records start at 1 and have no gap.
 *   JOURNAL-2  A batch is one transaction: its records become durable together, at `commit`, or none does. It is one
 *              row, or several rows if one would be too long (ROW-6); no row has records of two batches.
 *   JOURNAL-3  After a failed statement nothing more is written. After a failed fsync the content of the disk is
 *              unknown, and a second try could report success for pages that are lost, so the shard ends and recovers
 *              from the file.
 *   JOURNAL-4  Only the oldest rows are trimmed, each as a whole. The last row stays: the journal continues there.
 *   JOURNAL-5  The mark is written after the commit it names and before any reply to that commit is published.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { WalReserve } from '../../shared/base/walReserve.ts';
import { CHECKPOINT, type CheckpointCell } from './checkpointCell.ts';
import {
  BUSY_TIMEOUT_MS,
  type JournalOptions,
  located,
  markPath,
  missingAfter,
  requireShard,
  requireSqlite,
  requireWholeLog,
  tryCheckpoint,
} from './file.ts';
import type { JournalRecord, RecordVisitor } from './journalRecord.ts';
import type { JournalStore, RowCopy } from './journalStore.ts';
import { Mark } from './mark.ts';
import { crcOf, firstSequenceOf, JournalError, JournalHead, type Row } from './row.ts';
import { RowReader } from './rowReader.ts';
import { RowWriter } from './rowWriter.ts';
import type { ShardKey } from './shardKey.ts';

/** Bytes written between two requests to the checkpointer, chosen so that syncs are few and none takes long. */
const REQUEST_BYTES = 4 << 20;
/**
 * Bytes written between two checkpoints of a journal that has no checkpointer. Each delays a commit by 4-25 ms, so
 * checkpoints should be rare; but a restart has to read the whole WAL again.
 */
const OWN_CHECKPOINT_BYTES = 16 << 20;
/** After so many bytes the writer makes a checkpoint itself, because the checkpointer has ended or is too slow. */
const LATE_CHECKPOINT_BYTES = 128 << 20;
/** The WAL starts anew at about this length (RESTART_DUE_PAGES of the checkpointer). */
const WAL_CYCLE_BYTES = 32 << 20;
/** A running checkpointer has copied its share after this time; a stopped one must not stop the shard. */
const LATE_WAIT_MS = 1000;
/** Bytes that a commit writes beside its rows: the page in which they start is written again, and one page above it. */
const COMMIT_BYTES = 2 * 4096;
/** Roughly the bytes that a trim writes: the emptied pages are linked in a list. */
const TRIM_BYTES = 1 << 20;
/** Records that one call of `trim` deletes, beside the rest of their row: a few milliseconds between two batches. */
const TRIM_RECORDS = 1000;

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
  readonly #oldest: Database.Statement<[], number | null>;
  readonly #trim: Database.Statement<[number]>;
  readonly #mark: Mark;
  /** The head after the last written row. Records of the current batch come later. */
  readonly #head: JournalHead;
  readonly #rows: RowWriter;
  /** True once a part of the batch has been written, as rows of its own. */
  #isInTransaction = false;
  readonly #reserve: WalReserve;
  /** The mark as it was when the journal was opened: a replay must pass through exactly this head. */
  readonly #reached: JournalHead;
  /** The newest head that control.db has; a replay must pass through it as well. */
  readonly #known: JournalHead;
  #isPoisoned = false;
  #checkpoints: CheckpointCell | null = null;
  #copy: RowCopy | null = null;
  /** Bytes written since the last request to the checkpointer. */
  #bytesSinceRequest = 0;
  /** Bytes written since the last checkpoint of this connection. */
  #bytesSinceCheckpoint = 0;

  /**
   * Opens or creates the file. Its last row is checked here, all others by `replay`.
   * @param start the head with which a new file begins: after the rows that a repair leaves out.
   */
  static open(options: JournalOptions, start = new JournalHead(0, 0, 0)): Journal {
    requireWholeLog(options);
    const db = openDatabase(options.journalPath, { timeout: BUSY_TIMEOUT_MS });
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
    this.#oldest = db.prepare<[], number | null>('SELECT min(sequence) FROM journal').pluck();
    this.#trim = db.prepare('DELETE FROM journal WHERE sequence <= ?');
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
    return this.#rows.isEmpty ? this.#head.sequence : this.#rows.lastSequence;
  }

  get heldSequence(): number {
    return this.#head.sequence;
  }

  /** Does nothing: the file is the only place. */
  handOver(): void {}

  get head(): JournalHead {
    assert(!this.isStaged, 'JOURNAL-2: a batch has no head');
    return this.#head.copy();
  }

  /** The oldest record that was not trimmed, or the next record if there are none. */
  get firstSequence(): number {
    try {
      const row = prepared<[], Row>(this.#db, 'SELECT sequence, bytes FROM journal ORDER BY sequence LIMIT 1').get();
      return row === undefined ? this.lastSequence + 1 : firstSequenceOf(row);
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  append(record: JournalRecord): void {
    this.#stage(record.sequence);
    if (!this.#rows.hasRoomFor(record)) this.#writePart(this.#finishRow(), this.#rows.crc, this.#rows.lastSequence);
    this.#rows.add(record);
    this.isStaged = true;
  }

  /** Appends a row of another journal unchanged. The caller has checked that it follows. */
  appendCopy(row: Row): void {
    assert(this.#rows.isEmpty, 'JOURNAL-1: a copied row follows whole rows');
    this.#stage(firstSequenceOf(row));
    this.#writePart(row.bytes, crcOf(row.bytes), row.sequence);
    this.isStaged = true;
  }

  commit(): void {
    assert(!this.#isPoisoned, 'JOURNAL-3: a failed journal refuses everything');
    if (!this.isStaged) return;
    const last = this.lastSequence;
    this.#isPoisoned = true;
    try {
      // Outside of a transaction an INSERT is its own transaction, and a batch of one row needs no more.
      if (!this.#rows.isEmpty) this.#insertRow(this.#finishRow(), this.#rows.crc, last);
      if (this.#isInTransaction) this.#commit.run();
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${last}`);
    }
    assert(this.#head.sequence === last, 'JOURNAL-1: the head stands after the batch');
    assert(last >= this.#reached.sequence, 'JOURNAL-5: the mark follows the commits');
    this.#mark.advance(this.#head);
    this.#wrote(COMMIT_BYTES);
    this.#isPoisoned = false;
    this.#isInTransaction = false;
    this.isStaged = false;
  }

  /** Called before a record is taken into the batch. */
  #stage(sequence: number): void {
    assert(!this.#isPoisoned, 'JOURNAL-3: a failed journal refuses everything');
    assert(sequence === this.lastSequence + 1, 'JOURNAL-1: sequences have no gap');
    if (!this.isStaged) this.#checkpointIfDue();
  }

  #finishRow(): Uint8Array {
    return this.#rows.finish(this.#head);
  }

  /** Writes rows of a batch that is not complete yet. */
  #writePart(bytes: Uint8Array, crc: number, sequence: number): void {
    this.#isPoisoned = true;
    try {
      if (!this.#isInTransaction) this.#begin.run();
      this.#isInTransaction = true;
      this.#insertRow(bytes, crc, sequence);
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${sequence}`);
    }
    this.#isPoisoned = false;
  }

  /** SQLite copies the bytes while it binds them, so the next row may use their memory again. */
  #insertRow(bytes: Uint8Array, crc: number, sequence: number): void {
    this.#copy?.(sequence, bytes);
    this.#insert.run(sequence, bytes);
    this.#wrote(bytes.length);
    this.#head.advance(crc, sequence);
  }

  /** Returns a row without checking it. */
  rowAfter(sequence: number): Row | undefined {
    const sql = 'SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence LIMIT 1';
    return prepared<[number], Row>(this.#db, sql).get(sequence);
  }

  replay(after: JournalHead, visit: RecordVisitor): void {
    assert(!this.isStaged, 'JOURNAL-2: only committed rows are replayed');
    const head = after.copy();
    const reader = new RowReader(this.#path, this.key);
    const rows = this.#db
      .prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence')
      .iterate(after.sequence);
    try {
      for (const row of rows) {
        const before = head.sequence;
        reader.load(row, head);
        this.#requireBetween(before, head, this.#reached, 'its mark');
        this.#requireBetween(before, head, this.#known, 'control.db');
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

  /** Bytes that commits can still write if the disk is full. */
  reserveLeftBytes(): number {
    return this.#reserve.leftBytes();
  }

  /** From now on a checkpointer copies the WAL into the file, on request through this cell. */
  checkpointsBy(cell: CheckpointCell): void {
    this.#checkpoints = cell;
  }

  /** From now on `copy` gets each row too, in this version of the layout, before this machine syncs the row. */
  copiesTo(copy: RowCopy, version: number): void {
    assert(!this.isStaged, 'JOURNAL-2: a batch goes to the same places as a whole');
    this.#copy = copy;
    this.#rows.version = version;
  }

  trim(sequence: number): boolean {
    assert(!this.isStaged, 'JOURNAL-2: a trim is no part of a batch');
    assert(sequence < this.#head.sequence, 'JOURNAL-4: the last row is never trimmed');
    try {
      const oldest = this.#oldest.get() ?? sequence + 1;
      if (oldest > sequence) return false;
      this.#wrote(TRIM_BYTES);
      const end = Math.min(sequence, oldest + TRIM_RECORDS);
      this.#trim.run(end);
      return end < sequence;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  /** Uncommitted records are dropped. */
  close(): void {
    try {
      if (!this.isStaged && !this.#isPoisoned) tryCheckpoint(this.#db);
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

  /** Called between two batches, so that replies to durable commands need not wait for a checkpoint. */
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
    // While the checkpointer copies, this call copies nothing and is tried again soon, before the WAL has doubled.
    const isBusy = pages !== null && pages < 0;
    this.#bytesSinceCheckpoint = isBusy ? Math.max(0, this.#bytesSinceCheckpoint - REQUEST_BYTES) : 0;
  }

  /** @param before the sequence number before the row after which `head` stands. */
  #requireBetween(before: number, head: JournalHead, anchor: JournalHead, witness: string): void {
    const { sequence } = anchor;
    if (sequence <= before || sequence > head.sequence || head.equals(anchor)) return;
    throw new JournalError(`journal ${this.#path}: sequence ${sequence}: not what ${witness} says was written`);
  }

  /** A journal that ends before its mark, or has rows but no mark, has lost possibly acknowledged records. */
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
      throw missingAfter(this.#path, sequence, marked);
    }
    if (marked.sequence === sequence && !marked.equals(this.#head)) {
      throw new JournalError(`journal ${this.#path}: sequence ${sequence}: not what its mark says was written`);
    }
    return marked;
  }
}
