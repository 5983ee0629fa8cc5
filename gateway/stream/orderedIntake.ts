/**
 * Writes private frames into their log in the order of the replicated log: an account's frames have the same numbers on
 * every member of a cluster, whichever shards they come from (RULES.md 18.3). Owner: the gateway thread.
 *
 *   replication thread ──names of rows, in order──► rows ─┐
 *   shard k ──events, then PUBLISHED──► waiting of k ─────┴──► log of private frames, row by row
 *   read model ──frames from before the start──► page of k ┘
 *
 * The log of private frames is always a prefix of the frames that follow from the replicated log. After a start the
 * replication thread names the rows after each shard's `doneThrough` again. Their frames come from the read model up to
 * the journal's end at that time (`target`), and from events after that.
 *
 * Invariants:
 *   PRIVATEORDER-1  The frames of a row are appended after the frames of all earlier rows of the replicated log, of any
 *                   shard, and in the order of the row's records. So a frame's number depends on the replicated log
 *                   alone.
 *   PRIVATEORDER-2  A row is taken once every event up to its end has passed, which the shard reports by PUBLISHED, or
 *                   once the read model has it. Until then the rows after it wait.
 *   PRIVATEORDER-3  At most MAX_WAITING frames of a shard wait: beyond that `target` advances, and they are read from
 *                   the read model. At most MAX_ROWS rows wait: beyond that the process ends.
 *   PRIVATEORDER-4  `onNumbered` receives a position up to which the frames of every row are on disk and `logged` of
 *                   every shard is at the end of its last row. Later rows are not trimmed from the replicated log, so
 *                   after any crash it still shows the order of the missing frames.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import type { LogOrderConsumer, OrderedRow } from '../../shared/wire/logOrder.ts';
import { PRIVATE_FRAME, type RecordView } from '../../shared/wire/privateRecord.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { fallbacks } from '../base/fallbacks.ts';
import { FrameLog } from './frameLog.ts';
import type { FrameIntake, PrivateIntakeOptions } from './privateIntake.ts';
import type { PrivateTailPage } from './privateTailQueries.ts';
import { PrivateWriter } from './privateWriter.ts';

type OrderedIntakeOptions = PrivateIntakeOptions & {
  readonly order: Pick<LogOrderConsumer, 'read'>;
  /** PRIVATEORDER-4. */
  readonly onNumbered: (position: number) => void;
  readonly maxWaiting?: number;
};

type Page = PrivateTailPage & { readonly target: number; at: number };

type ShardFrames = {
  readonly shard: number;
  /** Every frame up to this record is in the log, either committed or in this batch. */
  done: number;
  /**
   * The number of frames of the record after `done` that are already in the log. Non-zero only after a start or a
   * failed write.
   */
  skipped: number;
  /** The last record that is read from the read model. */
  target: number;
  /** Every event up to this record has passed; `seen` is the record of the newest event. */
  published: number;
  seen: number;
  /** Frames of the records after `target`, in order; frames up to `taken` are in the log. */
  readonly waiting: FrameLog;
  taken: number;
  /** Records up to `page.target`; null if it has to be read. */
  page: Page | null;
  isReading: boolean;
};

const MAX_WAITING = 65_536;
const MAX_ROWS = 1 << 20;
/** Rows and frames that were taken are dropped in groups of this size. */
const FORGET = 4096;
const RETRY_MS = 1000;
const MARK_MS = 1000;
/** A frame count that means all frames of a record (privateLog.ts). */
const ALL_FRAMES = 0xffffffff;
const LOOK_MS = 2;

export class OrderedIntake implements FrameIntake {
  readonly #options: OrderedIntakeOptions;
  readonly #writer: PrivateWriter;
  readonly #shards: readonly ShardFrames[];
  readonly #maxWaiting: number;
  /** Rows that were named and not taken, from `#first` on. */
  readonly #rows: OrderedRow[] = [];
  #first = 0;
  /** The position of the last row that was taken. */
  #position = 0;
  #markedPosition = 0;
  #syncedPosition = 0;
  #numberedPosition = 0;
  #markedMs = 0;
  /** A write has failed: nothing is taken until the next attempt. */
  #isPaused = false;
  #isClosed = false;
  /** Unwanted frames are written here. */
  readonly #ignored = { words: new Uint32Array(PRIVATE_FRAME.WORDS), word: 0 };
  readonly #waitingRecord: { words: Uint32Array; word: number } = { words: this.#ignored.words, word: 0 };

  constructor(options: OrderedIntakeOptions) {
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#writer = new PrivateWriter(options, { before: () => this.#beforeSync(), after: () => this.#afterSync() });
    this.#shards = Array.from({ length: options.shards }, (_, shard) => ({
      shard,
      done: 0,
      skipped: 0,
      target: 0,
      published: 0,
      seen: 0,
      waiting: new FrameLog(PRIVATE_FRAME.WORDS, this.#maxWaiting, 0),
      taken: 0,
      page: null,
      isReading: false,
    }));
    for (const frames of this.#shards) this.#goOnAfterLog(frames);
  }

  start(): void {
    this.#writer.start();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#writer.close();
  }

  /** The shard's rows that end after this record have to be named. */
  doneThrough(shard: number): number {
    return this.#shards[shard].done;
  }

  append(shard: number, shardSequence: number, account: number): RecordView {
    const frames = this.#shards[shard];
    assert(shardSequence >= frames.seen, 'PRIVATEORDER-1: frames pass in the order of the journal');
    frames.seen = shardSequence;
    if (this.#isClosed || shardSequence <= frames.target) return this.#ignored;
    const { waiting } = frames;
    if (waiting.last - frames.taken === this.#maxWaiting) {
      this.#readFrom(frames);
      return this.#ignored;
    }
    const word = waiting.append();
    const { words } = waiting;
    words[word + PRIVATE_FRAME.account] = account;
    this.#waitingRecord.words = words;
    this.#waitingRecord.word = word;
    return this.#waitingRecord;
  }

  published(shard: number, shardSequence: number): void {
    const frames = this.#shards[shard];
    frames.published = shardSequence;
    frames.seen = Math.max(frames.seen, shardSequence);
  }

  flush(): void {
    this.#options.order.read(this.#rows);
    const count = this.#rows.length - this.#first;
    if (count > MAX_ROWS) throw new Error(`PRIVATEORDER-3: ${count} rows wait for their private frames to be written`);
    this.#advance();
  }

  resumed(shard: number, shardSequence: number): void {
    const frames = this.#shards[shard];
    frames.seen = shardSequence;
    frames.published = shardSequence;
    frames.target = shardSequence;
    this.flush();
  }

  /** Resolves to true when the frames of every row named so far are in the log, or to false when time is up. */
  async settled(patienceMs: number): Promise<boolean> {
    const untilMs = performance.now() + patienceMs;
    this.flush();
    const end = this.#rows.at(-1)?.position ?? 0;
    while (this.#position < end && !this.#isClosed) {
      if (performance.now() >= untilMs) return false;
      await sleep(LOOK_MS);
      this.flush();
    }
    return true;
  }

  /** PRIVATEORDER-1. Takes the rows that are next, as far as their frames have arrived. */
  #advance(): void {
    if (this.#isPaused || this.#isClosed) return;
    const rows = this.#rows;
    let at = this.#first;
    while (at < rows.length && this.#take(rows[at])) at++;
    if (this.#writer.hasFrames && !this.#writer.commit()) {
      this.#pause();
      return;
    }
    if (at === this.#first) return;
    assert(rows[at - 1].position > this.#position, 'PRIVATEORDER-1: rows come in the order of the log');
    this.#position = rows[at - 1].position;
    this.#first = at;
    if (at < FORGET && at < rows.length) return;
    rows.splice(0, at);
    this.#first = 0;
  }

  /** Appends the frames of a row. @returns true if all frames were there; otherwise some are still to come */
  #take({ stream, sequence }: OrderedRow): boolean {
    const frames = this.#shards[stream];
    // The rows of the gateway's databases have no private frames.
    if (frames === undefined || frames.done >= sequence) return true;
    if (frames.published < sequence) return false;
    const readThrough = Math.min(sequence, frames.target);
    if (frames.done < readThrough && !this.#takeRead(frames, readThrough)) return false;
    if (frames.done < sequence) this.#takePassed(frames, sequence);
    return true;
  }

  /** Takes the frames up to a record from those that have passed. */
  #takePassed(frames: ShardFrames, sequence: number): void {
    const { waiting } = frames;
    while (frames.taken < waiting.last) {
      const word = waiting.locate(frames.taken + 1);
      const record = readSafe(waiting.words, word + PRIVATE_FRAME.shardSequence);
      if (record > sequence) break;
      frames.taken++;
      // Frames up to `done` are in the log already: the log can be ahead of a journal that was copied earlier.
      if (record <= frames.done) continue;
      if (record === frames.done + 1 && frames.skipped > 0) frames.skipped--;
      else this.#writer.copy(waiting.words, word);
    }
    this.#done(frames, sequence);
    if (frames.taken < waiting.last || waiting.last < FORGET) return;
    waiting.restart(0);
    frames.taken = 0;
  }

  /** Takes the frames up to a record from the read model. @returns true if all frames were there */
  #takeRead(frames: ShardFrames, through: number): boolean {
    const { page } = frames;
    if (page === null) {
      void this.#read(frames);
      return false;
    }
    for (; page.at < page.records.length; page.at++) {
      const { shardSequence, frames: words } = page.records[page.at];
      if (shardSequence > through) break;
      if (shardSequence <= frames.done) continue;
      const skipped = shardSequence === frames.done + 1 ? frames.skipped : 0;
      for (let word = skipped * PRIVATE_FRAME.WORDS; word < words.length; word += PRIVATE_FRAME.WORDS) {
        this.#writer.copy(words, word);
      }
      this.#done(frames, shardSequence);
    }
    if (page.at < page.records.length || (page.isLast && page.target >= through)) {
      this.#done(frames, through);
      return true;
    }
    frames.page = null;
    void this.#read(frames);
    return false;
  }

  #done(frames: ShardFrames, shardSequence: number): void {
    frames.done = shardSequence;
    frames.skipped = 0;
  }

  async #read(frames: ShardFrames): Promise<void> {
    if (frames.isReading) return;
    frames.isReading = true;
    const { source, logger } = this.#options;
    const { shard, target } = frames;
    const from = frames.done + 1;
    try {
      const page = await source.privateTail(shard, from, target);
      if (page !== null && page.start > from) {
        fallbacks.note(logger, 'private_frames', 'private frames are lost', { shard, from, start: page.start });
      }
      // After a failed write, more frames are missing than this page was read for.
      if (page !== null && from <= frames.done + 1) frames.page = { ...page, target, at: 0 };
    } catch (error) {
      if (!this.#isClosed) logger.warn({ err: error, shard }, 'private frames could not be read');
      await retryLater();
    }
    frames.isReading = false;
    this.#advance();
  }

  /** PRIVATEORDER-3. Records up to the last one that has passed will be read from the read model. */
  #readFrom(frames: ShardFrames): void {
    frames.target = frames.seen;
    frames.page = null;
    frames.waiting.restart(0);
    frames.taken = 0;
  }

  /** The log has nothing of the batch, and continues where it was before. */
  #pause(): void {
    this.#options.logger.warn('the log of private frames cannot be written; private streams wait');
    for (const frames of this.#shards) {
      this.#readFrom(frames);
      this.#goOnAfterLog(frames);
    }
    this.#isPaused = true;
    void retryLater().then(() => {
      this.#isPaused = false;
      this.#advance();
    });
  }

  /** Some frames of the last record in the log may be missing. */
  #goOnAfterLog(frames: ShardFrames): void {
    const { shardSequence, frames: count } = this.#options.log.logged(frames.shard);
    const isWhole = shardSequence === 0 || count === ALL_FRAMES;
    frames.done = isWhole ? shardSequence : shardSequence - 1;
    frames.skipped = isWhole ? 0 : count;
  }

  /** PRIVATEORDER-4. Now and then moves each shard's `logged` past records without frames. */
  #beforeSync(): readonly boolean[] {
    // Rows of the gateway alone cause no shard events, and count as well.
    this.flush();
    const nowMs = performance.now();
    if (this.#position > this.#markedPosition && nowMs - this.#markedMs >= MARK_MS && !this.#isPaused) {
      this.#markedMs = nowMs;
      if (this.#shards.every((frames) => this.#mark(frames))) this.#markedPosition = this.#position;
    }
    this.#syncedPosition = this.#markedPosition;
    return this.#shards.map(() => true);
  }

  #mark({ shard, done }: ShardFrames): boolean {
    const { log } = this.#options;
    const { shardSequence, frames } = log.logged(shard);
    const isMarked = shardSequence > done || (shardSequence === done && frames === ALL_FRAMES);
    return isMarked || done === 0 || log.setLogged(shard, done);
  }

  #afterSync(): void {
    if (this.#syncedPosition <= this.#numberedPosition) return;
    this.#numberedPosition = this.#syncedPosition;
    this.#options.onNumbered(this.#numberedPosition);
  }
}

function retryLater(): Promise<void> {
  return sleep(RETRY_MS, undefined, { ref: false });
}
