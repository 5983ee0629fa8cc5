/**
 * Builds rows, one at a time, in memory that is used again for the next row. Each record is copied once, right behind
 * its predecessor; checksum and tag are computed once for all records.
 */
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { COMMAND_AGES, EVENT_AGES } from '../../shared/wire/ages.ts';
import { RecordBuffer, writeSafe } from '../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';
import { JournalRecord } from './journalRecord.ts';
import {
  INITIAL_ROW_BYTES,
  JOURNAL_RECORD,
  JOURNAL_ROW,
  JOURNAL_VERSION,
  type JournalHead,
  MOST_ROW_BYTES,
  OLDEST_WRITTEN,
  tagOf,
} from './row.ts';
import type { ShardKey } from './shardKey.ts';

export class RowWriter {
  readonly #key: ShardKey;
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  /** A record in the layouts of an older version. */
  readonly #narrow = new RecordBuffer(INITIAL_ROW_BYTES);
  readonly #record = new JournalRecord();
  #version: number = JOURNAL_VERSION;
  #firstSequence = 0;
  /** The sequence number of the last record that was added. */
  lastSequence = 0;
  /** True until a record is added to the next row. */
  isEmpty = true;
  /** The checksum of the last finished row, for its chain value. */
  crc = 0;

  constructor(key: ShardKey) {
    this.#key = key;
  }

  /** Takes effect with the next row. */
  set version(version: number) {
    assert(
      version >= OLDEST_WRITTEN && version <= JOURNAL_VERSION,
      'row: a version is written that this program knows',
    );
    assert(this.isEmpty, 'row: a row has one version');
    this.#version = version;
  }

  /** ROW-6. */
  hasRoomFor({ command, events }: JournalRecord): boolean {
    const recordBytes = JOURNAL_RECORD.BYTES + command.bytes + events.bytes;
    return this.isEmpty || this.#scratch.lengthBytes + recordBytes <= MOST_ROW_BYTES;
  }

  add(record: JournalRecord): void {
    const { sequence, timeMs, command, events } = record.version === RECORD_VERSION ? record : this.#narrowed(record);
    assert(command.words[command.word] === command.bytes, 'ROW-4: a record holds one command');
    assert(command.bytes % 8 === 0 && events.bytes % 8 === 0, 'ROW-1: a part is a multiple of 8');
    const scratch = this.#scratch;
    if (this.isEmpty) {
      scratch.clear();
      scratch.append(JOURNAL_ROW.BYTES, this.#version);
      this.#firstSequence = sequence;
      this.isEmpty = false;
    } else {
      assert(sequence === this.lastSequence + 1, 'ROW-1: the records of a row have no gap');
    }
    this.lastSequence = sequence;
    const word = scratch.claim(JOURNAL_RECORD.BYTES, 0);
    scratch.words[word + JOURNAL_RECORD.commandBytes] = command.bytes;
    scratch.words[word + JOURNAL_RECORD.eventBytes] = events.bytes;
    writeSafe(scratch.words, word + JOURNAL_RECORD.timeMs, timeMs);
    scratch.appendRecords(command.words, command.word, command.bytes);
    scratch.appendRecords(events.words, events.word, events.bytes);
  }

  /** The record in the layouts of its version. */
  #narrowed({ sequence, timeMs, version, command, events }: JournalRecord): JournalRecord {
    const [narrow, record] = [this.#narrow, this.#record];
    narrow.clear();
    COMMAND_AGES.narrow(version, command.words, command.word, command.end, narrow);
    const commandBytes = narrow.lengthBytes;
    EVENT_AGES.narrow(version, events.words, events.word, events.end, narrow);
    record.sequence = sequence;
    record.timeMs = timeMs;
    record.command.set(narrow.words, 0, commandBytes);
    record.events.set(narrow.words, commandBytes >>> 2, narrow.lengthBytes - commandBytes);
    return record;
  }

  /** @param before the head before the row. @returns the row's bytes, valid until the next record is added. */
  finish(before: JournalHead): Uint8Array {
    assert(!this.isEmpty, 'ROW-1: a row has a record');
    assert(this.#firstSequence === before.sequence + 1, 'ROW-3: a row follows the one before it');
    this.isEmpty = true;
    const scratch = this.#scratch;
    const { words, lengthBytes } = scratch;
    assert(lengthBytes % 8 === 0, 'ROW-1: a row is a multiple of 8');
    writeSafe(words, JOURNAL_ROW.lastSequence, this.lastSequence);
    writeSafe(words, JOURNAL_ROW.firstSequence, this.#firstSequence);
    words[JOURNAL_ROW.recordBytes] = lengthBytes - JOURNAL_ROW.BYTES;
    words[JOURNAL_ROW.chainLow] = before.chainLow;
    words[JOURNAL_ROW.chainHigh] = before.chainHigh;
    words.set(tagOf(this.#key, scratch), JOURNAL_ROW.tag);
    this.crc = crc32c(scratch, JOURNAL_ROW.version * 4, lengthBytes);
    words[JOURNAL_ROW.crc] = this.crc;
    return scratch.bytes.subarray(0, lengthBytes);
  }
}
