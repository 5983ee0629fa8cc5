/**
 * One file of the log of private frames: a head with the state of every account and shard before the file's first
 * entry, then fixed-size entries, so that an entry's offset follows from its position.
 *
 *   file   private-<position of its first entry>.log
 *          SEGMENT_HEAD | LOGGED_RECORD of each shard | ACCOUNT_END of each account that has frames | LOG_ENTRY …
 *
 * Positions count the entries of all segments from 1 on; 0 means none. The checksum of an entry starts with its
 * position, so bytes of an earlier use of the file are never read as entries.
 *
 * Fills of version 2 have no microseconds. Its files are read, but no longer written.
 */
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { floorOfWord, floorToWord } from '../../shared/base/floors.ts';
import { FILE_LAYOUTS } from '../../shared/base/formats.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { bytes, decode, record, safe, u32 } from '../../shared/wire/layout.ts';
import { PRIVATE_FRAME } from '../../shared/wire/privateRecord.ts';
import { readSafe, writeSafe } from '../../shared/wire/record.ts';

export const SEGMENT_HEAD = record(
  'SEGMENT_HEAD',
  {
    magic: u32(),
    version: u32(),
    headBytes: u32('with the records of shards and accounts after it'),
    crc: u32('CRC-32C of the head after this word, from version 3 on begun with the version'),
    first: safe('position of the first entry'),
    shards: u32(),
    accounts: u32(),
    floor: u32('no number after it is at or below; floors.ts, as a word'),
  },
  'The start of a segment of the private log.',
);
export const LOGGED_RECORD = record(
  'LOGGED_RECORD',
  { shardSequence: safe(), frames: u32('of that record') },
  'The newest record of a shard with frames before the segment.',
);
export const ACCOUNT_END = record(
  'ACCOUNT_END',
  { account: u32(), last: safe('userSequence'), position: safe('of the newest entry'), block: safe('as in LOG_ENTRY') },
  'The newest entry of an account before the segment.',
);
export const LOG_ENTRY = record(
  'LOG_ENTRY',
  {
    crc: u32('CRC-32C of the position and of the entry after this word'),
    previous: safe('position of the previous entry of the account'),
    block: safe("position of the last entry of the block before the entry's own"),
    frame: bytes(PRIVATE_FRAME.BYTES, 'a FILL_FRAME or STATUS_FRAME'),
  },
  'A private frame in the log.',
);

const MAGIC = 0x5056504f;
const VERSION = FILE_LAYOUTS.privateFrames;
/** The oldest version that is read; the layout is the same. */
export const OLDEST_VERSION = 2;
const NAME = /^private-(\d{16})\.log$/;

/** The newest record of a shard with frames in the log, and how many of its frames the log has. */
export type LoggedRecord = { shardSequence: number; frames: number };
/** `last`: the newest number of an account; `position`: its entry; `block`: the last entry of the block before. */
export type AccountEnd = { account: number; last: number; position: number; block: number };
type EntryMemory = { readonly words: Uint32Array; readonly bytes: Uint8Array };
/** There may be millions, so none is an object. `each` visits them in any order; their number is `count`. */
type AccountEnds = { readonly count: number; each(visit: OnEnd): void };
type OnEnd = (account: number, last: number, position: number, block: number) => void;
export type SegmentStart = {
  readonly first: number;
  readonly logged: readonly LoggedRecord[];
  readonly ends: AccountEnds;
  /** Numbering of an account whose last number is below the floor continues above the floor. */
  readonly floor: number;
};

/** The ends of the accounts whose last number is above the floor, from columns by account. */
export function endsAbove(floor: number, last: Float64Array, position: Float64Array, block: Float64Array): AccountEnds {
  let count = 0;
  for (let account = 0; account < last.length; account++) if (last[account] > floor) count++;
  return {
    count,
    each(visit) {
      for (let account = 0; account < last.length; account++) {
        if (last[account] > floor) visit(account, last[account], position[account], block[account]);
      }
    },
  };
}

export class Segment {
  readonly path: string;
  /** Position of the first entry. */
  readonly first: number;
  readonly fd: number;
  readonly #headBytes: number;
  readonly #version: number;

  constructor(path: string, first: number, fd: number, headBytes: number, version: number = VERSION) {
    this.path = path;
    this.first = first;
    this.fd = fd;
    this.#headBytes = headBytes;
    this.#version = version;
  }

  /** Only the current version is written. */
  get isWritable(): boolean {
    return this.#version === VERSION;
  }

  /** Even after a power cut, the file has its whole head or does not exist. */
  static create(directory: string, start: SegmentStart): Segment {
    const path = join(directory, segmentName(start.first));
    const head = encodeHead(start);
    const fd = openSync(`${path}.new`, 'w+');
    try {
      writeSync(fd, head, 0, head.byteLength, 0);
      fdatasyncSync(fd);
      renameSync(`${path}.new`, path);
      syncDirectory(dirname(path));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    return new Segment(path, start.first, fd, head.byteLength);
  }

  /** @returns null if the head is damaged, or belongs to another file */
  static open(directory: string, first: number, shards: number): { segment: Segment; start: SegmentStart } | null {
    const path = join(directory, segmentName(first));
    const fd = openSync(path, 'r+');
    const start = readHead(fd, first, shards);
    if (start !== null) return { segment: new Segment(path, first, fd, start.headBytes, start.version), start };
    closeSync(fd);
    return null;
  }

  offset(position: number): number {
    assert(position >= this.first, 'segment: a position is at or after the first of its file');
    return this.#headBytes + (position - this.first) * LOG_ENTRY.BYTES;
  }

  /**
   * Reads entries from `position` on, at most `entries`, into `memory`.
   * @returns the number of entries up to the end of the file or up to the first damaged one
   */
  read(memory: EntryMemory, position: number, entries: number): number {
    const length = readSync(this.fd, memory.bytes, 0, entries * LOG_ENTRY.BYTES, this.offset(position));
    const found = Math.floor(length / LOG_ENTRY.BYTES);
    let whole = 0;
    while (whole < found && isWhole(memory, whole * LOG_ENTRY.WORDS, position + whole)) whole++;
    return whole;
  }
}

export function segmentPath(directory: string, first: number): string {
  return join(directory, segmentName(first));
}

function segmentName(first: number): string {
  return `private-${String(first).padStart(16, '0')}.log`;
}

/** The first position of the segment with this file name; null if it is not the name of a segment. */
export function firstOfName(name: string): number | null {
  const match = NAME.exec(name);
  return match === null ? null : Number(match[1]);
}

export function entryCrc(memory: EntryMemory, word: number, position: number): number {
  return crc32c(memory, (word + 1) * 4, (word + LOG_ENTRY.WORDS) * 4, position >>> 0);
}

function isWhole(memory: EntryMemory, word: number, position: number): boolean {
  return memory.words[word + LOG_ENTRY.crc] === entryCrc(memory, word, position);
}

function encodeHead({ first, logged, ends, floor }: SegmentStart): Uint8Array {
  const words = new Uint32Array(headWords(logged.length, ends.count));
  const bytes = new Uint8Array(words.buffer);
  words[SEGMENT_HEAD.magic] = MAGIC;
  words[SEGMENT_HEAD.version] = VERSION;
  words[SEGMENT_HEAD.headBytes] = bytes.byteLength;
  writeSafe(words, SEGMENT_HEAD.first, first);
  words[SEGMENT_HEAD.shards] = logged.length;
  words[SEGMENT_HEAD.accounts] = ends.count;
  words[SEGMENT_HEAD.floor] = floorToWord(floor);
  let word = SEGMENT_HEAD.WORDS;
  for (const { shardSequence, frames } of logged) {
    writeSafe(words, word + LOGGED_RECORD.shardSequence, shardSequence);
    words[word + LOGGED_RECORD.frames] = frames;
    word += LOGGED_RECORD.WORDS;
  }
  ends.each((account, last, position, block) => {
    words[word + ACCOUNT_END.account] = account;
    writeSafe(words, word + ACCOUNT_END.last, last);
    writeSafe(words, word + ACCOUNT_END.position, position);
    writeSafe(words, word + ACCOUNT_END.block, block);
    word += ACCOUNT_END.WORDS;
  });
  assert(word === words.length, 'segment: a head is as long as it says');
  words[SEGMENT_HEAD.crc] = headCrc(words, bytes);
  return bytes;
}

function headWords(shards: number, accounts: number): number {
  return SEGMENT_HEAD.WORDS + LOGGED_RECORD.WORDS * shards + ACCOUNT_END.WORDS * accounts;
}

function headCrc(words: Uint32Array, bytes: Uint8Array): number {
  const version = words[SEGMENT_HEAD.version];
  // Files of versions 2 and 3 have the same layout, so a damaged version word must not be taken for the other version.
  const seed = version < 3 ? 0 : version;
  return crc32c({ words, bytes }, SEGMENT_HEAD.first * 4, bytes.byteLength, seed);
}

type Head = SegmentStart & { readonly headBytes: number; readonly version: number };

function readHead(fd: number, first: number, shards: number): Head | null {
  const fixed = new Uint32Array(SEGMENT_HEAD.WORDS);
  if (readSync(fd, fixed, 0, fixed.byteLength, 0) < fixed.byteLength) return null;
  const head = decode(SEGMENT_HEAD, fixed);
  const { version, accounts } = head;
  // A number of accounts read from damaged bytes could demand any amount of memory.
  if (head.magic !== MAGIC || head.headBytes > fstatSync(fd).size) return null;
  if (head.headBytes !== headWords(shards, accounts) * 4) return null;
  const words = new Uint32Array(headWords(shards, accounts));
  const bytes = new Uint8Array(words.buffer);
  if (version < OLDEST_VERSION || version > VERSION || head.shards !== shards || head.first !== first) return null;
  if (readSync(fd, words, 0, bytes.byteLength, 0) < bytes.byteLength || head.crc !== headCrc(words, bytes)) return null;
  const logged = Array.from({ length: shards }, (_, shard) =>
    decode(LOGGED_RECORD, words, SEGMENT_HEAD.WORDS + shard * LOGGED_RECORD.WORDS),
  );
  const ends: AccountEnds = {
    count: accounts,
    each(visit) {
      for (let word = headWords(shards, 0); word < words.length; word += ACCOUNT_END.WORDS) {
        const last = readSafe(words, word + ACCOUNT_END.last);
        const position = readSafe(words, word + ACCOUNT_END.position);
        visit(words[word + ACCOUNT_END.account], last, position, readSafe(words, word + ACCOUNT_END.block));
      }
    },
  };
  return { first, logged, ends, floor: floorOfWord(head.floor), headBytes: bytes.byteLength, version };
}
