/**
 * What goes into the log of private frames, and when: the frames of events as they pass, but after a shard was lost, or
 * the process, first those of the records it had committed and nobody told of.
 * Owner: the gateway thread.
 *
 *   live ──READY again, or the log cannot be written──► behind ──────────────────────────────────────► live
 *                                                        records up to `target` from the read model,
 *                                                        then those that passed in the meantime
 *
 * Invariants:
 *   I1  A shard's frames go into the log in the order of its journal, each once: from the read model those behind the
 *       log's mark up to `target`, from the events those behind `target`.
 *   I2  What passes while a shard is behind waits in memory, at most MAX_WAITING frames; beyond that the read model is
 *       asked for it too.
 *   I3  An account is told of new frames only after the commit that has them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_RECORD_WORDS, PRV_ACCOUNT, PRV_USER_SEQUENCE, type RecordPlace } from '../../shared/privateRecord.ts';
import type { Progress } from '../../shared/progress.ts';
import type { Logger } from '../log.ts';
import type { PrivateTailPage } from '../queries/privateTail.ts';
import { FrameLog } from './frameLog.ts';
import type { PrivateLog } from './privateLog.ts';

export type PrivateSource = {
  /** The read model's frames from this record on up to `through`; null while it has not followed the journal there. */
  privateTail(shard: number, from: number, through: number): Promise<PrivateTailPage | null>;
};

export type PrivateIntakeOptions = {
  readonly log: PrivateLog;
  readonly source: PrivateSource;
  readonly shards: number;
  /** Where the projector learns what it need not keep any more. */
  readonly progress: Pick<Progress, 'setTold'>;
  readonly logger: Logger;
  /** Accounts have new frames. */
  readonly onTold: (accounts: ReadonlySet<number>) => void;
};

type Behind = {
  readonly shard: number;
  /** The last record to be taken from the read model. */
  target: number;
  /** Frames of the records behind it, in order. */
  waiting: FrameLog;
};

const MAX_WAITING = 65_536;
const RETRY_MS = 1000;
const SYNC_EVERY_MS = 200;

export class PrivateIntake {
  readonly #options: PrivateIntakeOptions;
  /** By shard; null: live. */
  readonly #behind: (Behind | null)[];
  /** By shard: the record of the newest frame that passed, or of its READY. */
  readonly #seen: Float64Array;
  /** Those with frames that are not committed, or committed and not told of. */
  #touched = new Set<number>();
  readonly #ignored = { words: new Uint32Array(PRIVATE_RECORD_WORDS), word: 0 };
  readonly #waitingPlace: { words: Uint32Array; word: number } = { words: this.#ignored.words, word: 0 };
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: PrivateIntakeOptions) {
    this.#options = options;
    this.#behind = Array.from({ length: options.shards }, () => null);
    this.#seen = new Float64Array(options.shards);
  }

  /** Every shard is READY: what is committed is brought to the disk now and then. */
  start(): void {
    this.#timer = setInterval(() => this.#sync(), SYNC_EVERY_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#syncing;
    this.#options.log.close();
  }

  /** Room for a frame of an event that passes. */
  append(shard: number, shardSequence: number, account: number): RecordPlace {
    if (this.#isClosed) return this.#ignored;
    this.#seen[shard] = shardSequence;
    const behind = this.#behind[shard]!;
    if (behind === null) {
      this.#touched.add(account);
      return this.#options.log.append(account);
    }
    if (shardSequence <= behind.target) return this.#ignored;
    if (behind.waiting.last === MAX_WAITING) {
      behind.target = shardSequence;
      behind.waiting = newWaiting();
      return this.#ignored;
    }
    const word = behind.waiting.append();
    const { words } = behind.waiting;
    words[word + PRV_ACCOUNT] = account;
    this.#waitingPlace.words = words;
    this.#waitingPlace.word = word;
    return this.#waitingPlace;
  }

  /** I3. At the end of a pump batch. */
  flush(): void {
    if (this.#touched.size > 0 && !this.#commit()) this.#fallBehind();
  }

  /** A shard has told how it stands after this record of its journal, and from here on tells what changes. */
  resumed(shard: number, shardSequence: number): void {
    this.#seen[shard] = shardSequence;
    // What this batch has of the shard before is committed first: the mark decides what is asked for.
    this.flush();
    this.#leave(shard, shardSequence);
  }

  /** The log cannot be written: nothing of the batch is in it, and what it was is in the journals. */
  #fallBehind(): void {
    this.#options.logger.warn('the log of private frames cannot be written; private streams wait');
    for (let shard = 0; shard < this.#behind.length; shard++) {
      if (this.#behind[shard] === null) this.#leave(shard, this.#seen[shard]!);
    }
  }

  #leave(shard: number, target: number): void {
    const behind: Behind = { shard, target, waiting: newWaiting() };
    this.#behind[shard] = behind;
    void this.#catchUp(behind);
  }

  /** Ends when the shard is live again, or has left once more. */
  async #catchUp(behind: Behind): Promise<void> {
    const { logger } = this.#options;
    for (;;) {
      let isThrough = false;
      try {
        isThrough = await this.#step(behind);
      } catch (error) {
        if (!this.#isClosed) logger.warn({ err: error, shard: behind.shard }, 'private frames could not be read');
        await retryLater();
      }
      if (isThrough || this.#isGone(behind)) return;
    }
  }

  #isGone(behind: Behind): boolean {
    return this.#isClosed || this.#behind[behind.shard] !== behind;
  }

  /** @returns whether the shard is live. */
  async #step(behind: Behind): Promise<boolean> {
    const { log, source, logger } = this.#options;
    const { shard, target } = behind;
    const mark = log.mark(shard);
    if (mark.shardSequence > target) {
      logger.warn({ shard, told: mark.shardSequence, target }, 'accounts were told of records that were lost');
      if (!log.setMark(shard, target)) await retryLater();
      return false;
    }
    const page = await source.privateTail(shard, mark.shardSequence, target);
    if (page === null || this.#isGone(behind)) return false;
    if (page.start > Math.max(mark.shardSequence, 1)) {
      logger.error({ shard, told: mark.shardSequence, start: page.start }, 'private frames are lost');
    }
    for (const { shardSequence, frames } of page.records) {
      // Nobody else appends in the meantime, so the mark is where it was.
      this.#appendAll(frames, shardSequence === mark.shardSequence ? mark.frames : 0);
    }
    const isThrough = page.isLast && target === behind.target;
    if (isThrough) this.#appendWaiting(behind);
    if (!this.#commit()) {
      // The next turn asks for what waited, too.
      if (isThrough) {
        behind.target = Math.max(behind.target, this.#seen[shard]!);
        behind.waiting = newWaiting();
      }
      await retryLater();
      return false;
    }
    if (isThrough) this.#behind[shard] = null;
    return isThrough;
  }

  #appendAll(frames: Uint32Array, skipped: number): void {
    for (let word = skipped * PRIVATE_RECORD_WORDS; word < frames.length; word += PRIVATE_RECORD_WORDS) {
      this.#copy(frames, word);
    }
  }

  #appendWaiting({ waiting }: Behind): void {
    for (let at = 1; at <= waiting.last; at++) {
      const word = waiting.locate(at);
      this.#copy(waiting.words, word);
    }
  }

  /** But for the number, which is the log's to give. */
  #copy(from: Uint32Array, at: number): void {
    const account = from[at + PRV_ACCOUNT]!;
    this.#touched.add(account);
    const { words, word } = this.#options.log.append(account);
    for (let i = 0; i < PRIVATE_RECORD_WORDS; i++) {
      if (i < PRV_USER_SEQUENCE || i > PRV_USER_SEQUENCE + 1) words[word + i] = from[at + i]!;
    }
  }

  /** @returns false when nothing was kept. */
  #commit(): boolean {
    const touched = this.#touched;
    this.#touched = new Set();
    if (!this.#options.log.commit()) return false;
    if (touched.size > 0) this.#options.onTold(touched);
    return true;
  }

  #sync(): void {
    if (this.#syncing !== null) return;
    const { log, progress, logger } = this.#options;
    // The mark of one that is behind may still be of records that were lost.
    const isLive = this.#behind.map((behind) => behind === null);
    this.#syncing = log
      .sync()
      .then((marks) => {
        for (const [shard, { shardSequence }] of marks.entries()) {
          if (isLive[shard]) progress.setTold(shard, shardSequence);
        }
        this.#syncing = null;
      })
      .catch((error) => {
        // What the kernel has dropped it may never report again: the read model keeps everything from here on.
        clearInterval(this.#timer);
        logger.error({ err: error }, 'the log of private frames cannot be synced');
      });
  }
}

function newWaiting(): FrameLog {
  return new FrameLog(PRIVATE_RECORD_WORDS, MAX_WAITING, 0);
}

function retryLater(): Promise<void> {
  return sleep(RETRY_MS, undefined, { ref: false });
}
