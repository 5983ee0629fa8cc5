/**
 * The audit log: a file of one line a record, each chained to the one before (shared/crypto/auditChain.ts). It is only
 * appended to. Records that come while others are being written share the next write and its sync.
 * Owner: the gateway thread; writing is done by the thread pool, so no request waits for the disk but its own.
 *
 * Invariants:
 *   AUDITLOG-1  When `append` resolves, the record is durable, and so is every record before it.
 *   AUDITLOG-2  When `append` rejects, nothing of the record is in the log: what a failed write left behind the end is
 *               cut off or overwritten, and the numbers are given to the next records. So numbers have no gaps.
 *   AUDITLOG-3  An owed record (the result of a change that has been carried out) is written before any later one,
 *               however often that takes; its `append` still rejects at the first failure, so that the answer waits for
 *               no disk that is full.
 *   AUDITLOG-4  A file that does not contain the last record that control.db knows was cut or replaced. The log then
 *               goes on after the known record, so that its numbers show what is missing for ever.
 */
import type { Clock } from '../../shared/base/clock.ts';
import {
  type AuditFields,
  type AuditHead,
  type AuditKey,
  chainLine,
  NO_RECORDS,
} from '../../shared/crypto/auditChain.ts';
import type { Logger } from '../process/log.ts';
import { type AuditFile, openAuditFile } from './file.ts';

export type AuditLogOptions = {
  readonly path: string;
  readonly key: AuditKey;
  readonly clock: Clock;
  readonly log: Logger;
  /** The end of the chain as control.db knows it: another file, so that a cut log is noticed. */
  readonly knownHead: { read(): AuditHead | null; write(head: AuditHead): void };
  /** For tests: a file that fails. */
  readonly open?: typeof openAuditFile;
};

type Waiting = {
  readonly fields: AuditFields;
  /** AUDITLOG-3. */
  readonly isOwed: boolean;
  settle: ((error: unknown, head: AuditHead | null) => void) | null;
};

/** Time between two notes of the head in control.db, and between two attempts to write what is owed. */
const NOTE_MS = 1000;

export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #file: AuditFile;
  /** The last durable record. */
  #head: AuditHead;
  #notedSequence: number;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #nextNoteMs = 0;

  constructor(options: AuditLogOptions) {
    const { path, clock, log, knownHead, open = openAuditFile } = options;
    this.#options = options;
    const known = knownHead.read();
    const { file, head, openChanges } = open(path);
    this.#file = file;
    this.#head = head.sequence < 0 ? NO_RECORDS : head;
    this.#notedSequence = known?.sequence ?? 0;
    if (known !== null && !isAtOrAfter(head, known)) {
      log.error({ path, found: head.sequence, expected: known.sequence }, 'the audit log was cut or replaced');
      this.#head = known;
      this.#owe({ event: 'gap', found: head.sequence, expected: known.sequence, expected_hash: known.hash });
    }
    for (const of of openChanges) this.#owe({ event: 'interrupted', of });
    this.#owe({ event: 'start' });
    this.#nextNoteMs = clock.nowMs();
    void this.#write();
  }

  get path(): string {
    return this.#options.path;
  }

  get head(): AuditHead {
    return this.#head;
  }

  /** Bytes of the file that hold durable records. */
  get lengthBytes(): number {
    return this.#file.lengthBytes;
  }

  /** Resolves once the record is durable (AUDITLOG-1, AUDITLOG-2). */
  append(fields: AuditFields, isOwed = false): Promise<AuditHead> {
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, head: AuditHead | null): void => (head === null ? reject(error) : resolve(head));
      this.#waiting.push({ fields: this.#timed(fields), isOwed, settle });
      void this.#write();
    });
  }

  /** Called several times a second: writes what is still owed, and notes the head in control.db. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < this.#nextNoteMs) return;
    this.#nextNoteMs = nowMs + NOTE_MS;
    void this.#write();
    this.#note();
  }

  /** Writes the last record and closes the file. */
  async stop(): Promise<void> {
    await this.append({ event: 'stop' }).catch((error) => {
      this.#options.log.error({ err: error }, 'the end of the audit log could not be written');
    });
    this.#note();
    await this.#file.close();
  }

  #owe(fields: AuditFields): void {
    this.#waiting.push({ fields: this.#timed(fields), isOwed: true, settle: null });
  }

  #timed(fields: AuditFields): AuditFields {
    return { time: new Date(this.#options.clock.nowMs()).toISOString(), ...fields };
  }

  /** Writes everything that waits, also what is added meanwhile. Only one write is under way at a time. */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    // One turn later, so that the records of one turn of the loop share a sync.
    await null;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      let head = this.#head;
      const heads: AuditHead[] = [];
      let text = '';
      for (const { fields } of batch) {
        const chained = chainLine(head, fields, this.#options.key);
        head = chained.head;
        heads.push(head);
        text += `${chained.line}\n`;
      }
      try {
        await this.#file.append(Buffer.from(text));
      } catch (error) {
        this.#fail(batch, error);
        break;
      }
      this.#head = head;
      for (const [index, { settle }] of batch.entries()) settle?.(null, heads[index]!);
    }
    this.#isWriting = false;
  }

  #fail(batch: readonly Waiting[], error: unknown): void {
    this.#options.log.error({ err: error, records: batch.length }, 'the audit log could not be written');
    const owed = batch.filter(({ isOwed }) => isOwed);
    const later = this.#waiting;
    this.#waiting = [...owed, ...later.filter(({ isOwed }) => isOwed)];
    for (const waiting of [...batch, ...later]) {
      const { settle } = waiting;
      waiting.settle = null;
      settle?.(error, null);
    }
  }

  #note(): void {
    const { knownHead, log } = this.#options;
    if (this.#notedSequence === this.#head.sequence) return;
    try {
      knownHead.write(this.#head);
      this.#notedSequence = this.#head.sequence;
    } catch (error) {
      log.warn({ err: error }, 'the end of the audit log could not be noted in control.db');
    }
  }
}

function isAtOrAfter(head: AuditHead, known: AuditHead): boolean {
  return head.sequence > known.sequence || (head.sequence === known.sequence && head.hash === known.hash);
}
