/**
 * The log of private frames of all accounts, numbered by `user_sequence`, in files (privateSegment.ts). A frame is
 * written here before it is sent, so a number that a client has seen means the same frame for ever. Owner: the gateway
 * thread.
 *
 * Invariants:
 *   PRIVATELOG-1  user_sequence grows by exactly 1 per account, in the order of `append`, over restarts too. At a floor
 *                 (floors.ts) numbering continues above the floor, and earlier frames of the account can no longer be
 *                 read.
 *   PRIVATELOG-2  When `commit` returns true the batch has been written and survives the process. When it returns false
 *                 no part of it has been written and its numbers are free again. Only committed frames are sent.
 *   PRIVATELOG-3  `logged` of a shard is its newest record with frames in the log. Frames are appended once, in the
 *                 order of the shard's journal, so the log contains every frame up to that record and none after it.
 *   PRIVATELOG-4  Every segment but the newest is whole and synced. Only the newest can end in a torn entry, or in
 *                 entries of a batch that could be neither completed nor cut off; their numbers do not continue the
 *                 sequence. The file is cut there, and `logged` names the last record whose frames remain.
 *   PRIVATELOG-5  A segment is removed when more than `keepSegments` follow it, or as many entries as these have. It is
 *                 longer beside millions of accounts, of which each has a few words at its beginning.
 *   PRIVATELOG-6  An entry points to the entry before it of the same account, and to the last entry of the account's
 *                 block of BLOCK frames before its own; both have a lower position. So any of 10,000 frames is found in
 *                 a few hundred short reads, without an index (privateReplay.ts).
 */
import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '../../shared/base/assert.ts';
import { keepCopy } from '../../shared/base/setAside.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import * as prv from '../../shared/wire/privateRecord.ts';
import { readSafe, writeSafe } from '../../shared/wire/record.ts';
import { StartError } from '../base/startError.ts';
import { grown } from '../shardlink/growingColumn.ts';
import {
  type AccountEnd,
  endsAbove,
  entryCrc,
  firstOfName,
  LOG_ENTRY,
  type LoggedRecord,
  Segment,
  type SegmentStart,
  segmentPath,
} from './privateSegment.ts';

/** Private frames of an account that a client may request again. */
export const REPLAY_PRIVATE = 10_000;
export const BLOCK = 64;

export type PrivateLogOptions = {
  readonly directory: string;
  readonly shards: number;
  /** Entries of a segment before the next one is started. */
  readonly segmentEntries?: number;
  /** Complete segments that are kept before the newest. */
  readonly keepSegments?: number;
  /** The floor: numbers below it are not given out. */
  readonly floor?: number;
  readonly write?: typeof writeSync;
};

/** A segment of 28 MiB; the newest one is read once at a start. */
const SEGMENT_ENTRIES = 131_072;
/** 3 GiB in all: the newest 13 million frames of all accounts. */
const KEEP_SEGMENTS = 100;
/** A segment has at least one entry for so many accounts. */
const ACCOUNTS_AN_ENTRY = 2;
const FIRST_BATCH = 256;
const SCAN_ENTRIES = 4096;
/** The frame kind of an entry without a frame, which only sets `logged` of a shard. */
const NO_FRAME = 0;
/** A frame count that means all frames of the record. */
const ALL_FRAMES = 0xffffffff;

const datasync = promisify(fdatasync);

export class PrivateLog {
  readonly #directory: string;
  readonly #segmentEntries: number;
  readonly #keepSegments: number;
  readonly #write: typeof writeSync;
  #floor = 0;
  /** Oldest first; entries are written to the last. */
  readonly #segments: Segment[] = [];
  readonly #logged: LoggedRecord[];
  /** The accounts in the head of the newest segment. */
  #accountsInHead = 0;
  /** By account; `position` and `block` as in AccountEnd. */
  #last = new Float64Array(64);
  #position = new Float64Array(64);
  #block = new Float64Array(64);
  /** Position of the first entry that is not committed. */
  #next = 1;
  /** The entries of the batch from `#batchFirst` on; a committed batch stays here until the next one starts. */
  #words = new Uint32Array(FIRST_BATCH * LOG_ENTRY.WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  #batchFirst = 1;
  #batch = 0;
  #isDirty = true;
  readonly #frame: { words: Uint32Array; word: number } = { words: this.#words, word: 0 };
  readonly #readWords = new Uint32Array(LOG_ENTRY.WORDS);
  readonly #readMemory = { words: this.#readWords, bytes: new Uint8Array(this.#readWords.buffer) };
  #read: { words: Uint32Array; word: number } = { words: this.#readWords, word: 0 };

  /** Throws if the head of the newest file is damaged: numbers that continued an older file would be used twice. */
  constructor(options: PrivateLogOptions) {
    this.#directory = options.directory;
    this.#segmentEntries = options.segmentEntries ?? SEGMENT_ENTRIES;
    this.#keepSegments = options.keepSegments ?? KEEP_SEGMENTS;
    this.#write = options.write ?? writeSync;
    this.#logged = Array.from({ length: options.shards }, () => ({ shardSequence: 0, frames: 0 }));
    mkdirSync(options.directory, { recursive: true });
    syncDirectory(dirname(options.directory));
    this.#open();
    this.#raise(options.floor ?? 0);
  }

  /** Claims the account's next frame. Number and account are filled in; all other words are zero. */
  append(account: number): prv.RecordView {
    this.#makeRoom(account);
    const last = this.last(account);
    const isFirst = last === this.#floor;
    const previous = isFirst ? 0 : this.#position[account];
    assert(previous < this.#next + this.#batch, 'PRIVATELOG-6: an entry points to an earlier one');
    assert(isFirst === (previous === 0), 'PRIVATELOG-6: only the first frame of an account has none before it');
    if (last % BLOCK === 0) this.#block[account] = previous;
    const word = this.#entry();
    writeSafe(this.#words, word + LOG_ENTRY.previous, previous);
    writeSafe(this.#words, word + LOG_ENTRY.block, this.#block[account]);
    this.#last[account] = last + 1;
    this.#position[account] = this.#next + this.#batch - 1;
    const frame = this.#frame;
    frame.words = this.#words;
    frame.word = word + LOG_ENTRY.frame;
    writeSafe(frame.words, frame.word + prv.PRIVATE_FRAME.userSequence, last + 1);
    frame.words[frame.word + prv.PRIVATE_FRAME.account] = account;
    return frame;
  }

  /** PRIVATELOG-2. */
  commit(): boolean {
    if (this.#batch === 0) return true;
    const segment = this.#segments.at(-1)!;
    const memory = { words: this.#words, bytes: this.#bytes };
    for (let i = 0; i < this.#batch; i++) {
      const word = i * LOG_ENTRY.WORDS;
      this.#words[word + LOG_ENTRY.crc] = entryCrc(memory, word, this.#next + i);
    }
    const length = this.#batch * LOG_ENTRY.BYTES;
    try {
      if (this.#write(segment.fd, this.#bytes, 0, length, segment.offset(this.#next)) !== length)
        throw new Error('short');
    } catch {
      this.#rollBack(segment);
      return false;
    }
    for (let i = 0; i < this.#batch; i++) this.#noteLogged(this.#words, i * LOG_ENTRY.WORDS + LOG_ENTRY.frame);
    this.#next += this.#batch;
    this.#batch = 0;
    this.#isDirty = true;
    const entries = Math.max(this.#segmentEntries, this.#accountsInHead / ACCOUNTS_AN_ENTRY);
    if (this.#next - segment.first >= entries) this.#rotate();
    return true;
  }

  /** The number of the account's newest frame; before its first frame, the floor. */
  last(account: number): number {
    return Math.max(this.#last[account] ?? 0, this.#floor);
  }

  /** The number before the first that an account can have; 0 without a floor. */
  get floor(): number {
    return this.#floor;
  }

  /** The newest record of the shard with frames in the log, and how many of its frames the log has. */
  logged(shard: number): Readonly<LoggedRecord> {
    return this.#logged[shard];
  }

  /** Sets `logged` of a shard to this record. Called between two batches; @returns as `commit` does. */
  setLogged(shard: number, shardSequence: number): boolean {
    assert(this.#batch === 0, 'PRIVATELOG-2: `logged` is set between two batches');
    const word = this.#entry() + LOG_ENTRY.frame;
    this.#words[word + prv.PRIVATE_FRAME.kind] = NO_FRAME;
    this.#words[word + prv.PRIVATE_FRAME.shard] = shard;
    writeSafe(this.#words, word + prv.PRIVATE_FRAME.shardSequence, shardSequence);
    return this.commit();
  }

  /** The positions of the account's newest entry and of the last entry of the block before. */
  end(account: number): AccountEnd {
    const last = this.last(account);
    if (last === this.#floor) return { account, last, position: 0, block: 0 };
    return { account, last, position: this.#position[account], block: this.#block[account] };
  }

  /** The record is valid until the next call; null when the entry was removed with its file, or is damaged. */
  entry(position: number): prv.RecordView | null {
    assert(position < this.#next + this.#batch, 'PRIVATELOG-6: only an entry that was appended is read');
    if (position >= this.#batchFirst) {
      this.#read.words = this.#words;
      this.#read.word = (position - this.#batchFirst) * LOG_ENTRY.WORDS;
      return this.#read;
    }
    const segment = this.#segments.findLast(({ first }) => first <= position);
    if (position === 0 || segment === undefined) return null;
    this.#read.words = this.#readWords;
    this.#read.word = 0;
    return segment.read(this.#readMemory, position, 1) === 1 ? this.#read : null;
  }

  /**
   * Once this has resolved, everything committed before the call survives a power cut.
   * @returns `logged` at the time of the call
   */
  async sync(): Promise<readonly Readonly<LoggedRecord>[]> {
    const logged = this.#logged.map((record) => ({ ...record }));
    if (!this.#isDirty) return logged;
    this.#isDirty = false;
    await datasync(this.#segments.at(-1)!.fd);
    return logged;
  }

  /** Called when no sync is under way. */
  close(): void {
    for (const { fd } of this.#segments) closeSync(fd);
  }

  #entry(): number {
    if (this.#batch === 0) this.#batchFirst = this.#next;
    const word = this.#batch++ * LOG_ENTRY.WORDS;
    if (word === this.#words.length) {
      const larger = new Uint32Array(2 * word);
      larger.set(this.#words);
      this.#words = larger;
      this.#bytes = new Uint8Array(larger.buffer);
    }
    this.#words.fill(0, word, word + LOG_ENTRY.WORDS);
    return word;
  }

  #makeRoom(account: number): void {
    if (account < this.#last.length) return;
    this.#last = grown(this.#last, account + 1);
    this.#position = grown(this.#position, account + 1);
    this.#block = grown(this.#block, account + 1);
  }

  /** Frees the numbers of the batch, and cuts the file where it ended before. */
  #rollBack(segment: Segment): void {
    for (let i = this.#batch - 1; i >= 0; i--) {
      const word = i * LOG_ENTRY.WORDS;
      if (this.#words[word + LOG_ENTRY.frame + prv.PRIVATE_FRAME.kind] === NO_FRAME) continue;
      const account = this.#words[word + LOG_ENTRY.frame + prv.PRIVATE_FRAME.account];
      const previous = readSafe(this.#words, word + LOG_ENTRY.previous);
      const isFirstOfBlock = --this.#last[account] % BLOCK === 0;
      this.#position[account] = previous;
      if (!isFirstOfBlock || previous === 0) continue;
      const entry = this.entry(previous);
      this.#block[account] = entry === null ? 0 : readSafe(entry.words, entry.word + LOG_ENTRY.block);
    }
    this.#batch = 0;
    this.#batchFirst = this.#next;
    try {
      ftruncateSync(segment.fd, segment.offset(this.#next));
    } catch {
      // The next batches overwrite the remaining bytes. If a crash comes first, the next start cuts them off.
    }
  }

  #noteLogged(words: Uint32Array, frame: number): void {
    const logged = this.#logged[prv.shardOf(words[frame + prv.PRIVATE_FRAME.shard])];
    const shardSequence = readSafe(words, frame + prv.PRIVATE_FRAME.shardSequence);
    const hasNoFrame = words[frame + prv.PRIVATE_FRAME.kind] === NO_FRAME;
    assert(
      hasNoFrame || shardSequence >= logged.shardSequence,
      'PRIVATELOG-3: frames come in the order of the journal',
    );
    if (hasNoFrame) logged.frames = ALL_FRAMES;
    else if (shardSequence === logged.shardSequence) logged.frames++;
    else logged.frames = 1;
    logged.shardSequence = shardSequence;
  }

  /** PRIVATELOG-4. If this fails, the segment grows further, and the next batch tries again. */
  #rotate(): void {
    try {
      fdatasyncSync(this.#segments.at(-1)!.fd);
      this.#segments.push(Segment.create(this.#directory, this.#start()));
    } catch {
      return;
    }
    while (this.#isOldestOver()) {
      const { fd, path } = this.#segments.shift()!;
      closeSync(fd);
      rmSync(path, { force: true });
    }
  }

  /** PRIVATELOG-5 */
  #isOldestOver(): boolean {
    const [, second] = this.#segments;
    if (this.#segments.length > this.#keepSegments + 1) return true;
    return second !== undefined && this.#next - second.first >= this.#keepSegments * this.#segmentEntries;
  }

  #start(): SegmentStart {
    const ends = endsAbove(this.#floor, this.#last, this.#position, this.#block);
    this.#accountsInHead = ends.count;
    return { first: this.#next, logged: this.#logged, ends, floor: this.#floor };
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
      const opened = Segment.open(this.#directory, first, this.#logged.length);
      // Without an old segment less can be replayed; without the newest, numbers would be used twice.
      if (opened === null && first !== firsts.at(-1)) continue;
      if (opened === null) {
        throw new StartError(
          `${segmentPath(this.#directory, first)} is damaged: put a backup of it in its place, or give the folder ` +
            'another name, so that clients are told that their private frames are lost',
        );
      }
      this.#segments.push(opened.segment);
      if (first === firsts.at(-1)) this.#load(opened.segment, opened.start);
    }
    if (firsts.length === 0) this.#segments.push(Segment.create(this.#directory, this.#start()));
    fdatasyncSync(this.#segments.at(-1)!.fd);
    if (!this.#segments.at(-1)!.isWritable) this.#startAnew();
  }

  /** The numbers of a new file are above the floor. */
  #raise(floor: number): void {
    if (floor <= this.#floor) return;
    this.#floor = floor;
    this.#startAnew();
  }

  /** A new file continues the newest one, or replaces it when it has no entries. */
  #startAnew(): void {
    const old = this.#segments.at(-1)!;
    if (old.first === this.#next) {
      closeSync(old.fd);
      this.#segments.pop();
    }
    this.#segments.push(Segment.create(this.#directory, this.#start()));
  }

  #load(segment: Segment, { logged, ends, floor }: SegmentStart): void {
    this.#floor = floor;
    for (const [shard, record] of logged.entries()) this.#logged[shard] = record;
    this.#accountsInHead = ends.count;
    ends.each((account, last, position, block) => {
      this.#makeRoom(account);
      this.#last[account] = last;
      this.#position[account] = position;
      this.#block[account] = block;
    });
    this.#next = segment.first;
    const words = new Uint32Array(SCAN_ENTRIES * LOG_ENTRY.WORDS);
    const memory = { words, bytes: new Uint8Array(words.buffer) };
    let restored = SCAN_ENTRIES;
    while (restored === SCAN_ENTRIES) {
      const entries = segment.read(memory, this.#next, SCAN_ENTRIES);
      restored = 0;
      while (restored < entries && this.#tryRestoreEntry(words, restored * LOG_ENTRY.WORDS)) restored++;
    }
    // Whole entries after a damaged one are not read, but not destroyed either.
    if (segment.read(memory, this.#next + 1, SCAN_ENTRIES) > 0) keepCopy(segment.path);
    ftruncateSync(segment.fd, segment.offset(this.#next));
    this.#batchFirst = this.#next;
  }

  /** False for an entry that does not continue the log (PRIVATELOG-4). */
  #tryRestoreEntry(words: Uint32Array, word: number): boolean {
    const frame = word + LOG_ENTRY.frame;
    if (words[frame + prv.PRIVATE_FRAME.kind] !== NO_FRAME) {
      const account = words[frame + prv.PRIVATE_FRAME.account];
      this.#makeRoom(account);
      const userSequence = readSafe(words, frame + prv.PRIVATE_FRAME.userSequence);
      const { shardSequence } = this.#logged[prv.shardOf(words[frame + prv.PRIVATE_FRAME.shard])];
      const isNext = userSequence === this.last(account) + 1;
      if (!isNext || readSafe(words, frame + prv.PRIVATE_FRAME.shardSequence) < shardSequence) return false;
      this.#last[account] = userSequence;
      this.#position[account] = this.#next;
      this.#block[account] = readSafe(words, word + LOG_ENTRY.block);
    }
    this.#noteLogged(words, frame);
    this.#next++;
    return true;
  }
}
