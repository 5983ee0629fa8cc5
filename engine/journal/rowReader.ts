/**
 * Checks rows, one at a time, in aligned memory that is used again for the next row. A row that fails causes a
 * JournalError.
 */
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { MAC_WORDS } from '../../shared/crypto/mac.ts';
import { COMMAND_AGES, EVENT_AGES, NewerRecordError, versionOf } from '../../shared/wire/ages.ts';
import { RecordBuffer, readSafe } from '../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';
import { JournalRecord, type RecordVisitor } from './journalRecord.ts';
import {
  INITIAL_ROW_BYTES,
  isOfBatch,
  JOURNAL_RECORD,
  JOURNAL_ROW,
  JOURNAL_VERSION,
  JournalError,
  JournalHead,
  NewerRowError,
  OLD_JOURNAL_ROW,
  OLDEST_READ,
  type Row,
  tagOf,
} from './row.ts';
import type { ShardKey } from './shardKey.ts';

const LEAST_BYTES = OLD_JOURNAL_ROW.BYTES;

export class RowReader {
  readonly #path: string;
  readonly #key: ShardKey;
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  readonly #view = new JournalRecord();
  /** The record that is shown, where the row has it in an older layout. */
  readonly #wide = new RecordBuffer(INITIAL_ROW_BYTES);

  constructor(path: string, key: ShardKey) {
    this.#path = path;
    this.#key = key;
  }

  /** Loads the row that follows `head`, and moves `head` past it. */
  load(row: Row, head: JournalHead): void {
    const expected = head.sequence + 1;
    if (row.sequence < expected) throw this.#error(expected, `missing, the next row ends with ${row.sequence}`);
    this.#check(row, expected);
    const { words } = this.#scratch;
    const first = this.#firstSequence();
    if (first > expected) throw this.#error(expected, `missing, the next record is ${first}`);
    if (first < expected) throw this.#error(expected, `in the middle of the row of ${first} to ${row.sequence}`);
    const isLinked =
      (words[JOURNAL_ROW.chainLow] | 0) === head.chainLow && (words[JOURNAL_ROW.chainHigh] | 0) === head.chainHigh;
    if (!isLinked) throw this.#error(expected, 'does not follow the row before it');
    head.advance(words[JOURNAL_ROW.crc], row.sequence);
  }

  /** Returns the head after a row. The previous row is not available, so the chain value in this row is trusted. */
  headAfter(row: Row): JournalHead {
    this.#check(row, row.sequence);
    const head = this.#headBefore();
    head.advance(this.#scratch.words[JOURNAL_ROW.crc], row.sequence);
    return head;
  }

  /**
   * Returns the head before the row that begins with `sequence`, from the chain value in this row, which is trusted
   * here too.
   */
  headBefore(row: Row | undefined, sequence: number): JournalHead {
    if (row === undefined) throw this.#error(sequence, 'missing');
    this.#check(row, sequence);
    const first = this.#firstSequence();
    if (first !== sequence) throw this.#error(sequence, `no row begins with it, the next begins with ${first}`);
    return this.#headBefore();
  }

  /** Shows the records of the loaded row. */
  show(visit: RecordVisitor): void {
    const { words, lengthBytes } = this.#scratch;
    const version = words[JOURNAL_ROW.version];
    const end = isOfBatch(version) ? this.#showAll(visit) : this.#showOld(visit);
    assert(end * 4 === lengthBytes, 'ROW-1: the lengths of the records add up');
  }

  /** @returns the word after the last record, as the methods below do. */
  #showAll(visit: RecordVisitor): number {
    const { words } = this.#scratch;
    const last = readSafe(words, JOURNAL_ROW.lastSequence);
    let word = JOURNAL_ROW.WORDS;
    for (let sequence = this.#firstSequence(); sequence <= last; sequence++) {
      const timeMs = readSafe(words, word + JOURNAL_RECORD.timeMs);
      const commandBytes = words[word + JOURNAL_RECORD.commandBytes];
      const eventBytes = words[word + JOURNAL_RECORD.eventBytes];
      word = this.#showRecord(visit, sequence, timeMs, word + JOURNAL_RECORD.WORDS, commandBytes, eventBytes);
    }
    return word;
  }

  /** Shows the only record of a row of version 2. */
  #showOld(visit: RecordVisitor): number {
    const { words } = this.#scratch;
    const sequence = readSafe(words, OLD_JOURNAL_ROW.shardSequence);
    const timeMs = readSafe(words, OLD_JOURNAL_ROW.timeMs);
    const commandBytes = words[OLD_JOURNAL_ROW.commandBytes];
    const eventBytes = words[OLD_JOURNAL_ROW.eventBytes];
    return this.#showRecord(visit, sequence, timeMs, OLD_JOURNAL_ROW.WORDS, commandBytes, eventBytes);
  }

  #showRecord(
    visit: RecordVisitor,
    sequence: number,
    timeMs: number,
    word: number,
    commandBytes: number,
    eventBytes: number,
  ): number {
    const view = this.#view;
    const { words, lengthBytes } = this.#scratch;
    view.sequence = sequence;
    view.timeMs = timeMs;
    view.command.set(words, word, commandBytes);
    view.events.set(words, view.command.end, eventBytes);
    const { end } = view.events;
    assert(end * 4 <= lengthBytes, 'ROW-1: a record ends in its row');
    assert(words[word] === commandBytes, 'ROW-4: a record holds one command');
    view.version = versionOf(words, word);
    if (view.version !== RECORD_VERSION) this.#widen(view);
    visit(view);
    return end;
  }

  /** Shows an older record in the layouts of today. */
  #widen({ version, sequence, command, events }: JournalRecord): void {
    const wide = this.#wide;
    wide.clear();
    try {
      COMMAND_AGES.widen(version, command.words, command.word, command.end, wide);
      const commandBytes = wide.lengthBytes;
      EVENT_AGES.widen(version, events.words, events.word, events.end, wide);
      command.set(wide.words, 0, commandBytes);
      events.set(wide.words, commandBytes >>> 2, wide.lengthBytes - commandBytes);
    } catch (error) {
      if (error instanceof NewerRecordError) throw new NewerRowError(this.#error(sequence, error.message).message);
      throw error;
    }
  }

  #headBefore(): JournalHead {
    const { words } = this.#scratch;
    return new JournalHead(
      this.#firstSequence() - 1,
      words[JOURNAL_ROW.chainLow] | 0,
      words[JOURNAL_ROW.chainHigh] | 0,
    );
  }

  /** The first sequence number of the loaded row. */
  #firstSequence(): number {
    const { words } = this.#scratch;
    const isBatch = isOfBatch(words[JOURNAL_ROW.version]);
    return readSafe(words, isBatch ? JOURNAL_ROW.firstSequence : OLD_JOURNAL_ROW.shardSequence);
  }

  /** @param sequence the number that an error names. */
  #check(row: Row, sequence: number): void {
    // A flipped bit in SQLite's own header of a row can give its column another type.
    if (!(row.bytes instanceof Uint8Array)) throw this.#error(sequence, 'holds no bytes');
    const rowBytes = row.bytes.byteLength;
    if (rowBytes < LEAST_BYTES || rowBytes % 8 !== 0) throw this.#error(sequence, 'cut short');
    const scratch = this.#scratch;
    scratch.clear();
    scratch.claim(rowBytes, 0);
    scratch.bytes.set(row.bytes);
    const { words } = scratch;
    const isIntact = words[JOURNAL_ROW.crc] === crc32c(scratch, JOURNAL_ROW.version * 4, rowBytes);
    if (!isIntact) throw this.#error(sequence, 'checksum mismatch');
    const version = words[JOURNAL_ROW.version];
    if (version > JOURNAL_VERSION) throw new NewerRowError(this.#error(sequence, `layout version ${version}`).message);
    if (version < OLDEST_READ) throw this.#error(sequence, `layout version ${version}`);
    if (readSafe(words, JOURNAL_ROW.lastSequence) !== row.sequence) throw this.#error(sequence, 'bytes of another row');
    const isWhole = headerWords(version) * 4 + contentBytes(words) === rowBytes;
    if (!isWhole) throw this.#error(sequence, 'lengths do not add up');
    if (row.sequence >= this.#key.keyedFrom && !this.#isOurs()) {
      throw this.#error(sequence, 'not written by this exchange: its tag is wrong');
    }
    const first = this.#firstSequence();
    if (first < 1 || first > row.sequence) throw this.#error(sequence, `begins with ${first}`);
  }

  /** ROW-5. Overwrites the tag in memory. */
  #isOurs(): boolean {
    const { words } = this.#scratch;
    const stored = words.slice(JOURNAL_ROW.tag, JOURNAL_ROW.tag + MAC_WORDS);
    words.fill(0, JOURNAL_ROW.tag, JOURNAL_ROW.tag + MAC_WORDS);
    return tagOf(this.#key, this.#scratch).every((word, index) => word === stored[index]);
  }

  #error(sequence: number, reason: string): JournalError {
    return new JournalError(`journal ${this.#path}: sequence ${sequence}: ${reason}`);
  }
}

function headerWords(version: number): number {
  return isOfBatch(version) ? JOURNAL_ROW.WORDS : OLD_JOURNAL_ROW.WORDS;
}

/** The number of bytes after the header of a row, as the header says. */
function contentBytes(words: Uint32Array): number {
  if (isOfBatch(words[JOURNAL_ROW.version])) return words[JOURNAL_ROW.recordBytes];
  return words[OLD_JOURNAL_ROW.commandBytes] + words[OLD_JOURNAL_ROW.eventBytes];
}
