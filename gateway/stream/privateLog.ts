/**
 * The private frames of every account, numbered by `user_sequence`, in files (privateSegment.ts). A frame is written
 * here before anyone is sent it, so what a client has seen under a number is under that number for ever.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   U1  user_sequence grows by exactly 1 per account, in the order of `append`, over restarts too.
 *   U2  After a `commit` that is true the batch has been written, which survives the process; after one that is false
 *       nothing of it has been, and nothing of it was numbered. Only what is committed is sent.
 *   U3  The mark of a shard is the newest of its records that entries tell of: each frame is appended once, in the
 *       order of the shard's journal, so everything before the mark is here and nothing behind it.
 *   U4  Every segment but the newest is whole and synced. Only the newest can end in a torn entry; it is cut there, and
 *       the mark that is left says from where the events have to be told again.
 *   U5  A segment goes when more than `keepSegments` follow it: files are bounded by their number and size, memory by
 *       three numbers an account.
 *
 * An entry points to the one before it of its account, and to the last one of the account's block of BLOCK frames
 * before its own: that finds any of 10,000 frames in a few hundred short reads without an index (privateReplay.ts).
 */
import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '../../shared/assert.ts';
import * as prv from '../../shared/privateRecord.ts';
import { readSafe, writeSafe } from '../../shared/record.ts';
import {
  type AccountEnd,
  ENTRY_BLOCK,
  ENTRY_BYTES,
  ENTRY_CRC,
  ENTRY_FRAME,
  ENTRY_PREVIOUS,
  ENTRY_WORDS,
  entryCrc,
  firstOfName,
  type Mark,
  Segment,
  syncDirectory,
} from './privateSegment.ts';

/** Private frames of an account that a client may ask for again. */
export const REPLAY_PRIVATE = 10_000;
export const BLOCK = 64;

export type PrivateLogOptions = {
  readonly directory: string;
  readonly shards: number;
  /** Entries after which a segment is followed by the next. */
  readonly segmentEntries?: number;
  /** Whole segments kept behind the newest. */
  readonly keepSegments?: number;
  readonly write?: typeof writeSync;
};

/** 28 MiB: read once at a start. */
const SEGMENT_ENTRIES = 131_072;
/** With the above 3 GiB, the newest 13 million frames of all accounts. */
const KEEP_SEGMENTS = 100;
const FIRST_BATCH = 256;
const SCAN_ENTRIES = 4096;
/** A frame's kind in an entry that is no frame and only sets a shard's mark. */
const MARK_ONLY = 0;
/** All frames of the record, however many they are. */
const ALL_FRAMES = 0xffffffff;

const datasync = promisify(fdatasync);

export class PrivateLog {
  readonly #directory: string;
  readonly #segmentEntries: number;
  readonly #keepSegments: number;
  readonly #write: typeof writeSync;
  /** Oldest first; the last is written. */
  readonly #segments: Segment[] = [];
  readonly #marks: Mark[];
  /** By account; `position` and `block` as in AccountEnd. */
  #last = new Float64Array(64);
  #position = new Float64Array(64);
  #block = new Float64Array(64);
  /** Position of the next entry to be written. */
  #next = 1;
  /** Entries from #next on, not yet committed; what was committed last stays until the next batch. */
  #words = new Uint32Array(FIRST_BATCH * ENTRY_WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  #batchFirst = 1;
  #batch = 0;
  #isDirty = true;
  readonly #frame: { words: Uint32Array; word: number } = { words: this.#words, word: 0 };
  readonly #readWords = new Uint32Array(ENTRY_WORDS);
  readonly #readMemory = { words: this.#readWords, bytes: new Uint8Array(this.#readWords.buffer) };
  #read: { words: Uint32Array; word: number } = { words: this.#readWords, word: 0 };

  /** Throws when the newest file has no whole head: numbers that went on from an older one would be used twice. */
  constructor(options: PrivateLogOptions) {
    this.#directory = options.directory;
    this.#segmentEntries = options.segmentEntries ?? SEGMENT_ENTRIES;
    this.#keepSegments = options.keepSegments ?? KEEP_SEGMENTS;
    this.#write = options.write ?? writeSync;
    this.#marks = Array.from({ length: options.shards }, () => ({ shardSequence: 0, frames: 0 }));
    mkdirSync(options.directory, { recursive: true });
    syncDirectory(dirname(options.directory));
    this.#open();
  }

  /** Room for the account's next frame, whose number is `last` from now on. Its words are zero but for these two. */
  append(account: number): prv.RecordPlace {
    this.#makeRoom(account);
    const previous = this.#position[account]!;
    const last = this.#last[account]!;
    if (last % BLOCK === 0) this.#block[account] = previous;
    const word = this.#entry();
    writeSafe(this.#words, word + ENTRY_PREVIOUS, previous);
    writeSafe(this.#words, word + ENTRY_BLOCK, this.#block[account]!);
    this.#last[account] = last + 1;
    this.#position[account] = this.#next + this.#batch - 1;
    const frame = this.#frame;
    frame.words = this.#words;
    frame.word = word + ENTRY_FRAME;
    writeSafe(frame.words, frame.word + prv.PRV_USER_SEQUENCE, last + 1);
    frame.words[frame.word + prv.PRV_ACCOUNT] = account;
    return frame;
  }

  /** U2. */
  commit(): boolean {
    if (this.#batch === 0) return true;
    const segment = this.#segments.at(-1)!;
    const memory = { words: this.#words, bytes: this.#bytes };
    for (let i = 0; i < this.#batch; i++) {
      const word = i * ENTRY_WORDS;
      this.#words[word + ENTRY_CRC] = entryCrc(memory, word, this.#next + i);
    }
    const length = this.#batch * ENTRY_BYTES;
    try {
      if (this.#write(segment.fd, this.#bytes, 0, length, segment.offset(this.#next)) !== length)
        throw new Error('short');
    } catch {
      this.#takeBack(segment);
      return false;
    }
    for (let i = 0; i < this.#batch; i++) this.#mark(this.#words, i * ENTRY_WORDS + ENTRY_FRAME);
    this.#next += this.#batch;
    this.#batch = 0;
    this.#isDirty = true;
    if (this.#next - segment.first >= this.#segmentEntries) this.#rotate();
    return true;
  }

  /** The number of the account's newest frame, 0 before the first. */
  last(account: number): number {
    return this.#last[account] ?? 0;
  }

  /** How far a shard has been told of. */
  mark(shard: number): Readonly<Mark> {
    return this.#marks[shard]!;
  }

  /** Records of the shard up to here count as told, whatever the entries say. Between two batches. */
  setMark(shard: number, shardSequence: number): boolean {
    assert(this.#batch === 0, 'U2: a mark is set between two batches');
    const word = this.#entry() + ENTRY_FRAME;
    this.#words[word + prv.PRV_KIND] = MARK_ONLY;
    this.#words[word + prv.PRV_SHARD] = shard;
    writeSafe(this.#words, word + prv.PRV_SHARD_SEQUENCE, shardSequence);
    return this.commit();
  }

  /** The account's newest entry and the end of the block before. */
  end(account: number): AccountEnd {
    return {
      account,
      last: this.last(account),
      position: this.#position[account] ?? 0,
      block: this.#block[account] ?? 0,
    };
  }

  /** Valid until the next call; null when the entry is gone, or was damaged since. */
  entry(position: number): prv.RecordPlace | null {
    if (position >= this.#batchFirst) {
      this.#read.words = this.#words;
      this.#read.word = (position - this.#batchFirst) * ENTRY_WORDS;
      return this.#read;
    }
    const segment = this.#segments.findLast(({ first }) => first <= position);
    if (position === 0 || segment === undefined) return null;
    this.#read.words = this.#readWords;
    this.#read.word = 0;
    return segment.read(this.#readMemory, position, 1) === 1 ? this.#read : null;
  }

  /** What is committed now survives a power cut once this has resolved. @returns the marks it had. */
  async sync(): Promise<readonly Readonly<Mark>[]> {
    const marks = this.#marks.map((mark) => ({ ...mark }));
    if (!this.#isDirty) return marks;
    this.#isDirty = false;
    await datasync(this.#segments.at(-1)!.fd);
    return marks;
  }

  /** Nothing is being synced. */
  close(): void {
    for (const { fd } of this.#segments) closeSync(fd);
  }

  #entry(): number {
    if (this.#batch === 0) this.#batchFirst = this.#next;
    const word = this.#batch++ * ENTRY_WORDS;
    if (word === this.#words.length) {
      const larger = new Uint32Array(2 * word);
      larger.set(this.#words);
      this.#words = larger;
      this.#bytes = new Uint8Array(larger.buffer);
    }
    this.#words.fill(0, word, word + ENTRY_WORDS);
    return word;
  }

  #makeRoom(account: number): void {
    if (account < this.#last.length) return;
    const size = Math.max(account + 1, 2 * this.#last.length);
    const larger = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const copy = new Float64Array(size);
      copy.set(column);
      return copy;
    };
    this.#last = larger(this.#last);
    this.#position = larger(this.#position);
    this.#block = larger(this.#block);
  }

  /** The file ends again where it ended, or the next batch of as many bytes would be followed by old ones. */
  #takeBack(segment: Segment): void {
    for (let i = this.#batch - 1; i >= 0; i--) {
      const word = i * ENTRY_WORDS;
      if (this.#words[word + ENTRY_FRAME + prv.PRV_KIND] === MARK_ONLY) continue;
      const account = this.#words[word + ENTRY_FRAME + prv.PRV_ACCOUNT]!;
      const previous = readSafe(this.#words, word + ENTRY_PREVIOUS);
      const isFirstOfBlock = --this.#last[account]! % BLOCK === 0;
      this.#position[account] = previous;
      if (!isFirstOfBlock || previous === 0) continue;
      const entry = this.entry(previous);
      this.#block[account] = entry === null ? 0 : readSafe(entry.words, entry.word + ENTRY_BLOCK);
    }
    this.#batch = 0;
    this.#batchFirst = this.#next;
    try {
      ftruncateSync(segment.fd, segment.offset(this.#next));
    } catch {
      // What is left over is written over, or cut by its checksum: it is never taken for what comes at its place.
    }
  }

  #mark(words: Uint32Array, frame: number): void {
    const mark = this.#marks[words[frame + prv.PRV_SHARD]!]!;
    const shardSequence = readSafe(words, frame + prv.PRV_SHARD_SEQUENCE);
    if (words[frame + prv.PRV_KIND] === MARK_ONLY) mark.frames = ALL_FRAMES;
    else if (shardSequence === mark.shardSequence) mark.frames++;
    else mark.frames = 1;
    mark.shardSequence = shardSequence;
  }

  /** U4. Where it fails the segment is written on, and the next batch is the next try. */
  #rotate(): void {
    try {
      fdatasyncSync(this.#segments.at(-1)!.fd);
      this.#segments.push(Segment.create(this.#directory, this.#start()));
    } catch {
      return;
    }
    while (this.#segments.length > this.#keepSegments + 1) {
      const { fd, path } = this.#segments.shift()!;
      closeSync(fd);
      rmSync(path, { force: true });
    }
  }

  #start() {
    const ends: AccountEnd[] = [];
    for (let account = 0; account < this.#last.length; account++) {
      if (this.#last[account]! > 0) ends.push(this.end(account));
    }
    return { first: this.#next, marks: this.#marks, ends };
  }

  #open(): void {
    const firsts: number[] = [];
    for (const name of readdirSync(this.#directory)) {
      const first = firstOfName(name);
      if (first !== null) firsts.push(first);
      else if (name.endsWith('.new')) rmSync(join(this.#directory, name));
    }
    firsts.sort((a, b) => a - b);
    for (const first of firsts) {
      const opened = Segment.open(this.#directory, first, this.#marks.length);
      // An old one that cannot be read only shortens what can be replayed.
      if (opened === null && first !== firsts.at(-1)) continue;
      if (opened === null) {
        throw new Error(`the newest file in ${this.#directory} is damaged: put a backup of the directory in its place`);
      }
      this.#segments.push(opened.segment);
      if (first === firsts.at(-1)) this.#load(opened.segment, opened.start.marks, opened.start.ends);
    }
    if (firsts.length === 0) this.#segments.push(Segment.create(this.#directory, this.#start()));
    fdatasyncSync(this.#segments.at(-1)!.fd);
    if (!this.#segments.at(-1)!.isWritable) this.#succeed();
  }

  /** The newest file is of an older version: a new one goes on from it, in its place when it has no entries. */
  #succeed(): void {
    const old = this.#segments.at(-1)!;
    if (old.first === this.#next) {
      closeSync(old.fd);
      this.#segments.pop();
    }
    this.#segments.push(Segment.create(this.#directory, this.#start()));
  }

  #load(segment: Segment, marks: readonly Mark[], ends: readonly AccountEnd[]): void {
    for (const [shard, mark] of marks.entries()) this.#marks[shard] = mark;
    for (const { account, last, position, block } of ends) {
      this.#makeRoom(account);
      this.#last[account] = last;
      this.#position[account] = position;
      this.#block[account] = block;
    }
    this.#next = segment.first;
    const words = new Uint32Array(SCAN_ENTRIES * ENTRY_WORDS);
    const memory = { words, bytes: new Uint8Array(words.buffer) };
    let entries = SCAN_ENTRIES;
    while (entries === SCAN_ENTRIES) {
      entries = segment.read(memory, this.#next, SCAN_ENTRIES);
      for (let i = 0; i < entries; i++) this.#take(words, i * ENTRY_WORDS);
    }
    ftruncateSync(segment.fd, segment.offset(this.#next));
    this.#batchFirst = this.#next;
  }

  #take(words: Uint32Array, word: number): void {
    const frame = word + ENTRY_FRAME;
    this.#mark(words, frame);
    if (words[frame + prv.PRV_KIND] !== MARK_ONLY) {
      const account = words[frame + prv.PRV_ACCOUNT]!;
      this.#makeRoom(account);
      this.#last[account] = readSafe(words, frame + prv.PRV_USER_SEQUENCE);
      this.#position[account] = this.#next;
      this.#block[account] = readSafe(words, word + ENTRY_BLOCK);
    }
    this.#next++;
  }
}
