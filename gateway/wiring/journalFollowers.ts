/**
 * The threads that follow the journals of the shards: the projector, which keeps read.db up to date, and the snapshot
 * thread, which starts when a first snapshot may be due. No command waits for them: either may be down for a while, and
 * then catches up.
 * Owner: the gateway thread.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import type { HistoryMessage, HistoryOptions } from '../../shared/wire/historyThread.ts';
import { Progress } from '../../shared/wire/progress.ts';
import type { ProjectorMessage, ProjectorPort } from '../../shared/wire/projectorThread.ts';
import { type MakerNews, mayBeDue } from '../../shared/wire/snapshotsDue.ts';
import type { ProjectorOptions, SnapshotAlarm, SnapshotOptions } from '../../shared/wire/threads.ts';
import { fallbacks } from '../base/fallbacks.ts';
import type { Logger } from '../base/log.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';
import type { CatalogFeed } from './catalogFeed.ts';
import { ProjectorFailures } from './projectorFailures.ts';

type JournalFollowersOptions = ProjectorOptions &
  SnapshotOptions & {
    /** Null: no public history is written. */
    readonly historyDir: string | null;
    readonly unfilledKeptMs: number;
    readonly catalogFeed: Pick<CatalogFeed, 'connect'>;
    readonly log: Logger;
  };

/** Time between two checks whether the first snapshot may be due. */
const LOOK_EVERY_MS = 500;
/** The most differences that are logged; a metric counts all of them. */
const MOST_LOGGED = 20;

const PROJECTOR = 'projector';

export class JournalFollowers {
  /** Positions that the projector has corrected since the start. */
  positionDifferences = 0;
  /** Why there is no read.db, in words; null if there is one. */
  problem: string | null = null;
  readonly #log: Logger;
  readonly #failures: ProjectorFailures;
  readonly #progress: Progress;
  readonly #projector: SupervisedThread;
  readonly #history: SupervisedThread | null;
  readonly #snapshotOptions: SnapshotOptions;
  readonly #look: NodeJS.Timeout;
  /** Null until a snapshot may be due: a thread costs every start a tenth of a second of processor time. */
  #snapshots: SupervisedThread | null = null;
  readonly #alarm = new Int32Array(new SharedArrayBuffer(4));

  constructor({ log, readDbPath, catalogFeed, historyDir, unfilledKeptMs, ...snapshots }: JournalFollowersOptions) {
    const { journalPaths, journalKey, progress } = snapshots;
    this.#log = log;
    this.#progress = new Progress(progress);
    this.#failures = new ProjectorFailures(this.#progress);
    this.#projector = this.#supervise(PROJECTOR, () => {
      const catalogPort = catalogFeed.connect();
      const makesAnew = this.#failures.callForAnew();
      if (makesAnew) this.#log.error('read.db contradicts the journals: it is set aside and made again');
      const files = { journalPaths, journalKey, readDbPath, progress };
      const options = { ...files, catalogPort, makesAnew, unfilledKeptMs };
      const workerData = options satisfies ProjectorOptions & ProjectorPort;
      return { entry: '../../engine/projector/main.ts', options: { workerData, transferList: [catalogPort] } };
    });
    this.#history = historyDir === null ? null : this.#writeHistory(historyDir, snapshots);
    this.#snapshotOptions = snapshots;
    this.#look = setInterval(() => this.#startSnapshots(false), LOOK_EVERY_MS).unref();
  }

  /**
   * Called once the shards have stopped. A last snapshot shortens the next start: without it that start plays the
   * records since the one before.
   * @param lastSnapshotMs the longest wait for last snapshots; 0 or less: none
   */
  async stop(lastSnapshotMs: number): Promise<void> {
    // First, so that a thread that starts now sees it.
    Atomics.store(this.#alarm, 0, 1);
    this.#startSnapshots(true);
    const made = this.#snapshots?.stop().then(() => true);
    Atomics.notify(this.#alarm, 0);
    const late = sleep(Math.max(0, lastSnapshotMs), false, { ref: false });
    if (made !== undefined && !(await Promise.race([made, late])))
      this.#log.info('the last snapshot was not made in time: the next start plays the records since the one before');
    await Promise.all([this.#snapshots?.terminate(), this.#projector.terminate(), this.#history?.terminate()]);
  }

  /** Starts the snapshot thread if a snapshot may be due and the thread does not run yet. */
  #startSnapshots(isStopping: boolean): void {
    const isDue = mayBeDue(this.#progress, this.#snapshotOptions.everyRecords, isStopping);
    if (isStopping || isDue) clearInterval(this.#look);
    if (!isDue || this.#snapshots !== null) return;
    this.#snapshots = this.#supervise('snapshots', () => {
      const options = { ...this.#snapshotOptions, alarm: this.#alarm.buffer };
      const workerData = options satisfies SnapshotOptions & SnapshotAlarm;
      return { entry: '../../engine/snapshot/main.ts', options: { workerData } };
    });
  }

  #writeHistory(
    historyDir: string,
    { journalPaths, journalKey, directory, progress }: SnapshotOptions,
  ): SupervisedThread {
    const workerData = { journalPaths, journalKey, directory, historyDir, progress } satisfies HistoryOptions;
    return this.#supervise('history', () => ({ entry: '../../engine/history/main.ts', options: { workerData } }));
  }

  #receive(message: ProjectorMessage | HistoryMessage | MakerNews): void {
    if ('damagedRun' in message) {
      fallbacks.noteRun(this.#log, message.damagedRun);
      return;
    }
    if ('news' in message) {
      this.#log.warn(message.news);
      return;
    }
    if ('published' in message) {
      this.#log.info({ day: message.published }, 'the history of a day is published');
      return;
    }
    if ('difference' in message) {
      this.#differs(message.difference);
      return;
    }
    if ('doesNotGoOnWith' in message) {
      const what = `read.db does not go on with ${message.doesNotGoOnWith}: it is of another exchange, or of`;
      fallbacks.note(this.#log, 'read_model', `${what} before a repair, and is made anew from the journals`);
      return;
    }
    if (message.refused !== null && message.refused !== this.problem) this.#log.error(message.refused);
    this.problem = message.refused;
  }

  #differs(difference: Readonly<Record<string, string | number>>): void {
    this.positionDifferences++;
    if (this.positionDifferences > MOST_LOGGED) return;
    const found = 'the read model had another quantity than the engine: a position was corrected, report this as a bug';
    this.#log.error({ difference }, found);
  }

  #supervise(name: string, prepare: () => { entry: string; options: WorkerOptions }): SupervisedThread {
    return new SupervisedThread({
      name,
      launch: () => {
        const { entry, options } = prepare();
        const worker = new Worker(new URL(entry, import.meta.url), { ...options, name });
        return worker.on('message', (message: ProjectorMessage | HistoryMessage | MakerNews) => this.#receive(message));
      },
      onEnd: (error) => {
        if (error !== null) threadEnds.note(this.#log, name, error);
        if (name === PROJECTOR) this.#failures.note(error);
        if (name === PROJECTOR && isDamaged(error)) {
          fallbacks.note(
            this.#log,
            'read_model',
            'read.db is damaged: it is set aside and made anew from the journals',
          );
        }
        return true;
      },
    });
  }
}
