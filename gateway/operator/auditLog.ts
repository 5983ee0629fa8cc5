/**
 * The audit log: a file with one record per line, each chained to the one before (shared/crypto/auditChain.ts). The
 * file is only appended to. Records that come while others are being written share the next write and its sync.
 * Owner: the gateway thread; writing is done by the thread pool, so no request waits for the disk but its own.
 *
 * Invariants:
 *   AUDITLOG-1  When `append` resolves, the record is durable, and so is every record before it.
 *   AUDITLOG-2  When `append` rejects, no part of the record is in the log: bytes that a failed write left after the
 *               end are cut off or overwritten, and the next records get the numbers. So numbers have no gaps.
 *   AUDITLOG-3  An owed record (the result of a change that has been carried out) is written before any later one,
 *               however many attempts that takes; its `append` still rejects at the first failure, so that no answer
 *               waits for a full disk.
 *   AUDITLOG-4  A file without the last record that control.db knows was cut or replaced. The log then goes on after
 *               the known record, so that a gap in the numbers shows for ever that records are missing.
 *   AUDITLOG-5  In a cluster the lines of one write are one record of the replicated log, with the number of the last
 *               line as its sequence; `append` resolves once the log holds it too. A following member writes only these
 *               lines. Lines of its own that the log never held are set aside if the log has others in their place, so
 *               all members have the same chain.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import {
  type AuditFields,
  type AuditHead,
  type AuditKey,
  type AuditLine,
  chainLine,
  follows,
  NO_RECORDS,
  readLine,
} from '../../shared/crypto/auditChain.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { HeldLog } from '../../shared/records/heldLog.ts';
import type { FileRecord } from '../../shared/records/recordedFile.ts';
import { fallbacks } from '../base/fallbacks.ts';
import type { Logger } from '../base/log.ts';
import { type AuditFile, openAuditFile, openChangesOf } from './auditFile.ts';

export type AuditLogOptions = {
  readonly path: string;
  readonly key: AuditKey;
  readonly clock: Clock;
  readonly log: Logger;
  /** The end of the chain as control.db knows it: another file, so that a cut log is noticed. */
  readonly knownHead: { read(): AuditHead | null; write(head: AuditHead): void };
  /** In a cluster: the last line that the log is known to hold, also kept in control.db. */
  readonly knownShared?: { read(): number; write(sequence: number): void };
  /**
   * In a cluster, while another member leads: until `lead` the log takes only that member's lines. Absent: no cluster.
   */
  readonly isFollowing?: boolean;
  /** For tests: opens a file that fails. */
  readonly open?: typeof openAuditFile;
};

type Waiting = {
  readonly fields: AuditFields;
  /** AUDITLOG-3. */
  readonly isOwed: boolean;
  settle: ((error: unknown, head: AuditHead | null) => void) | null;
};

/** Time between two notes of the head in control.db, and between two attempts to write owed records. */
const NOTE_MS = 1000;

export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #file: AuditFile;
  /** False if the last attempt to write has failed. */
  isWritten = true;
  /** The last durable record. */
  #head: AuditHead;
  #notedSequence: number;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #nextNoteMs = 0;
  #isFollowing: boolean;
  /** Of the lines that it writes: in a cluster one that all members can read. */
  #version: number = FORMATS.audit.newest;
  /** Null without a cluster, and while another member leads. */
  #shared: HeldLog | null = null;
  #sharedSequence = 0;
  #notedShared = 0;
  #noting: NodeJS.Timeout | null = null;
  /** Applying and writing run one after the other. */
  #applying: Promise<void> = Promise.resolve();

  constructor(options: AuditLogOptions) {
    const { path, clock, log, knownHead, open = openAuditFile } = options;
    this.#options = options;
    this.#isFollowing = options.isFollowing ?? false;
    const known = knownHead.read();
    const { file, head, openChanges } = open(path);
    this.#file = file;
    this.#head = head.sequence < 0 ? NO_RECORDS : head;
    this.#notedSequence = known?.sequence ?? 0;
    this.#notedShared = Math.min(options.knownShared?.read() ?? 0, Math.max(head.sequence, 0));
    this.#sharedSequence = this.#notedShared;
    if (known !== null && !this.#isFollowing && !isAtOrAfter(head, known)) {
      const facts = { path, found: head.sequence, expected: known.sequence };
      fallbacks.note(log, 'audit_log', 'the audit log was cut or replaced', facts);
      this.#head = known;
      this.#owe({ event: 'gap', found: head.sequence, expected: known.sequence, expected_hash: known.hash });
    }
    this.#nextNoteMs = clock.nowMs();
    if (!this.#isFollowing) this.#start(openChanges);
  }

  /**
   * AUDITLOG-5. Applies a record of the leading member; a record that is here already changes nothing. Resolves when it
   * is durable, and rejects with a RecordError if it does not follow the last record here.
   */
  apply(record: FileRecord): Promise<void> {
    assert(this.#isFollowing, 'AUDITLOG-5: a member that leads writes its own lines');
    const applied = this.#applying.then(() => this.#apply(record));
    this.#applying = applied.catch(() => {});
    return applied;
  }

  /** Every record of other members is applied: from now on this member writes the lines, in this version. */
  lead(log: HeldLog, version: number): void {
    this.#shared = log;
    this.#version = version;
    const unheld = this.#linesFrom(log.held() + 1);
    if (unheld.length > 0) log.put(this.#head.sequence, toBytes(unheld));
    this.#isFollowing = false;
    this.#start(openChangesOf(this.#file.lines()));
  }

  #start(openChanges: readonly number[]): void {
    for (const of of openChanges) this.#owe({ event: 'interrupted', of });
    this.#owe({ event: 'start' });
    void this.#write();
  }

  get path(): string {
    return this.#options.path;
  }

  get head(): AuditHead {
    return this.#head;
  }

  /** In a cluster: the last line that the log is known to hold; the log may have other lines after it. */
  get sharedSequence(): number {
    return this.#sharedSequence;
  }

  /** The last such line that control.db knows: after a restart it is no less. */
  get notedShared(): number {
    return this.#notedShared;
  }

  /** Bytes of the file that hold durable records. */
  get lengthBytes(): number {
    return this.#file.lengthBytes;
  }

  /** Resolves once the record is durable (AUDITLOG-1, AUDITLOG-2). */
  append(fields: AuditFields, isOwed = false): Promise<AuditHead> {
    if (this.#isFollowing) return Promise.reject(new Error('the audit log has the lines of the member that leads'));
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, head: AuditHead | null): void => (head === null ? reject(error) : resolve(head));
      this.#waiting.push({ fields: this.#timed(fields), isOwed, settle });
      void this.#write();
    });
  }

  /** Writes owed records, and notes the head in control.db. Called several times a second. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < this.#nextNoteMs) return;
    this.#nextNoteMs = nowMs + NOTE_MS;
    void this.#write();
    this.#note();
  }

  /** Writes the last record and closes the file. */
  async stop(): Promise<void> {
    await this.#applying;
    if (this.#noting !== null) clearTimeout(this.#noting);
    // The log takes nothing more: if it never holds the last line, the next start sets that line aside.
    this.#shared = null;
    if (!this.#isFollowing) {
      await this.append({ event: 'stop' }).catch((error) => {
        this.#options.log.error({ err: error }, 'the end of the audit log could not be written');
      });
    }
    this.#note();
    await this.#file.close();
  }

  #owe(fields: AuditFields): void {
    this.#waiting.push({ fields: this.#timed(fields), isOwed: true, settle: null });
  }

  #timed(fields: AuditFields): AuditFields {
    return { time: new Date(this.#options.clock.nowMs()).toISOString(), ...fields };
  }

  /** Writes all waiting records, even those added in the meantime. Only one write is under way at a time. */
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
        const chained = chainLine(head, fields, this.#options.key, this.#version);
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
      this.isWritten = true;
      this.#head = head;
      const settleAll = (): void => {
        for (const [index, { settle }] of batch.entries()) settle?.(null, heads[index]);
      };
      if (this.#shared === null) settleAll();
      else this.#share(this.#shared, Buffer.from(text), batch, settleAll);
    }
    this.#isWriting = false;
  }

  /** The lines are durable here. The next ones do not wait for the log. */
  #share(log: HeldLog, bytes: Uint8Array, batch: readonly Waiting[], settleAll: () => void): void {
    const { sequence } = this.#head;
    log.put(sequence, bytes);
    const whenHeld = (): void => {
      this.#sharedSequence = Math.max(this.#sharedSequence, sequence);
      settleAll();
    };
    log.whenHeld(sequence).then(whenHeld, (error) => {
      for (const { settle } of batch) settle?.(error, null);
    });
  }

  async #apply({ sequence, bytes }: FileRecord): Promise<void> {
    await this.#applyLines(bytes);
    this.#sharedSequence = Math.max(this.#sharedSequence, sequence);
    this.#noteSoon();
  }

  /** Notes the head once for all records of a second: each note is a sync of control.db. */
  #noteSoon(): void {
    this.#noting ??= setTimeout(() => {
      this.#noting = null;
      this.#note();
    }, NOTE_MS).unref();
  }

  async #applyLines(bytes: Uint8Array): Promise<void> {
    const lines = Buffer.from(bytes).toString().split('\n').slice(0, -1);
    const read = lines.map((line) => readLine(line, this.#options.key));
    const first = read[0];
    if (first == null) throw new RecordError('a record of the audit log was altered');
    const own = this.#linesFrom(first.sequence);
    const differing = own.findIndex((line, at) => line !== lines[at]);
    const common = differing < 0 ? Math.min(own.length, lines.length) : differing;
    if (common === lines.length) return;
    let head = own.length === 0 ? this.#head : headBefore(own[common] ?? '', read[common - 1]);
    for (const line of read.slice(common)) {
      if (line === null || line.mac === 'invalid' || !follows(line, head)) {
        throw new RecordError(
          `line ${head.sequence + 1} of the audit log does not follow the last line of this member`,
        );
      }
      head = line;
    }
    if (common < own.length) this.#file.setAside(own.slice(common));
    await this.#file.append(toBytes(lines.slice(common)));
    this.#head = { sequence: head.sequence, hash: head.hash };
    // The end that control.db knows was set aside.
    if (common < own.length) this.#note();
  }

  /** Returns the lines from this number on, in order. */
  #linesFrom(sequence: number): string[] {
    const found: string[] = [];
    for (const line of this.#head.sequence < sequence ? [] : this.#file.lines()) {
      if ((readLine(line, null)?.sequence ?? 0) < sequence) break;
      found.push(line);
    }
    return found.reverse();
  }

  #fail(batch: readonly Waiting[], error: unknown): void {
    this.isWritten = false;
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
    const { knownHead, knownShared, log } = this.#options;
    try {
      if (this.#notedShared !== this.#sharedSequence) knownShared?.write(this.#sharedSequence);
      this.#notedShared = this.#sharedSequence;
      if (this.#notedSequence === this.#head.sequence) return;
      knownHead.write(this.#head);
      this.#notedSequence = this.#head.sequence;
    } catch (error) {
      log.warn({ err: error }, 'the end of the audit log could not be noted in control.db');
    }
  }
}

function toBytes(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}

/** Returns the end of the chain after `before`, or before the first line of a chain of its own. */
function headBefore(line: string, before: AuditLine | null | undefined): AuditHead {
  if (before != null) return before;
  const read = readLine(line, null);
  if (read === null) throw new RecordError('a line of the audit log was altered');
  return { sequence: read.sequence - 1, hash: read.previous };
}

function isAtOrAfter(head: AuditHead, known: AuditHead): boolean {
  return head.sequence > known.sequence || (head.sequence === known.sequence && head.hash === known.hash);
}
