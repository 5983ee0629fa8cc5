/**
 * Writes private frames into their log in the order of the journals. Normally it writes them as their events pass.
 * After a restart of a shard or of the process it first writes the frames of records that were committed but never
 * reached this log. Owner: the gateway thread.
 *
 *   live ──READY again, or the log cannot be written──► catching up ──────────────────────────────► live
 *                                                        records up to `target` from the read model,
 *                                                        then those that passed in the meantime
 *
 * Invariants:
 *   INTAKE-1  A shard's frames go into the log in the order of its journal, each once: frames after the log's `logged`
 *             up to `target` come from the read model, frames after `target` from the events.
 *   INTAKE-2  While a shard is catching up, passing frames wait in memory, at most MAX_WAITING; beyond that `target`
 *             advances and they are read from the read model too.
 *
 * In a cluster the order of the log decides instead: orderedIntake.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import { PRIVATE_FRAME, type RecordView } from '../../shared/wire/privateRecord.ts';
import { fallbacks } from '../base/fallbacks.ts';
import { FrameLog } from './frameLog.ts';
import type { PrivateTailPage } from './privateTailQueries.ts';
import { PrivateWriter, type PrivateWriterOptions } from './privateWriter.ts';

export type PrivateSource = {
  /** The read model's frames from this record up to `through`; null while it has not followed the journal that far. */
  privateTail(shard: number, from: number, through: number): Promise<PrivateTailPage | null>;
};

export type PrivateIntakeOptions = PrivateWriterOptions & {
  readonly source: PrivateSource;
  readonly shards: number;
};

/** Takes the frames of passing events into the log. */
export type FrameIntake = {
  /** Every shard is READY: from now on the log is synced to the disk at intervals. */
  start(): void;
  close(): Promise<void>;
  /** @returns the record into which the frame of a passing event is written */
  append(shard: number, shardSequence: number, account: number): RecordView;
  /** In a cluster: every event up to this record has passed. */
  published(shard: number, shardSequence: number): void;
  /** At the end of a pump batch. */
  flush(): void;
  /** A shard has recovered up to this record of its journal: frames of later records will pass. */
  resumed(shard: number, shardSequence: number): void;
};

type CatchUp = {
  readonly shard: number;
  /** The last record that is read from the read model. */
  target: number;
  /** Frames of the records after `target`, in order. */
  waiting: FrameLog;
};

const MAX_WAITING = 65_536;
const RETRY_MS = 1000;

export class PrivateIntake implements FrameIntake {
  readonly #options: PrivateIntakeOptions;
  readonly #writer: PrivateWriter;
  /** By shard; null while it is live. */
  readonly #catchUps: (CatchUp | null)[];
  /** By shard: the record of the newest frame that passed, or the sequence number of its last READY. */
  readonly #seen: Float64Array;
  /** Unwanted frames are written here. */
  readonly #ignored = { words: new Uint32Array(PRIVATE_FRAME.WORDS), word: 0 };
  readonly #waitingRecord: { words: Uint32Array; word: number } = { words: this.#ignored.words, word: 0 };
  #isClosed = false;

  constructor(options: PrivateIntakeOptions) {
    this.#options = options;
    this.#writer = new PrivateWriter(options, {
      // While a shard is catching up, its `logged` may still name records that were lost.
      before: () => this.#catchUps.map((catchUp) => catchUp === null),
    });
    this.#catchUps = Array.from({ length: options.shards }, () => null);
    this.#seen = new Float64Array(options.shards);
  }

  start(): void {
    this.#writer.start();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#writer.close();
  }

  append(shard: number, shardSequence: number, account: number): RecordView {
    if (this.#isClosed) return this.#ignored;
    assert(shardSequence >= this.#seen[shard], 'INTAKE-1: frames pass in the order of the journal');
    this.#seen[shard] = shardSequence;
    const catchUp = this.#catchUps[shard];
    if (catchUp === null) return this.#writer.append(account);
    if (shardSequence <= catchUp.target) return this.#ignored;
    if (catchUp.waiting.last === MAX_WAITING) {
      catchUp.target = shardSequence;
      catchUp.waiting = newWaiting();
      return this.#ignored;
    }
    const word = catchUp.waiting.append();
    const { words } = catchUp.waiting;
    words[word + PRIVATE_FRAME.account] = account;
    this.#waitingRecord.words = words;
    this.#waitingRecord.word = word;
    return this.#waitingRecord;
  }

  published(): void {}

  flush(): void {
    if (this.#writer.hasFrames && !this.#writer.commit()) this.#catchUpAll();
  }

  resumed(shard: number, shardSequence: number): void {
    this.#seen[shard] = shardSequence;
    // Frames of this batch that the previous thread published are committed first: `logged` decides what is read again.
    this.flush();
    this.#startCatchUp(shard, shardSequence);
  }

  /**
   * The log cannot be written, so it has nothing of the batch. The journals have it, and the read model will have it.
   */
  #catchUpAll(): void {
    this.#options.logger.warn('the log of private frames cannot be written; private streams wait');
    for (let shard = 0; shard < this.#catchUps.length; shard++) {
      if (this.#catchUps[shard] === null) this.#startCatchUp(shard, this.#seen[shard]);
    }
  }

  #startCatchUp(shard: number, target: number): void {
    const catchUp: CatchUp = { shard, target, waiting: newWaiting() };
    this.#catchUps[shard] = catchUp;
    void this.#run(catchUp);
  }

  /** Ends when the shard is live again, or when another catch-up of the shard has begun. */
  async #run(catchUp: CatchUp): Promise<void> {
    const { logger } = this.#options;
    for (;;) {
      let isThrough = false;
      try {
        isThrough = await this.#step(catchUp);
      } catch (error) {
        if (!this.#isClosed) logger.warn({ err: error, shard: catchUp.shard }, 'private frames could not be read');
        await retryLater();
      }
      if (isThrough || this.#isOver(catchUp)) return;
    }
  }

  #isOver(catchUp: CatchUp): boolean {
    return this.#isClosed || this.#catchUps[catchUp.shard] !== catchUp;
  }

  /** @returns true if the shard is live */
  async #step(catchUp: CatchUp): Promise<boolean> {
    const { log, source, logger } = this.#options;
    const { shard, target } = catchUp;
    const logged = log.logged(shard);
    if (logged.shardSequence > target) {
      logger.warn(
        { shard, logged: logged.shardSequence, target },
        'accounts were sent frames of records that were lost',
      );
      if (!log.setLogged(shard, target)) await retryLater();
      return false;
    }
    const page = await source.privateTail(shard, logged.shardSequence, target);
    if (page === null || this.#isOver(catchUp)) return false;
    if (page.start > Math.max(logged.shardSequence, 1)) {
      const facts = { shard, logged: logged.shardSequence, start: page.start };
      fallbacks.note(logger, 'private_frames', 'private frames are lost', facts);
    }
    for (const { shardSequence, frames } of page.records) {
      assert(shardSequence <= target, 'INTAKE-1: the read model is asked for records up to the target');
      // While the shard is catching up, only this function appends its frames, so `logged` is unchanged.
      this.#appendAll(frames, shardSequence === logged.shardSequence ? logged.frames : 0);
    }
    const isThrough = page.isLast && target === catchUp.target;
    if (isThrough) this.#appendWaiting(catchUp);
    if (!this.#writer.commit()) {
      // The waiting frames are lost with the batch: the next turn reads them from the read model too.
      if (isThrough) {
        catchUp.target = Math.max(catchUp.target, this.#seen[shard]);
        catchUp.waiting = newWaiting();
      }
      await retryLater();
      return false;
    }
    if (isThrough) this.#catchUps[shard] = null;
    return isThrough;
  }

  #appendAll(frames: Uint32Array, skipped: number): void {
    for (let word = skipped * PRIVATE_FRAME.WORDS; word < frames.length; word += PRIVATE_FRAME.WORDS) {
      this.#writer.copy(frames, word);
    }
  }

  #appendWaiting({ waiting }: CatchUp): void {
    for (let at = 1; at <= waiting.last; at++) {
      const word = waiting.locate(at);
      this.#writer.copy(waiting.words, word);
    }
  }
}

function newWaiting(): FrameLog {
  return new FrameLog(PRIVATE_FRAME.WORDS, MAX_WAITING, 0);
}

function retryLater(): Promise<void> {
  return sleep(RETRY_MS, undefined, { ref: false });
}
