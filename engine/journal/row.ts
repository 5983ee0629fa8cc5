/**
 * A row of a journal: its bytes, their check, and the chain that ties each row to all rows before it. SQLite returns a
 * row with a flipped bit, or a row of another history, without an error.
 *
 * A row's bytes are a JOURNAL_ROW (RECORDS.md), the command record and its event records. The events RECORD, REPLY and
 * READY are not stored.
 *
 * Invariants:
 *   ROW-1  length = JOURNAL_ROW.BYTES + commandBytes + eventBytes, and each of them is a multiple of 8.
 *   ROW-2  crc is the CRC-32C of all bytes after it.
 *   ROW-3  chain(row) = mix(chain(row - 1), crc, shardSequence), and a row holds chain(row - 1). chain(0) is 0.
 *   ROW-4  A row holds exactly one command, which comes first.
 *   ROW-5  tag authenticates everything after crc, with zeros in its own place. Rows from `keyedFrom` of the key on are
 *          refused without a good tag. Rows of version 1 have none.
 */
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { MAC_BYTES, MAC_WORDS } from '../../shared/crypto/mac.ts';
import { bytes, record, safe, u32 } from '../../shared/wire/layout.ts';
import { RecordBuffer, readSafe, writeSafe } from '../../shared/wire/record.ts';
import { RowView, type RowVisitor } from './rowView.ts';
import type { ShardKey } from './shardKey.ts';

const JOURNAL_VERSION = 2;
const OLDEST_READ = 1;
export const JOURNAL_ROW = record(
  'JOURNAL_ROW',
  {
    crc: u32('CRC-32C of everything after it in the row'),
    version: u32(),
    shardSequence: safe(),
    timeMs: safe(),
    commandBytes: u32(),
    eventBytes: u32(),
    chainLow: u32('chain value of the row before, 0 for the first'),
    chainHigh: u32(),
    tag: bytes(MAC_BYTES, 'authenticates everything after crc, with zeros in its place'),
  },
  'The header of a row in a journal: a command and its events follow.',
);
/** By version: the words of the header. */
const HEADER_WORDS = [0, JOURNAL_ROW.tag, JOURNAL_ROW.WORDS] as const;

assert(JOURNAL_ROW.BYTES % 8 === 0, 'ROW-1: the header is a multiple of 8');
assert(JOURNAL_ROW.crc === 0, 'ROW-2: the checksum covers everything after it');
assert(HEADER_WORDS.length === JOURNAL_VERSION + 1, 'row: every version that is read has a header');

/** The journal is damaged or belongs elsewhere. Nothing is repaired by itself: an operator has to decide. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

export type Row = { readonly sequence: number; readonly bytes: Uint8Array };

const INITIAL_ROW_BYTES = 1 << 16;

/** A position in a journal, after the row `sequence`, with the chain value of that row as two signed words. */
export class JournalHead {
  sequence: number;
  chainLow: number;
  chainHigh: number;

  constructor(sequence: number, chainLow: number, chainHigh: number) {
    assert(Number.isSafeInteger(sequence) && sequence >= 0, 'ROW-3: sequences count from 0');
    assert((chainLow | 0) === chainLow && (chainHigh | 0) === chainHigh, 'ROW-3: chain values are signed words');
    this.sequence = sequence;
    this.chainLow = chainLow;
    this.chainHigh = chainHigh;
  }

  /**
   * Moves after the next row. The mix has two lanes with odd multipliers, each folded into the other: it is cheap and
   * not cryptographic.
   */
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

/** Builds rows, one at a time, in memory that the next row uses again. */
export class RowWriter {
  readonly #key: ShardKey;
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  /** Checksum of the row that was built last, for its chain value. */
  crc = 0;

  constructor(key: ShardKey) {
    this.#key = key;
  }

  /** @param before the head before the row. @returns the bytes, valid until the next row is built. */
  build(before: JournalHead, { sequence, timeMs, command, events }: RowView): Uint8Array {
    assert(sequence === before.sequence + 1, 'ROW-3: a row follows the one before it');
    assert(command.words[command.word] === command.bytes, 'ROW-4: a row holds one command');
    const scratch = this.#scratch;
    scratch.clear();
    scratch.append(JOURNAL_ROW.BYTES, JOURNAL_VERSION);
    scratch.appendRecords(command.words, command.word, command.bytes);
    scratch.appendRecords(events.words, events.word, events.bytes);
    const { words, lengthBytes } = scratch;
    assert(lengthBytes === JOURNAL_ROW.BYTES + command.bytes + events.bytes, 'ROW-1: the lengths add up');
    assert(lengthBytes % 8 === 0, 'ROW-1: a row is a multiple of 8');
    writeSafe(words, JOURNAL_ROW.shardSequence, sequence);
    writeSafe(words, JOURNAL_ROW.timeMs, timeMs);
    words[JOURNAL_ROW.commandBytes] = command.bytes;
    words[JOURNAL_ROW.eventBytes] = events.bytes;
    words[JOURNAL_ROW.chainLow] = before.chainLow;
    words[JOURNAL_ROW.chainHigh] = before.chainHigh;
    words.set(tagOf(this.#key, scratch), JOURNAL_ROW.tag);
    this.crc = crc32c(scratch, JOURNAL_ROW.version * 4, lengthBytes);
    words[JOURNAL_ROW.crc] = this.crc;
    return scratch.bytes.subarray(0, lengthBytes);
  }
}

/** Checks rows, one at a time, in aligned memory that the next row uses again. A row that fails is a JournalError. */
export class RowReader {
  readonly #path: string;
  readonly #key: ShardKey;
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  readonly #view = new RowView();

  constructor(path: string, key: ShardKey) {
    this.#path = path;
    this.#key = key;
  }

  /** Loads the row that follows `head`, and moves `head` after it. */
  load(row: Row, head: JournalHead): void {
    const expected = head.sequence + 1;
    if (row.sequence !== expected) throw this.#error(expected, `missing, the next row is ${row.sequence}`);
    this.#check(row);
    const { words } = this.#scratch;
    const isLinked =
      (words[JOURNAL_ROW.chainLow] | 0) === head.chainLow && (words[JOURNAL_ROW.chainHigh] | 0) === head.chainHigh;
    if (!isLinked) throw this.#error(expected, 'does not follow the row before it');
    head.advance(words[JOURNAL_ROW.crc]);
  }

  /** The head after a row. The row before is not available, so the chain value in this row is trusted. */
  headAfter(row: Row): JournalHead {
    const head = this.headBefore(row, row.sequence);
    head.advance(this.#scratch.words[JOURNAL_ROW.crc]);
    return head;
  }

  /** The head before a row, from the chain value in the row, which is trusted here too. */
  headBefore(row: Row | undefined, sequence: number): JournalHead {
    if (row?.sequence !== sequence) throw this.#error(sequence, 'missing');
    this.#check(row);
    const { words } = this.#scratch;
    return new JournalHead(sequence - 1, words[JOURNAL_ROW.chainLow] | 0, words[JOURNAL_ROW.chainHigh] | 0);
  }

  /** Shows the loaded row. */
  show(visit: RowVisitor): void {
    const { words } = this.#scratch;
    const view = this.#view;
    view.sequence = readSafe(words, JOURNAL_ROW.shardSequence);
    view.timeMs = readSafe(words, JOURNAL_ROW.timeMs);
    view.command.set(words, HEADER_WORDS[words[JOURNAL_ROW.version]]!, words[JOURNAL_ROW.commandBytes]);
    view.events.set(words, view.command.end, words[JOURNAL_ROW.eventBytes]);
    assert(words[view.command.word] === view.command.bytes, 'ROW-4: a row holds one command');
    assert(view.events.end * 4 === this.#scratch.lengthBytes, 'ROW-1: the lengths add up');
    visit(view);
  }

  #check(row: Row): void {
    // A flipped bit in SQLite's own header of a row can give its column another type.
    if (!(row.bytes instanceof Uint8Array)) throw this.#error(row.sequence, 'holds no bytes');
    const rowBytes = row.bytes.byteLength;
    if (rowBytes < JOURNAL_ROW.tag * 4 || rowBytes % 8 !== 0) throw this.#error(row.sequence, 'cut short');
    const scratch = this.#scratch;
    scratch.clear();
    scratch.claim(rowBytes, 0);
    scratch.bytes.set(row.bytes);
    const { words } = scratch;
    const isIntact = words[JOURNAL_ROW.crc] === crc32c(scratch, JOURNAL_ROW.version * 4, rowBytes);
    if (!isIntact) throw this.#error(row.sequence, 'checksum mismatch');
    const version = words[JOURNAL_ROW.version];
    if (version < OLDEST_READ || version > JOURNAL_VERSION)
      throw this.#error(row.sequence, `layout version ${version}`);
    if (readSafe(words, JOURNAL_ROW.shardSequence) !== row.sequence)
      throw this.#error(row.sequence, 'bytes of another row');
    const headerBytes = HEADER_WORDS[version]! * 4;
    const isWhole = headerBytes + words[JOURNAL_ROW.commandBytes] + words[JOURNAL_ROW.eventBytes] === rowBytes;
    if (!isWhole) throw this.#error(row.sequence, 'lengths do not add up');
    if (row.sequence >= this.#key.keyedFrom && !this.#isOurs(version)) {
      throw this.#error(row.sequence, 'not written by this exchange: its tag is wrong');
    }
  }

  /** ROW-5. The tag in memory is overwritten. */
  #isOurs(version: number): boolean {
    if (version < 2) return false;
    const { words } = this.#scratch;
    const stored = words.slice(JOURNAL_ROW.tag, JOURNAL_ROW.tag + MAC_WORDS);
    words.fill(0, JOURNAL_ROW.tag, JOURNAL_ROW.tag + MAC_WORDS);
    return tagOf(this.#key, this.#scratch).every((word, index) => word === stored[index]);
  }

  #error(sequence: number, reason: string): JournalError {
    return new JournalError(`journal ${this.#path}: sequence ${sequence}: ${reason}`);
  }
}

/** The tag of the row in this memory, whose own tag is zeros. */
function tagOf(key: ShardKey, { bytes, lengthBytes }: RecordBuffer): Uint32Array {
  return key.rows
    .start()
    .update(bytes.subarray(JOURNAL_ROW.version * 4, lengthBytes))
    .end();
}

/** The checksum that a row holds. */
export function crcOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(JOURNAL_ROW.crc * 4, true);
}
