/**
 * A row of a journal: the records of a batch, their checksum, and the chain that binds each row to all rows before it.
 * SQLite returns a row with a flipped bit, or a row of another history, without an error.
 *
 * A row's bytes are a JOURNAL_ROW (RECORDS.md), followed without a gap by its records: each is a JOURNAL_RECORD, the
 * command and its events. The events RECORD, REPLY and READY are not stored. SQLite's key is the sequence number of the
 * row's last record. So "the rows after a sequence number" begin with the row that has the next record, and a trim up
 * to a sequence number takes whole rows only. rowWriter.ts builds rows, rowReader.ts checks them.
 *
 * Version 2 holds one record in each row, an OLD_JOURNAL_ROW. It can still be read, also when rows of version 3 follow.
 *
 * Invariants:
 *   ROW-1  A row is as long as its header plus the length that the header gives for the rest, and each part is a
 *          multiple of 8. The lengths of the records add up to the row's, and there is one record for each sequence
 *          number from the first to the last.
 *   ROW-2  crc is the CRC-32C of all bytes after it.
 *   ROW-3  chain(row) = mix(chain(previous row), crc, last sequence number). A row contains the chain value of the
 *          previous row, which ends right before its first sequence number. The chain value before the first row is 0.
 *   ROW-4  A record has exactly one command, which comes first.
 *   ROW-5  tag authenticates everything after crc, with zeros in place of the tag. From the key's `keyedFrom` on, rows
 *          without a valid tag are refused.
 *   ROW-6  A row of several records is at most MOST_ROW_BYTES long.
 */
import { assert } from '../../shared/base/assert.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { MAC_BYTES } from '../../shared/crypto/mac.ts';
import { bytes, record, safe, u32, unused } from '../../shared/wire/layout.ts';
import type { RecordBuffer } from '../../shared/wire/record.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { ShardKey } from './shardKey.ts';

/** An older version refuses the directory in one line (shared/base/directoryVersion.ts). */
export const JOURNAL_VERSION = FORMATS.journal.newest;
/** In a cluster whose members cannot all read the newest version, a leader writes an older one (RULES.md 18.15). */
export const OLDEST_WRITTEN = FORMATS.journal.oldest;
export const OLDEST_READ = 2;
/** From this version on, a row has all records of a batch. */
const FIRST_OF_BATCHES = 3;
/**
 * The limit for a row of several records: nearly every batch fits into one row, and damage to a row costs few more
 * records.
 */
export const MOST_ROW_BYTES = 1 << 18;
/**
 * The memory in which a row is built or read. It grows with the first longer row. The rehearsal has such a row
 * (gateway/wiring/rehearsal.ts), because V8 would discard the compiled code of an order if the growth came later.
 */
export const INITIAL_ROW_BYTES = 1 << 12;

export const JOURNAL_ROW = record(
  'JOURNAL_ROW',
  {
    crc: u32('CRC-32C of everything after it in the row'),
    version: u32(),
    lastSequence: safe('of its last record'),
    firstSequence: safe('of its first record'),
    recordBytes: u32('of the records, which follow'),
    unused: unused(1),
    chainLow: u32('chain value of the row before, 0 for the first'),
    chainHigh: u32(),
    tag: bytes(MAC_BYTES, 'authenticates everything after crc, with zeros in its place'),
  },
  'The header of a row in a journal: the records of a batch follow.',
);

export const JOURNAL_RECORD = record(
  'JOURNAL_RECORD',
  { commandBytes: u32(), eventBytes: u32(), timeMs: safe() },
  'The header of a record in a row: its command and the events of it follow.',
);

export const OLD_JOURNAL_ROW = record(
  'OLD_JOURNAL_ROW',
  {
    crc: u32('CRC-32C of everything after it in the row'),
    version: u32('2'),
    shardSequence: safe(),
    timeMs: safe(),
    commandBytes: u32(),
    eventBytes: u32(),
    chainLow: u32('chain value of the row before, 0 for the first'),
    chainHigh: u32(),
    tag: bytes(MAC_BYTES, 'as above'),
  },
  'The header of a row that an older version wrote: one command and its events follow.',
);

assert(JOURNAL_ROW.BYTES % 8 === 0 && JOURNAL_RECORD.BYTES % 8 === 0, 'ROW-1: the headers are multiples of 8');
assert(OLDEST_WRITTEN >= FIRST_OF_BATCHES && OLDEST_WRITTEN <= JOURNAL_VERSION, 'row: what is written can be read');
assert(JOURNAL_ROW.crc === 0, 'ROW-2: the checksum covers everything after it');
assert(
  JOURNAL_ROW.crc === OLD_JOURNAL_ROW.crc &&
    JOURNAL_ROW.version === OLD_JOURNAL_ROW.version &&
    JOURNAL_ROW.lastSequence === OLD_JOURNAL_ROW.shardSequence &&
    JOURNAL_ROW.chainLow === OLD_JOURNAL_ROW.chainLow &&
    JOURNAL_ROW.tag === OLD_JOURNAL_ROW.tag,
  'row: what every version has is at the same place in each',
);

/** The journal is damaged or belongs elsewhere. No repair is automatic: an operator has to decide. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

/** A later version of this program wrote the row: it is not damaged, and nothing may be given up because of it. */
export class NewerRowError extends JournalError {}

/** A row as SQLite stores it: `sequence` is the number of the row's last record. */
export type Row = { readonly sequence: number; readonly bytes: Uint8Array };

/** A position in a journal: after the row that ends with `sequence`, with its chain value as two signed words. */
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
   * Moves past the next row, which ends with `sequence`. The mix has two lanes with odd multipliers, each folded into
   * the other: it is cheap and not cryptographic.
   */
  advance(crc: number, sequence: number): void {
    assert(sequence > this.sequence, 'ROW-3: a row ends after the one before it');
    this.sequence = sequence;
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

/** Computes the tag of the row in this memory, in which the place of the tag is zero. */
export function tagOf(key: ShardKey, { bytes, lengthBytes }: RecordBuffer): Uint32Array {
  return key.rows
    .start()
    .update(bytes.subarray(JOURNAL_ROW.version * 4, lengthBytes))
    .end();
}

/** True for a JOURNAL_ROW, false for an OLD_JOURNAL_ROW. */
export function isOfBatch(version: number): boolean {
  return version >= FIRST_OF_BATCHES;
}

/**
 * Returns the sequence number of a row's first record as the row itself claims it, unchecked; the last number if the
 * claim is impossible.
 */
export function firstSequenceOf({ sequence, bytes }: Row): number {
  if (!(bytes instanceof Uint8Array) || bytes.byteLength < JOURNAL_ROW.BYTES) return sequence;
  const words = new Uint32Array(bytes.slice(0, JOURNAL_ROW.BYTES).buffer);
  if (!isOfBatch(words[JOURNAL_ROW.version])) return sequence;
  const first = readSafe(words, JOURNAL_ROW.firstSequence);
  return first >= 1 && first <= sequence ? first : sequence;
}

/** The checksum in a row. */
export function crcOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(JOURNAL_ROW.crc * 4, true);
}
