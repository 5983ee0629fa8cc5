/**
 * The journal as it was until layout version 2, for comparison: each record is a row of its own, with a header, a
 * checksum, a tag and an INSERT, and each batch a transaction of those. It does not sync, and its caller checkpoints.
 */
import Database from 'better-sqlite3';
import { markPath } from '../engine/journal/file.ts';
import type { JournalRecord } from '../engine/journal/journalRecord.ts';
import { Mark } from '../engine/journal/mark.ts';
import { JournalHead, OLD_JOURNAL_ROW, tagOf } from '../engine/journal/row.ts';
import { crc32c } from '../shared/base/crc32c.ts';
import { RecordBuffer, writeSafe } from '../shared/wire/record.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';

export class RowPerRecord {
  readonly #db: Database.Database;
  readonly #begin: Database.Statement;
  readonly #insert: Database.Statement<[number, Uint8Array]>;
  readonly #commit: Database.Statement;
  readonly #mark: Mark;
  readonly #head = new JournalHead(0, 0, 0);
  readonly #scratch = new RecordBuffer(1 << 16);
  #isStaged = false;

  constructor(path: string) {
    const db = new Database(path);
    this.#db = db;
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('wal_autocheckpoint = 0');
    db.exec('CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT');
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#insert = db.prepare('INSERT INTO journal (sequence, bytes) VALUES (?, ?)');
    this.#commit = db.prepare('COMMIT');
    this.#mark = new Mark(markPath(path), 0);
  }

  append(record: JournalRecord): void {
    if (!this.#isStaged) this.#begin.run();
    this.#isStaged = true;
    this.#insert.run(record.sequence, this.#build(record));
    this.#head.advance(this.#scratch.words[OLD_JOURNAL_ROW.crc], record.sequence);
  }

  commit(): void {
    this.#commit.run();
    this.#mark.advance(this.#head);
    this.#isStaged = false;
  }

  checkpoint(): void {
    this.#db.pragma('wal_checkpoint(PASSIVE)');
  }

  close(): void {
    this.#db.close();
    this.#mark.close();
  }

  #build({ sequence, timeMs, command, events }: JournalRecord): Uint8Array {
    const scratch = this.#scratch;
    scratch.clear();
    scratch.append(OLD_JOURNAL_ROW.BYTES, 2);
    scratch.appendRecords(command.words, command.word, command.bytes);
    scratch.appendRecords(events.words, events.word, events.bytes);
    const { words, lengthBytes } = scratch;
    writeSafe(words, OLD_JOURNAL_ROW.shardSequence, sequence);
    writeSafe(words, OLD_JOURNAL_ROW.timeMs, timeMs);
    words[OLD_JOURNAL_ROW.commandBytes] = command.bytes;
    words[OLD_JOURNAL_ROW.eventBytes] = events.bytes;
    words[OLD_JOURNAL_ROW.chainLow] = this.#head.chainLow;
    words[OLD_JOURNAL_ROW.chainHigh] = this.#head.chainHigh;
    words.set(tagOf(TEST_KEY, scratch), OLD_JOURNAL_ROW.tag);
    words[OLD_JOURNAL_ROW.crc] = crc32c(scratch, OLD_JOURNAL_ROW.version * 4, lengthBytes);
    return scratch.bytes.subarray(0, lengthBytes);
  }
}
