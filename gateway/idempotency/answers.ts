/**
 * The gateway's end of idempotency.db: finds what a key was answered, and has new answers kept before they are given.
 * Owner: the gateway thread.
 *
 *   keep ──► waiting ──one batch at a time──► writer thread ──durable──► whenKept(true)
 *               ▲                                  │ ends
 *               └──────── kept for the next ───────┴──► whenKept(false)
 *
 * Invariants:
 *   A1  `whenKept(true)` comes after the transaction that holds the answer is durable.
 *   A2  One batch is with the writer at a time; what comes meanwhile is the next.
 *   A3  A row outlives the writer that failed over it: the next one gets it before any new request is let in.
 *   A4  Until every key of the last process has its row, and while there is no writer, no key is let in.
 */
import { Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../../shared/clock.ts';
import type { JournalSync } from '../../shared/threads.ts';
import { KeptThread } from '../keptThread.ts';
import type { Logger } from '../log.ts';
import {
  type AnswerBatch,
  AnswerReader,
  createAnswerDb,
  type KeyedAnswer,
  type KeyPlace,
  type StoredAnswer,
  UNRESOLVED,
} from './answerDb.ts';
import type { WriterMessage, WriterOptions } from './writer.ts';

export type AnswersOptions = {
  readonly path: string;
  readonly sync: JournalSync;
  readonly clock: Clock;
  readonly log: Logger;
};

/** A command that was journaled with a key. */
export type JournaledKey = KeyPlace & { readonly fingerprint: Uint8Array; readonly createdMs: number };

type Waiting = { readonly row: KeyedAnswer; whenKept: (isKept: boolean) => void };

const NOBODY = (): void => {};

export class Answers {
  /** When the oldest request with a key that is in flight began, or `nowMs`: told by the stage that lets them in. */
  oldestInFlightMs: (nowMs: number) => number = (nowMs) => nowMs;
  readonly #clock: Clock;
  readonly #db: Database;
  readonly #reader: AnswerReader;
  readonly #writer: KeptThread;
  /** Null while there is none, or none that is ready. */
  #worker: Worker | null = null;
  #waiting: Waiting[] = [];
  /** With the writer. */
  #sent: Waiting[] = [];
  #isSending = false;
  #isScheduled = false;
  #isCaughtUp = false;
  /** Something is waited for that is older than the next request may be (A3). */
  #isBehind = true;

  constructor({ path, sync, clock, log }: AnswersOptions) {
    this.#clock = clock;
    this.#db = createAnswerDb(path);
    this.#reader = new AnswerReader(this.#db);
    this.#writer = new KeptThread({
      name: 'idempotency',
      launch: () => this.#launch({ path, sync }),
      onEnd: (error) => {
        if (error !== null) log.error({ err: error }, 'the idempotency thread ended; it is started again');
        this.#lost();
        return true;
      },
    });
  }

  /** A4. */
  get isOpen(): boolean {
    return this.#isCaughtUp && this.#worker !== null && !this.#isBehind;
  }

  find(place: KeyPlace): StoredAnswer | null {
    return this.#reader.find(place);
  }

  /** Told once: when the row is durable, or when that cannot be said. */
  keep(row: KeyedAnswer, whenKept: (isKept: boolean) => void): void {
    this.#waiting.push({ row, whenKept });
    this.#schedule();
  }

  /** Commands journaled from this moment on may have a key without a row. */
  settledMs(): number {
    return this.#reader.settledMs();
  }

  /** Keys found in the journals; resolves when they have a row, or will before anything else is let in (A3). */
  async note(found: readonly JournaledKey[]): Promise<void> {
    const keep = (key: JournaledKey) => {
      return new Promise((resolve) => this.keep({ ...key, status: UNRESOLVED, body: '' }, resolve));
    };
    await Promise.all(found.map(keep));
  }

  /** Every key of the last process has been noted. */
  caughtUp(): void {
    this.#isCaughtUp = true;
  }

  /** Now and then: says how far things are settled, and deletes what is old. */
  tick(): void {
    if (this.isOpen && !this.#isSending) this.#send();
  }

  async stop(): Promise<void> {
    await this.#writer.stop();
    this.#db.close();
  }

  #launch(workerData: WriterOptions): Worker {
    const worker = new Worker(new URL('./writer.ts', import.meta.url), { workerData, name: 'idempotency' });
    worker.on('message', (message: WriterMessage) => {
      if (message === 'kept') {
        this.#kept();
      } else {
        this.#worker = worker;
        this.#send();
      }
    });
    return worker;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Answers that the same turn of the loop makes share a transaction.
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
      settledMs: this.#isCaughtUp ? this.oldestInFlightMs(nowMs) : null,
      nowMs,
    };
    worker.postMessage(batch);
  }

  #kept(): void {
    const sent = this.#sent;
    this.#sent = [];
    this.#isSending = false;
    for (const { whenKept } of sent) whenKept(true);
    if (this.#waiting.length > 0) this.#send();
    else this.#isBehind = false;
  }

  /** A3. */
  #lost(): void {
    this.#worker = null;
    this.#isSending = false;
    this.#isBehind = true;
    this.#waiting = [...this.#sent, ...this.#waiting];
    this.#sent = [];
    this.#disown(this.#waiting);
  }

  #disown(waiting: readonly Waiting[]): void {
    for (const each of waiting) {
      const { whenKept } = each;
      each.whenKept = NOBODY;
      whenKept(false);
    }
  }
}
