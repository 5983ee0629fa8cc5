/**
 * Joins the cluster: the member receives a copy of another member's files, while that member continues, and follows the
 * log from the end of the copy. Owner: the replication thread, before anything else opens the directory.
 *
 *   report ──► ask ──► parts: read.db, answers, audit log, journals, control.db last ──► whole ──► follow
 *      │                 ▲ a standby gives them, or the leader while there is none
 *      └── the log is not trimmed
 *
 * Invariants:
 *   JOIN-1  Before it asks, the member reports that it has no row: from then on no row is trimmed. The giver already
 *           had all earlier trimmed rows durably, with the numbers of their private frames, so its files contain them.
 *   JOIN-2  A copy that is interrupted or wrong is thrown away, and a new one is begun. A partial copy is never opened.
 *           A log that is silent for less than GONE_MS does not interrupt a copy: the giver waits, and each statement
 *           may be repeated.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { FORMATS } from '../../shared/base/formats.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { CopyTable, GONE_MS, type Reader } from './copyTable.ts';
import { CopyWriter, finishJoining, isWhole, type JoiningDirectory } from './joiningFiles.ts';
import type { ReplicatedLog } from './log.ts';
import { insist } from './periodic.ts';

type JoinOptions = JoiningDirectory & {
  readonly log: Pick<ReplicatedLog, 'report'> & Reader;
  readonly cluster: string;
  readonly holder: string;
  /** Takes lines about progress for the process's log. */
  readonly onNews: (text: string) => void;
  readonly isStopped: () => boolean;
};

const NO_ROWS = 0;
const POLL_MS = 20;
/** Time between two notes that this member is still there. */
const NOTE_MS = 1000;
/** The pause before a copy is begun anew, and before a statement is sent again. */
const RETRY_MS = 1000;
const AGAIN_MS = 200;
/** Time between two lines that say how it goes. */
const NEWS_MS = 10_000;
const MIB = 1 << 20;

/** @returns the giver, once the copy is in place; null if this process is stopping */
export async function joinByCopy(options: JoinOptions): Promise<string | null> {
  for (let tries = 0; !options.isStopped(); tries++) {
    try {
      const giver = await new Copying(options).run();
      finishJoining(options.directory);
      return giver;
    } catch (error) {
      // If the copy is whole and only partly moved into place, the next start continues the move.
      if (isWhole(options.directory)) throw error;
      if (options.isStopped()) break;
      if (tries % 10 === 0) options.onNews(`the copy is begun anew: ${errorMessage(error)}`);
      rmSync(join(options.directory, 'joining'), { recursive: true, force: true });
      await sleep(RETRY_MS);
    }
  }
  return null;
}

class Copying {
  readonly #options: JoinOptions;
  readonly #table: CopyTable;
  readonly #attempt;
  #giver = '';
  #nextNoteMs = 0;
  #nextNewsMs = 0;

  constructor(options: JoinOptions) {
    this.#options = options;
    this.#table = new CopyTable(options.log, options.cluster);
    this.#attempt = { holder: options.holder, attempt: randomUUID() };
  }

  async run(): Promise<string> {
    const { log } = this.#options;
    // JOIN-1
    await log.report(NO_ROWS);
    await this.#table.ask(this.#attempt, FORMATS.files.newest);
    const writer = new CopyWriter(this.#options);
    try {
      await this.#copy(writer);
      const joined = await this.#table.joining(this.#attempt).catch(() => null);
      this.#giver = joined?.giver ?? this.#giver;
    } finally {
      writer.abandon();
      await this.#table.end(this.#attempt).catch(() => {});
    }
    return this.#giver;
  }

  async #copy(writer: CopyWriter): Promise<void> {
    for (let next = 1; ; ) {
      await this.#note(writer);
      const from = next;
      const parts = await this.#patiently(() => this.#table.take(this.#attempt, from));
      for (const each of parts) {
        if (each.part !== next) throw new Error(`COPYTABLE-1: part ${each.part} came in the place of ${next}`);
        next++;
        if (await writer.write(each)) return;
      }
      if (parts.length === 0) await sleep(POLL_MS);
    }
  }

  /** JOIN-2 */
  #patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { onNews, isStopped } = this.#options;
    const startMs = performance.now();
    let isFirst = true;
    return insist(ask, async (error) => {
      if (isStopped() || performance.now() - startMs >= GONE_MS) throw error;
      if (isFirst) onNews(`the copy waits for the log: ${errorMessage(error)}`);
      isFirst = false;
      await sleep(AGAIN_MS);
    });
  }

  async #note(writer: CopyWriter): Promise<void> {
    const { log, onNews, isStopped } = this.#options;
    if (isStopped()) throw new Error('the process stops');
    const nowMs = performance.now();
    if (nowMs < this.#nextNoteMs) return;
    this.#nextNoteMs = nowMs + NOTE_MS;
    await this.#patiently(() => log.report(NO_ROWS));
    const found = await this.#patiently(() => this.#table.joining(this.#attempt));
    if (found === null) throw new Error(`${this.#giver || 'the database'} has stopped giving it`);
    if (found.problem !== '') throw new Error(`${found.giver}: ${found.problem}`);
    this.#giver = found.giver;
    if (nowMs < this.#nextNewsMs) return;
    this.#nextNewsMs = nowMs + NEWS_MS;
    const from =
      this.#giver === '' ? 'waits for another member to give one' : `has ${mib(writer.bytes)} of ${this.#giver}`;
    onNews(`this member joins with a copy: it ${from}`);
  }
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
