/**
 * The journal of one shard: every accepted command with the events it caused, in a SQLite file of its own.
 * Owner: the shard thread holds the one connection that writes and checkpoints; the projector reads beside it through
 * a JournalReader, which does neither.
 *
 * A row's bytes are the header below, the command record and its event records (shared/commands.ts, shared/events.ts;
 * RECORD, REPLY and READY are not stored):
 *
 *   word 0   CRC-32C of everything behind it in the row
 *   word 1   layout version
 *   word 2   shardSequence (2)
 *   word 4   timeMs (2)
 *   word 6   commandBytes
 *   word 7   eventBytes
 *   word 8   chain value of the row before (2), 0 in front of the first
 *   word 10  command, then events
 *
 * A row's own chain value is mixed from the one before it, its CRC and its sequence. So each row vouches for all rows
 * before it: SQLite by itself returns a row with a flipped bit, or one of another history, without a word.
 *
 * Beside it lies its high-water mark (mark.ts), because SQLite cuts a damaged WAL short in silence.
 *
 * Invariants:
 *   J1  Sequences start at 1 and have no gap.
 *   J2  A batch is one transaction: its rows become durable together, at `commit`, or none does.
 *   J3  After a failed statement nothing is written any more. What a failed fsync left on the disk is unknown and a
 *       second try could report success for pages that are gone, so the shard ends and recovers from the file.
 */
import Database from 'better-sqlite3';
import { assert } from '../shared/assert.ts';
import { crc32c } from '../shared/crc32c.ts';
import { RecordBuffer, readSafe, writeSafe } from '../shared/record.ts';
import type { ShardOptions } from '../shared/threads.ts';
import { Mark } from './mark.ts';

export const JOURNAL_VERSION = 1;

export type JournalOptions = Pick<ShardOptions, 'shard' | 'shards' | 'journalPath' | 'journalSync'>;

export type JournalVisitor = (
  shardSequence: number,
  timeMs: number,
  words: Uint32Array,
  commandWord: number,
  commandBytes: number,
  eventWord: number,
  eventBytes: number,
) => void;

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

/** The journal cannot be trusted or does not belong here. Nothing is repaired: an operator has to look. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

const CRC = 0;
const VERSION = 1;
const SEQUENCE = 2;
const TIME_MS = 4;
const COMMAND_BYTES = 6;
const EVENT_BYTES = 7;
const CHAIN = 8;
const HEADER_WORDS = 10;
const HEADER_BYTES = HEADER_WORDS * 4;

/** Before it, a WAL reset racing with a checkpoint of another connection could lose committed rows. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/**
 * Pages (16 MiB) after which a commit also checkpoints. A checkpoint holds up one commit for 4-25 ms, so it should be
 * rare; the size of the WAL is what a restart has to read again, so it should not be large.
 */
const CHECKPOINT_PAGES = 4000;
const BUSY_TIMEOUT_MS = 1000;
/** Rows a trim takes at once: a few milliseconds, between two batches. */
const TRIM_ROWS = 1000;
const INITIAL_ROW_BYTES = 1 << 16;

const SCHEMA = `
  CREATE TABLE meta (
    layout_version INTEGER NOT NULL,
    shard          INTEGER NOT NULL,
    shards         INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY,
    bytes    BLOB NOT NULL
  ) STRICT;`;

type Row = { readonly sequence: number; readonly bytes: Uint8Array };

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
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  /** The mark as it was found: a replay has to pass exactly here. */
  readonly #reached: JournalHead;
  #isPoisoned = false;

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
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
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
    return this.#db.prepare<[], number>('SELECT min(sequence) FROM journal').pluck().get() ?? this.lastSequence + 1;
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
    const scratch = this.#scratch;
    scratch.clear();
    scratch.append(HEADER_BYTES, JOURNAL_VERSION);
    scratch.appendRecords(commandWords, commandWord, commandBytes);
    scratch.appendRecords(eventWords, eventWord, eventBytes);
    const { words } = scratch;
    writeSafe(words, SEQUENCE, shardSequence);
    writeSafe(words, TIME_MS, timeMs);
    words[COMMAND_BYTES] = commandBytes;
    words[EVENT_BYTES] = eventBytes;
    words[CHAIN] = this.#head.chainLow;
    words[CHAIN + 1] = this.#head.chainHigh;
    const crc = crc32c(scratch, 4, scratch.lengthBytes);
    words[CRC] = crc;

    this.#isPoisoned = true;
    try {
      if (!this.isStaged) this.#begin.run();
      this.isStaged = true;
      // SQLite copies the bytes while it binds them, so the scratch is free again afterwards.
      this.#insert.run(shardSequence, scratch.bytes.subarray(0, scratch.lengthBytes));
    } catch (error) {
      throw located(error, `${this.#path}: sequence ${shardSequence}`);
    }
    this.#isPoisoned = false;
    this.#head.advance(crc);
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
  }

  trim(sequence: number): boolean {
    assert(!this.isStaged, 'journal: trimmed between batches');
    try {
      return this.#trim.run(sequence, TRIM_ROWS).changes === TRIM_ROWS;
    } catch (error) {
      throw located(error, this.#path);
    }
  }

  /** What is staged and not committed is dropped. */
  close(): void {
    if (!this.isStaged && !this.#isPoisoned) this.#db.pragma('wal_checkpoint(TRUNCATE)');
    this.#db.close();
    this.#mark.close();
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

/** Where the mark of a journal lies. */
export function markPath(journalPath: string): string {
  return journalPath.replace(/(\.db)?$/, '.mark');
}

/** A read-only view of a journal its shard is writing. Reads are short: an open one keeps checkpoints from ending. */
export class JournalReader {
  readonly #db: Database.Database;
  readonly #rows: Database.Statement<[number, number], Row>;
  readonly #reader: RowReader;

  constructor(path: string) {
    this.#db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      requireSqlite(this.#db);
      this.#rows = this.#db.prepare(
        'SELECT sequence, bytes FROM journal WHERE sequence >= ? ORDER BY sequence LIMIT ?',
      );
    } catch (error) {
      this.#db.close();
      throw error;
    }
    this.#reader = new RowReader(path);
  }

  /** What the file says of itself, unchecked. */
  facts(): JournalFacts {
    const facts = this.#db
      .prepare<[], JournalFacts>(
        `SELECT layout_version AS layoutVersion, shard, shards,
           ifnull((SELECT min(sequence) FROM journal), 1) AS firstSequence,
           ifnull((SELECT max(sequence) FROM journal), 0) AS lastSequence
         FROM meta`,
      )
      .get();
    if (facts === undefined) throw new JournalError('does not say which shard it belongs to');
    return facts;
  }

  /** The place in front of a row: its link to the row before it is taken on trust. */
  headBefore(sequence: number): JournalHead {
    if (sequence === 1) return new JournalHead(0, 0, 0);
    return this.#reader.headBefore(this.#rows.get(sequence, 1), sequence);
  }

  /**
   * Visits at most `limit` rows behind `head`, which moves along; the read is over before the first visit.
   * @returns how many rows there were.
   */
  readFrom(head: JournalHead, limit: number, visit: JournalVisitor): number {
    const rows = this.#rows.all(head.sequence + 1, limit);
    for (const row of rows) {
      this.#reader.load(row, head);
      this.#reader.show(visit);
    }
    return rows.length;
  }

  /** Whether the journal goes on where `head` stands, with the same history before it; rows behind may be trimmed. */
  continues(head: JournalHead): boolean {
    const row = this.#rows.get(head.sequence, 1);
    if (row?.sequence === head.sequence) return this.#reader.headAfter(row).equals(head);
    const first = this.facts().firstSequence;
    return first === head.sequence + 1 && this.headBefore(first).equals(head);
  }

  close(): void {
    this.#db.close();
  }
}

export type JournalFacts = {
  readonly layoutVersion: number;
  readonly shard: number;
  readonly shards: number;
  /** 1 when there are no rows, and then `lastSequence` is 0. */
  readonly firstSequence: number;
  readonly lastSequence: number;
};

/** A place in a journal: behind the row `sequence`, whose chain value it carries as two signed words. */
export class JournalHead {
  sequence: number;
  chainLow: number;
  chainHigh: number;

  constructor(sequence: number, chainLow: number, chainHigh: number) {
    this.sequence = sequence;
    this.chainLow = chainLow;
    this.chainHigh = chainHigh;
  }

  /** Moves behind the next row. Two lanes, odd multipliers, each folded into the other: cheap, not cryptographic. */
  advance(crc: number): void {
    this.sequence++;
    const low = Math.imul(this.chainLow ^ crc, 0x9e3779b1) ^ this.chainHigh;
    const high = Math.imul(this.chainHigh ^ crc ^ this.sequence, 0x85ebca6b) ^ this.chainLow;
    this.chainLow = low ^ (low >>> 15);
    this.chainHigh = high ^ (high >>> 13);
  }

  copy(): JournalHead {
    return new JournalHead(this.sequence, this.chainLow, this.chainHigh);
  }

  equals(other: JournalHead): boolean {
    return this.sequence === other.sequence && this.chainLow === other.chainLow && this.chainHigh === other.chainHigh;
  }
}

/** Checks rows, one at a time, in aligned memory that the next row uses again. */
class RowReader {
  readonly #path: string;
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);

  constructor(path: string) {
    this.#path = path;
  }

  /** Takes the row that follows `head`, and moves `head` behind it. */
  load(row: Row, head: JournalHead): void {
    const expected = head.sequence + 1;
    if (row.sequence !== expected) throw this.#error(expected, `missing, the next row is ${row.sequence}`);
    this.#check(row);
    const { words } = this.#scratch;
    const isLinked = (words[CHAIN]! | 0) === head.chainLow && (words[CHAIN + 1]! | 0) === head.chainHigh;
    if (!isLinked) throw this.#error(expected, 'does not follow the row before it');
    head.advance(words[CRC]!);
  }

  /** The place behind a row whose predecessor is not at hand: its link is taken on trust. */
  headAfter(row: Row): JournalHead {
    const head = this.headBefore(row, row.sequence);
    head.advance(this.#scratch.words[CRC]!);
    return head;
  }

  headBefore(row: Row | undefined, sequence: number): JournalHead {
    if (row?.sequence !== sequence) throw this.#error(sequence, 'missing');
    this.#check(row);
    const { words } = this.#scratch;
    return new JournalHead(sequence - 1, words[CHAIN]! | 0, words[CHAIN + 1]! | 0);
  }

  /** Shows the loaded row. */
  show(visit: JournalVisitor): void {
    const { words } = this.#scratch;
    const commandBytes = words[COMMAND_BYTES]!;
    const eventWord = HEADER_WORDS + (commandBytes >>> 2);
    const timeMs = readSafe(words, TIME_MS);
    visit(readSafe(words, SEQUENCE), timeMs, words, HEADER_WORDS, commandBytes, eventWord, words[EVENT_BYTES]!);
  }

  #check(row: Row): void {
    const rowBytes = row.bytes.byteLength;
    if (rowBytes < HEADER_BYTES || rowBytes % 8 !== 0) throw this.#error(row.sequence, 'cut short');
    const scratch = this.#scratch;
    scratch.clear();
    scratch.append(rowBytes, 0);
    scratch.bytes.set(row.bytes);
    const { words } = scratch;
    if (words[CRC] !== crc32c(scratch, 4, rowBytes)) throw this.#error(row.sequence, 'checksum mismatch');
    if (words[VERSION] !== JOURNAL_VERSION) throw this.#error(row.sequence, `layout version ${words[VERSION]}`);
    if (readSafe(words, SEQUENCE) !== row.sequence) throw this.#error(row.sequence, 'bytes of another row');
    const isWhole = HEADER_BYTES + words[COMMAND_BYTES]! + words[EVENT_BYTES]! === rowBytes;
    if (!isWhole) throw this.#error(row.sequence, 'lengths do not add up');
  }

  #error(sequence: number, reason: string): JournalError {
    return new JournalError(`journal ${this.#path}: sequence ${sequence}: ${reason}`);
  }
}

/** SQLite says what is wrong, but not where. */
function located(error: unknown, place: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  return new JournalError(`journal ${place}: ${error.message}`, { cause: error });
}

function requireSqlite(db: Database.Database): void {
  const version = db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '';
  const parts = version.split('.').map(Number);
  const different = OLDEST_SQLITE.findIndex((part, index) => parts[index] !== part);
  const isRecent = different < 0 || (parts[different] ?? 0) > OLDEST_SQLITE[different]!;
  if (!isRecent) throw new JournalError(`journal: SQLite ${version} is older than ${OLDEST_SQLITE.join('.')}`);
}

/** A new file is marked with its shard; one that is marked otherwise is refused, because markets would move. */
function claim(db: Database.Database, options: JournalOptions): void {
  const isNew = db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (isNew) {
    db.transaction(() => {
      db.exec(SCHEMA);
      db.prepare('INSERT INTO meta VALUES (?, ?, ?)').run(JOURNAL_VERSION, options.shard, options.shards);
    }).immediate();
  }
  const meta = db.prepare<[], Meta>('SELECT layout_version, shard, shards FROM meta').get();
  if (meta?.layout_version !== JOURNAL_VERSION) {
    const found = meta?.layout_version ?? 'none';
    throw new JournalError(`journal ${options.journalPath}: layout version ${found}, expected ${JOURNAL_VERSION}`);
  }
  if (meta.shard !== options.shard || meta.shards !== options.shards) {
    throw new JournalError(
      `journal ${options.journalPath}: belongs to shard ${meta.shard} of ${meta.shards}, ` +
        `not to shard ${options.shard} of ${options.shards}`,
    );
  }
}

type Meta = { readonly layout_version: number; readonly shard: number; readonly shards: number };
