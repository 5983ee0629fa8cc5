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
 *   ANSWERS-3  A batch survives a failed write: it is written again before any new request is let in. In a cluster its
 *              record is already in the log, and is not appended again.
 *   ANSWERS-5  In a cluster `whenKept(true)` is called after the log holds the answer too. Disk and log write in
 *              parallel, and the next batch does not wait for the log.
 *   ANSWERS-4  No request with a key is let in until every key of the previous process has its row, or while there is
 *              no writer.
 */

import { Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { HeldLog } from '../../shared/records/heldLog.ts';
import type { FileRecord } from '../../shared/records/recordedFile.ts';
import { linkAfter } from '../../shared/records/statements.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import { fallbacks } from '../base/fallbacks.ts';
import type { Logger } from '../base/log.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';
import type { KeyedAnswer, KeyUse } from './answerBatch.ts';
import {
  AnswerReader,
  addRecordTables,
  type BatchRecord,
  createAnswerDb,
  type KeptAnswers,
  readTail,
  type StoredAnswer,
  UNRESOLVED,
} from './answerDb.ts';
import { encodeAnswers } from './answerRecord.ts';
import type { WriterBatch, WriterMessage, WriterOptions } from './answerWriter.ts';
import type { JournaledKey } from './journaledKeys.ts';
import type { KeysInFlight } from './keysInFlight.ts';

type AnswersOptions = {
  readonly path: string;
  readonly sync: JournalSync;
  readonly inFlight: Pick<KeysInFlight, 'oldestMs'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent without a cluster. Called when another member's record contradicts this file: the process has to end. */
  readonly onRefused?: (why: string) => void;
};

/** The records of a member that leads. */
type Shared = { readonly log: HeldLog; sequence: number; link: Uint8Array };

type Waiting = { readonly row: KeyedAnswer; whenKept: (isKept: boolean) => void };

/** Time after which a full disk is tried again. */
const FULL_RETRY_MS = 1000;
const SAY_FULL_EVERY_MS = 60_000;

const FULL = 'there is no room to keep answers: requests with an idempotency key are refused, but for cancels';
const FULL_STANDBY = 'there is no room to keep the answers of the leader: this member cannot take over until there is';
/**
 * The most bytes of records that wait in memory for room; beyond it a standby ends, as it does when it can write
 * nothing.
 */
const MOST_WAITING_BYTES = 64 << 20;

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
  /** The batch that the writer is writing or will write again, and the requests that wait for it. */
  #batch: WriterBatch | null = null;
  #sent: Waiting[] = [];
  #isSending = false;
  #isScheduled = false;
  #isCaughtUp = false;
  /** True while rows of a failed write are not stored yet (ANSWERS-3). */
  #isBehind = true;
  /** The rows of all accounts, as the writer counted them last. */
  kept: KeptAnswers = { rows: 0, bytes: 0 };
  readonly #onRefused: ((why: string) => void) | null;
  /** Null without a cluster, and while another member leads. */
  #shared: Shared | null = null;
  /** Another member's last record that is durable here, and its records that wait for the writer. */
  #applied = 0;
  readonly #toApply: FileRecord[] = [];
  #toApplyBytes = 0;
  /** The disk had no room for the last batch. */
  isDiskFull = false;
  #saidFullMs = Number.NEGATIVE_INFINITY;
  readonly #sayFull: (text: string) => void;

  constructor({ path, sync, inFlight, clock, log, onRefused }: AnswersOptions) {
    this.#clock = clock;
    this.#sayFull = (text) => log.error({ file: path }, text);
    this.#inFlight = inFlight;
    const onDamaged = (aside: string): void => {
      const cost = 'answers kept for idempotency keys are lost: a repeated key is recognised only by the journals';
      fallbacks.note(log, 'kept_answers', `${path} was damaged and is made anew, the old one is ${aside}: ${cost}`);
    };
    this.#db = createAnswerDb(path, onRefused === undefined ? onDamaged : undefined);
    this.#reader = new AnswerReader(this.#db);
    this.#onRefused = onRefused ?? null;
    if (onRefused !== undefined) {
      addRecordTables(this.#db);
      const { sequence, queue } = readTail(this.#db);
      this.#applied = (queue[0]?.sequence ?? sequence + 1) - 1;
    }
    this.#writer = new SupervisedThread({
      name: 'idempotency',
      launch: () => this.#launch({ path, sync }),
      onEnd: (error) => {
        if (error !== null) threadEnds.note(log, 'idempotency', error);
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

  /** In a cluster: the last record of another member that is durable here. */
  get sequence(): number {
    return this.#applied;
  }

  /** A record of the member that leads. */
  apply(record: FileRecord): void {
    this.#toApply.push(record);
    this.#toApplyBytes += record.bytes.length;
    if (this.isDiskFull && this.#toApplyBytes > MOST_WAITING_BYTES) this.#onRefused?.(FULL_STANDBY);
    this.#worker?.postMessage({ apply: record });
  }

  /** Every record of other members is applied; from now on this member leads. */
  lead(log: HeldLog): void {
    assert(this.#toApply.length === 0, 'answers: a member leads after it has applied every record');
    const { sequence, link, queue } = readTail(this.#db);
    this.#shared = { log, sequence, link };
    this.#saidFullMs = Number.NEGATIVE_INFINITY;
    for (const each of queue) if (each.sequence > log.held()) log.put(each.sequence, each.bytes);
  }

  /** Every key of the last process has its row. */
  caughtUp(): void {
    this.#isCaughtUp = true;
  }

  /** Called from time to time: stores how far keys are settled, deletes old rows, and retries after a full disk. */
  tick(): void {
    if ((this.isOpen || this.isDiskFull) && !this.#isSending) this.#send();
  }

  async stop(): Promise<void> {
    await this.#writer.stop();
    this.#db.close();
  }

  #launch(workerData: WriterOptions): Worker {
    const worker = new Worker(new URL('./answerWriter.ts', import.meta.url), { workerData, name: 'idempotency' });
    worker.on('message', (message: WriterMessage) => {
      if (message === 'ready') {
        this.#worker = worker;
        for (const record of this.#toApply) worker.postMessage({ apply: record });
        this.#send();
      } else if (message === 'full') {
        this.#noteFull(FULL);
        this.#failed();
        setTimeout(() => this.tick(), FULL_RETRY_MS).unref();
      } else if (message === 'waits') this.#noteFull(FULL_STANDBY);
      else if (typeof message === 'object' && 'applied' in message) {
        this.isDiskFull = false;
        this.#toApplyBytes -= this.#toApply.shift()!.bytes.length;
        this.#applied = Math.max(this.#applied, message.applied);
      } else if (typeof message === 'object' && 'refused' in message) {
        this.#onRefused?.(message.refused);
      } else {
        this.kept = message;
        this.#kept();
      }
    });
    return worker;
  }

  #noteFull(text: string): void {
    this.isDiskFull = true;
    const nowMs = performance.now();
    if (nowMs - this.#saidFullMs < SAY_FULL_EVERY_MS) return;
    this.#saidFullMs = nowMs;
    this.#sayFull(text);
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
    this.#isSending = true;
    const { record, ...batch } = this.#batch ?? this.#nextBatch();
    this.#batch = { ...batch, record: record ?? (this.#shared && recordOf(this.#shared, batch)) };
    worker.postMessage(this.#batch);
  }

  #nextBatch(): WriterBatch {
    const nowMs = this.#clock.nowMs();
    this.#sent = this.#waiting;
    this.#waiting = [];
    const settledMs = this.#isCaughtUp ? this.#inFlight.oldestMs(nowMs) : null;
    return { rows: this.#sent.map(({ row }) => row), settledMs, nowMs, record: null };
  }

  #kept(): void {
    const sent = this.#sent;
    const record = this.#batch?.record ?? null;
    this.#batch = null;
    this.#sent = [];
    this.#isSending = false;
    this.isDiskFull = false;
    if (record === null || this.#shared === null) for (const { whenKept } of sent) whenKept(true);
    else void whenHeld(this.#shared.log, record.sequence, sent);
    if (this.#waiting.length > 0) this.#send();
    else this.#isBehind = false;
  }

  #lost(): void {
    this.#worker = null;
    this.#failed();
  }

  /** The batch is written again (ANSWERS-3); requests that wait for it are released. */
  #failed(): void {
    this.#isSending = false;
    this.#isBehind = true;
    this.#disown([...this.#sent, ...this.#waiting]);
  }

  #disown(waiting: readonly Waiting[]): void {
    for (const each of waiting) {
      const { whenKept } = each;
      each.whenKept = NO_RECEIVER;
      whenKept(false);
    }
  }
}

/** The record of a batch, which is in the outbox when this returns. */
function recordOf(shared: Shared, batch: Parameters<typeof encodeAnswers>[0]['batch']): BatchRecord {
  const bytes = encodeAnswers({ link: shared.link, batch });
  shared.sequence++;
  shared.link = linkAfter(bytes);
  const held = shared.log.held();
  shared.log.put(shared.sequence, bytes);
  return { sequence: shared.sequence, bytes, link: shared.link, held };
}

/** ANSWERS-5 */
async function whenHeld(log: HeldLog, sequence: number, sent: readonly Waiting[]): Promise<void> {
  const isHeld = await log.whenHeld(sequence).then(
    () => true,
    () => false,
  );
  for (const { whenKept } of sent) whenKept(isHeld);
}
