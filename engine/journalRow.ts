/**
 * A row of a journal: its bytes, how they are checked, and the place in the chain behind it.
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
 */
import { crc32c } from '../shared/crc32c.ts';
import { RecordBuffer, readSafe, writeSafe } from '../shared/record.ts';

export const JOURNAL_VERSION = 1;

export type JournalVisitor = (
  shardSequence: number,
  timeMs: number,
  words: Uint32Array,
  commandWord: number,
  commandBytes: number,
  eventWord: number,
  eventBytes: number,
) => void;

/** The journal cannot be trusted or does not belong here. Nothing is repaired: an operator has to look. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

export type Row = { readonly sequence: number; readonly bytes: Uint8Array };

const CRC = 0;
const VERSION = 1;
const SEQUENCE = 2;
const TIME_MS = 4;
const COMMAND_BYTES = 6;
const EVENT_BYTES = 7;
const CHAIN = 8;
const HEADER_WORDS = 10;
const HEADER_BYTES = HEADER_WORDS * 4;

const INITIAL_ROW_BYTES = 1 << 16;

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

/** Builds rows, one at a time, in memory that the next row uses again. */
export class RowWriter {
  readonly #scratch = new RecordBuffer(INITIAL_ROW_BYTES);
  /** Of the row built last: what its place in the chain is mixed from. */
  crc = 0;

  /** @param before the place the row is written behind. */
  build(
    before: JournalHead,
    timeMs: number,
    commandWords: Uint32Array,
    commandWord: number,
    commandBytes: number,
    eventWords: Uint32Array,
    eventWord: number,
    eventBytes: number,
  ): Uint8Array {
    const scratch = this.#scratch;
    scratch.clear();
    scratch.append(HEADER_BYTES, JOURNAL_VERSION);
    scratch.appendRecords(commandWords, commandWord, commandBytes);
    scratch.appendRecords(eventWords, eventWord, eventBytes);
    const { words } = scratch;
    writeSafe(words, SEQUENCE, before.sequence + 1);
    writeSafe(words, TIME_MS, timeMs);
    words[COMMAND_BYTES] = commandBytes;
    words[EVENT_BYTES] = eventBytes;
    words[CHAIN] = before.chainLow;
    words[CHAIN + 1] = before.chainHigh;
    this.crc = crc32c(scratch, 4, scratch.lengthBytes);
    words[CRC] = this.crc;
    return scratch.bytes.subarray(0, scratch.lengthBytes);
  }
}

/** Checks rows, one at a time, in aligned memory that the next row uses again. */
export class RowReader {
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
    scratch.claim(rowBytes, 0);
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
