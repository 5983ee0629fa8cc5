/**
 * One file of the log of private frames: a head that says how every account and shard stood before it, then entries of
 * one size, so that an entry's place follows from its position.
 *
 *   file   private-<position of its first entry>.log
 *   head   0 magic   1 version   2 head bytes   3 crc of the head behind this word   4 first position (2)   6 shards
 *          7 accounts   8 –, then 3 words a shard: shardSequence (2), frames
 *          then 7 words an account: account, last (2), position (2), block (2)
 *   entry  56 words: 0 crc of the rest   1 previous (2)   3 block (2)   5…55 the frame (privateRecord.ts)
 *
 * Positions count the entries of all segments from 1 on; 0 is none. The checksum of an entry begins with its position,
 * so bytes that an earlier use of the file left behind are never taken for entries.
 *
 * Version 1 differs in its entries, whose frames had neither client order id nor group. It is read, not written.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32c } from '../../shared/crc32c.ts';
import { PRIVATE_RECORD_WORDS } from '../../shared/privateRecord.ts';
import { readSafe, writeSafe } from '../../shared/record.ts';

export const ENTRY_WORDS = 56;
export const ENTRY_BYTES = ENTRY_WORDS * 4;
export const ENTRY_CRC = 0;
export const ENTRY_PREVIOUS = 1;
export const ENTRY_BLOCK = 3;
export const ENTRY_FRAME = ENTRY_WORDS - PRIVATE_RECORD_WORDS;

const MAGIC = 0x5056504f;
const VERSION = 2;
/** By version: the words of an entry and of the frame at its end. What is common of two frames is at their start. */
const LAYOUTS = [
  null,
  { entryWords: 40, frameWords: 34 },
  { entryWords: ENTRY_WORDS, frameWords: PRIVATE_RECORD_WORDS },
] as const;
const HEAD_BYTES_WORD = 2;
const HEAD_CRC = 3;
const HEAD_FIRST = 4;
const HEAD_SHARDS = 6;
const HEAD_ACCOUNTS = 7;
const HEAD_WORDS = 9;
const SHARD_WORDS = 3;
const ACCOUNT_WORDS = 7;
const NAME = /^private-(\d{16})\.log$/;

/** The newest record of a shard that entries tell of, and how many of its frames they hold. */
export type Mark = { shardSequence: number; frames: number };
/** Where an account's newest entry is, and the last one of the block before its own. */
export type AccountEnd = { account: number; last: number; position: number; block: number };
export type EntryMemory = { readonly words: Uint32Array; readonly bytes: Uint8Array };
export type SegmentStart = { readonly first: number; readonly marks: readonly Mark[]; readonly ends: AccountEnd[] };

export class Segment {
  readonly path: string;
  /** Position of the first entry. */
  readonly first: number;
  readonly fd: number;
  readonly #headBytes: number;
  readonly #version: number;

  constructor(path: string, first: number, fd: number, headBytes: number, version = VERSION) {
    this.path = path;
    this.first = first;
    this.fd = fd;
    this.#headBytes = headBytes;
    this.#version = version;
  }

  /** Entries of this version's form can be appended. */
  get isWritable(): boolean {
    return this.#version === VERSION;
  }

  /** The file is there with its whole head, also after a power cut, or it is not there. */
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

  /** @returns null when the file is not whole. */
  static open(directory: string, first: number, shards: number): { segment: Segment; start: SegmentStart } | null {
    const path = join(directory, segmentName(first));
    const fd = openSync(path, 'r+');
    const start = readHead(fd, first, shards);
    if (start !== null) return { segment: new Segment(path, first, fd, start.headBytes, start.version), start };
    closeSync(fd);
    return null;
  }

  offset(position: number): number {
    return this.#headBytes + (position - this.first) * this.#layout.entryWords * 4;
  }

  /**
   * Reads entries from `position` on, at most `entries`, into `memory`, in today's form.
   * @returns how many there are up to the end or to the first that is not whole.
   */
  read(memory: EntryMemory, position: number, entries: number): number {
    const { entryWords, frameWords } = this.#layout;
    const length = readSync(this.fd, memory.bytes, 0, entries * entryWords * 4, this.offset(position));
    const found = Math.floor(length / (entryWords * 4));
    let whole = 0;
    while (whole < found && isWhole(memory, whole * entryWords, entryWords, position + whole)) whole++;
    if (entryWords === ENTRY_WORDS) return whole;
    // Today's entries are longer: the last goes first, so that none is written over before it has moved.
    for (let at = whole - 1; at >= 0; at--) {
      const old = at * entryWords;
      const word = at * ENTRY_WORDS;
      const frame = memory.words.slice(old + entryWords - frameWords, old + entryWords);
      memory.words.copyWithin(word, old, old + ENTRY_FRAME);
      memory.words.fill(0, word + ENTRY_FRAME, word + ENTRY_WORDS);
      memory.words.set(frame, word + ENTRY_FRAME);
    }
    return whole;
  }

  get #layout() {
    return LAYOUTS[this.#version]!;
  }
}

export function segmentName(first: number): string {
  return `private-${String(first).padStart(16, '0')}.log`;
}

/** The first position of the segment with this file name, or null when it is none. */
export function firstOfName(name: string): number | null {
  const match = NAME.exec(name);
  return match === null ? null : Number(match[1]);
}

export function entryCrc(memory: EntryMemory, word: number, position: number, entryWords = ENTRY_WORDS): number {
  return crc32c(memory, (word + 1) * 4, (word + entryWords) * 4, position >>> 0);
}

function isWhole(memory: EntryMemory, word: number, entryWords: number, position: number): boolean {
  return memory.words[word + ENTRY_CRC] === entryCrc(memory, word, position, entryWords);
}

function encodeHead({ first, marks, ends }: SegmentStart): Uint8Array {
  const length = HEAD_WORDS + SHARD_WORDS * marks.length + ACCOUNT_WORDS * ends.length;
  const words = new Uint32Array(length);
  const bytes = new Uint8Array(words.buffer);
  words[0] = MAGIC;
  words[1] = VERSION;
  words[HEAD_BYTES_WORD] = bytes.byteLength;
  writeSafe(words, HEAD_FIRST, first);
  words[HEAD_SHARDS] = marks.length;
  words[HEAD_ACCOUNTS] = ends.length;
  let word = HEAD_WORDS;
  for (const { shardSequence, frames } of marks) {
    writeSafe(words, word, shardSequence);
    words[word + 2] = frames;
    word += SHARD_WORDS;
  }
  for (const { account, last, position, block } of ends) {
    words[word] = account;
    writeSafe(words, word + 1, last);
    writeSafe(words, word + 3, position);
    writeSafe(words, word + 5, block);
    word += ACCOUNT_WORDS;
  }
  words[HEAD_CRC] = headCrc(words, bytes);
  return bytes;
}

function headCrc(words: Uint32Array, bytes: Uint8Array): number {
  return crc32c({ words, bytes }, HEAD_FIRST * 4, bytes.byteLength);
}

type Head = SegmentStart & { readonly headBytes: number; readonly version: number };

function readHead(fd: number, first: number, shards: number): Head | null {
  const fixed = new Uint32Array(HEAD_WORDS);
  if (readSync(fd, fixed, 0, fixed.byteLength, 0) < fixed.byteLength) return null;
  const accounts = fixed[HEAD_ACCOUNTS]!;
  const headBytes = 4 * (HEAD_WORDS + SHARD_WORDS * shards + ACCOUNT_WORDS * accounts);
  const version = fixed[1]!;
  const isOurs = fixed[0] === MAGIC && LAYOUTS[version] != null && fixed[HEAD_SHARDS] === shards;
  if (!isOurs || fixed[HEAD_BYTES_WORD] !== headBytes || readSafe(fixed, HEAD_FIRST) !== first) return null;
  const words = new Uint32Array(headBytes / 4);
  const bytes = new Uint8Array(words.buffer);
  if (readSync(fd, words, 0, headBytes, 0) < headBytes || words[HEAD_CRC] !== headCrc(words, bytes)) return null;
  let word = HEAD_WORDS;
  const marks: Mark[] = [];
  for (let shard = 0; shard < shards; shard++, word += SHARD_WORDS) {
    marks.push({ shardSequence: readSafe(words, word), frames: words[word + 2]! });
  }
  const ends: AccountEnd[] = [];
  for (let i = 0; i < accounts; i++, word += ACCOUNT_WORDS) {
    const last = readSafe(words, word + 1);
    ends.push({ account: words[word]!, last, position: readSafe(words, word + 3), block: readSafe(words, word + 5) });
  }
  return { first, marks, ends, headBytes, version };
}

export function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
