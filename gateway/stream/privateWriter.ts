/**
 * Writes private frames into their log: batches, the accounts to notify, and syncs. Owner: the gateway thread.
 *
 * Invariant:
 *   PRIVATEWRITER-1  Subscribers of an account are notified of new frames only after the commit that contains them.
 */
import { PRIVATE_FRAME, type RecordView } from '../../shared/wire/privateRecord.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Logger } from '../base/log.ts';
import type { PrivateLog } from './privateLog.ts';

export type PrivateWriterOptions = {
  readonly log: PrivateLog;
  /** The projector reads here which frames are in the log: the read model need not keep those. */
  readonly progress: Pick<Progress, 'setLogged'>;
  readonly logger: Logger;
  /** These accounts have new frames in the log. */
  readonly onCommitted: (accounts: ReadonlySet<number>) => void;
};

type Syncing = {
  /** Called before each sync. @returns by shard: true if `logged` is final */
  readonly before: () => readonly boolean[];
  /** Everything that was committed when `before` was called survives a power cut. */
  readonly after?: () => void;
};

const SYNC_EVERY_MS = 200;

export class PrivateWriter {
  readonly #options: PrivateWriterOptions;
  readonly #syncing: Syncing;
  /** Accounts with frames that are not committed. */
  #touched = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #sync: Promise<void> | null = null;

  constructor(options: PrivateWriterOptions, syncing: Syncing) {
    this.#options = options;
    this.#syncing = syncing;
  }

  /** From now on the log is synced to the disk at intervals. */
  start(): void {
    this.#timer ??= setInterval(() => this.#startSync(), SYNC_EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sync;
    this.#options.log.close();
  }

  get hasFrames(): boolean {
    return this.#touched.size > 0;
  }

  /** @returns the record into which the account's next frame is written */
  append(account: number): RecordView {
    this.#touched.add(account);
    return this.#options.log.append(account);
  }

  /** Copies a frame without its number, which the log assigns. */
  copy(from: Uint32Array, at: number): void {
    const { words, word } = this.append(from[at + PRIVATE_FRAME.account]);
    for (let i = 0; i < PRIVATE_FRAME.WORDS; i++) {
      if (i < PRIVATE_FRAME.userSequence || i > PRIVATE_FRAME.userSequence + 1) words[word + i] = from[at + i];
    }
  }

  /** @returns false if the batch could not be written */
  commit(): boolean {
    const touched = this.#touched;
    this.#touched = new Set();
    if (!this.#options.log.commit()) return false;
    if (touched.size > 0) this.#options.onCommitted(touched);
    return true;
  }

  #startSync(): void {
    if (this.#sync !== null) return;
    const { log, progress, logger } = this.#options;
    const isLasting = this.#syncing.before();
    this.#sync = log
      .sync()
      .then((logged) => {
        for (const [shard, { shardSequence }] of logged.entries()) {
          if (isLasting[shard]) progress.setLogged(shard, shardSequence);
        }
        this.#syncing.after?.();
        this.#sync = null;
      })
      .catch((error) => {
        // The kernel may report a failed write only once, so syncing stops for good: the read model keeps all frames.
        clearInterval(this.#timer);
        logger.error({ err: error }, 'the log of private frames cannot be synced');
      });
  }
}
