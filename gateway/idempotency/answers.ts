/**
 * The gateway's end of idempotency.db: finds the answer of a key, and stores new answers before they are sent. Owner:
 * the gateway thread.
 *
 *   keep ──► waiting ──one batch at a time──► writer thread ──durable──► whenKept(true)
 *               ▲                                  │ ends, or the disk is full
 *               └──────── kept for the next ───────┴──► whenKept(false)
 *
 * Invariants:
 *   ANSWERS-1  `whenKept(true)` is called after the transaction with the answer is durable.
 *   ANSWERS-2  The writer has one batch at a time; answers that arrive meanwhile form the next.
 *   ANSWERS-3  A row survives the write that failed: the next one has it before any new request is let in.
 *   ANSWERS-4  No request with a key is let in until every key of the last process has its row, nor while there is no
 *              writer.
 */
import { Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../../shared/base/clock.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import type { Logger } from '../process/log.ts';
import { SupervisedThread } from '../process/supervisedThread.ts';
import type { JournaledKey } from '../queries/keys.ts';
import {
  type AnswerBatch,
  AnswerReader,
  createAnswerDb,
  type KeptAnswers,
  type KeyedAnswer,
  type KeyUse,
  type StoredAnswer,
  UNRESOLVED,
} from './answerDb.ts';
import type { KeysInFlight } from './keysInFlight.ts';
import type { WriterMessage, WriterOptions } from './writer.ts';

type AnswersOptions = {
  readonly path: string;
  readonly sync: JournalSync;
  readonly inFlight: Pick<KeysInFlight, 'oldestMs'>;
  readonly clock: Clock;
  readonly log: Logger;
};

type Waiting = { readonly row: KeyedAnswer; whenKept: (isKept: boolean) => void };

/** Time after which a full disk is tried again. */
const FULL_RETRY_MS = 1000;

const NO_RECEIVER = (): void => {};

export class Answers {
  readonly #clock: Clock;
  readonly #inFlight: AnswersOptions['inFlight'];
  readonly #db: Database;
  readonly #reader: AnswerReader;
  readonly #writer: SupervisedThread;
  /** Null while no writer is ready. */
  #worker: Worker | null = null;
  #waiting: Waiting[] = [];
  /** The batch that the writer is writing. */
  #sent: Waiting[] = [];
  #isSending = false;
  #isScheduled = false;
  #isCaughtUp = false;
  /** True while rows of a failed write are not stored yet (ANSWERS-3). */
  #isBehind = true;
  /** The rows of all accounts, as the writer counted them last. */
  kept: KeptAnswers = { rows: 0, bytes: 0 };
  /** The disk had no room for the last batch. */
  isDiskFull = false;

  constructor({ path, sync, inFlight, clock, log }: AnswersOptions) {
    this.#clock = clock;
    this.#inFlight = inFlight;
    this.#db = createAnswerDb(path);
    this.#reader = new AnswerReader(this.#db);
    this.#writer = new SupervisedThread({
      name: 'idempotency',
      launch: () => this.#launch({ path, sync }),
      onEnd: (error) => {
        if (error !== null) log.error({ err: error }, 'the idempotency thread ended; it is started again');
        this.#lost();
        return true;
      },
    });
  }

  /** True if requests with a key may be let in (ANSWERS-4). */
  get isOpen(): boolean {
    return this.#isCaughtUp && this.#worker !== null && !this.#isBehind;
  }

  find(use: KeyUse): StoredAnswer | null {
    return this.#reader.find(use);
  }

  /** Stores a row. `whenKept` is called once: with true when the row is durable, with false when that is unknown. */
  keep(row: KeyedAnswer, whenKept: (isKept: boolean) => void): void {
    this.#waiting.push({ row, whenKept });
    this.#schedule();
  }

  /** From this moment on, journaled commands may have a key without a row. */
  settledMs(): number {
    return this.#reader.settledMs();
  }

  /**
   * Stores keys found in the journals; resolves when they have a row, or will have one before any request is let in
   * (ANSWERS-3).
   */
  async note(found: readonly JournaledKey[]): Promise<void> {
    const keep = (key: JournaledKey) => {
      return new Promise((resolve) => this.keep({ ...key, status: UNRESOLVED, body: '' }, resolve));
    };
    await Promise.all(found.map(keep));
  }

  /** Every key of the last process has its row. */
  caughtUp(): void {
    this.#isCaughtUp = true;
  }

  /** Called from time to time: records how far keys are settled, deletes old rows, and tries a full disk again. */
  tick(): void {
    if ((this.isOpen || this.isDiskFull) && !this.#isSending) this.#send();
  }

  async stop(): Promise<void> {
    await this.#writer.stop();
    this.#db.close();
  }

  #launch(workerData: WriterOptions): Worker {
    const worker = new Worker(new URL('./writer.ts', import.meta.url), { workerData, name: 'idempotency' });
    worker.on('message', (message: WriterMessage) => {
      if (message === 'ready') {
        this.#worker = worker;
        this.#send();
      } else if (message === 'full') {
        this.isDiskFull = true;
        this.#failed();
        setTimeout(() => this.tick(), FULL_RETRY_MS).unref();
      } else {
        this.kept = message;
        this.#kept();
      }
    });
    return worker;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Answers of the same turn of the event loop share a transaction.
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isSending) this.#send();
    });
  }

  #send(): void {
    const worker = this.#worker;
    if (worker === null) {
      this.#disown(this.#waiting);
      return;
    }
    const nowMs = this.#clock.nowMs();
    this.#sent = this.#waiting;
    this.#waiting = [];
    this.#isSending = true;
    const batch: AnswerBatch = {
      rows: this.#sent.map(({ row }) => row),
      settledMs: this.#isCaughtUp ? this.#inFlight.oldestMs(nowMs) : null,
      nowMs,
    };
    worker.postMessage(batch);
  }

  #kept(): void {
    const sent = this.#sent;
    this.#sent = [];
    this.#isSending = false;
    this.isDiskFull = false;
    for (const { whenKept } of sent) whenKept(true);
    if (this.#waiting.length > 0) this.#send();
    else this.#isBehind = false;
  }

  #lost(): void {
    this.#worker = null;
    this.#failed();
  }

  /** Gives the rows of the failed write to the next one (ANSWERS-3). */
  #failed(): void {
    this.#isSending = false;
    this.#isBehind = true;
    this.#waiting = [...this.#sent, ...this.#waiting];
    this.#sent = [];
    this.#disown(this.#waiting);
  }

  #disown(waiting: readonly Waiting[]): void {
    for (const each of waiting) {
      const { whenKept } = each;
      each.whenKept = NO_RECEIVER;
      whenKept(false);
    }
  }
}
