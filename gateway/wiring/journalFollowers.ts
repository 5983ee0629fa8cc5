/**
 * The threads that follow the journals of the shards: the projector, which keeps read.db up to date, and the one that
 * makes snapshots. No command waits for them: either may be away for a while, and then catches up.
 * Owner: the gateway thread.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ProjectorOptions, SnapshotOptions } from '../../shared/wire/threads.ts';
import type { Logger } from '../process/log.ts';
import { SupervisedThread } from '../process/supervisedThread.ts';

type JournalFollowersOptions = ProjectorOptions & SnapshotOptions & { readonly log: Logger };

/** A stop waits at most this long for last snapshots, which shorten the next start; its other steps need time too. */
const LAST_SNAPSHOT_MS = 4000;

export class JournalFollowers {
  readonly #log: Logger;
  readonly #projector: SupervisedThread;
  readonly #snapshots: SupervisedThread;

  constructor({ log, readDbPath, ...snapshots }: JournalFollowersOptions) {
    const { journalPaths, journalKey, progress } = snapshots;
    this.#log = log;
    this.#projector = this.#supervise('projector', '../../engine/projector/main.ts', {
      journalPaths,
      journalKey,
      readDbPath,
      progress,
    } satisfies ProjectorOptions);
    this.#snapshots = this.#supervise(
      'snapshots',
      '../../engine/snapshot/main.ts',
      snapshots satisfies SnapshotOptions,
    );
  }

  /** Called once the shards have stopped. */
  async stop(): Promise<void> {
    await Promise.race([this.#snapshots.stop(), sleep(LAST_SNAPSHOT_MS, undefined, { ref: false })]);
    await Promise.all([this.#snapshots.terminate(), this.#projector.terminate()]);
  }

  #supervise(name: string, entry: string, workerData: ProjectorOptions | SnapshotOptions): SupervisedThread {
    return new SupervisedThread({
      name,
      launch: () => new Worker(new URL(entry, import.meta.url), { workerData, name }),
      onEnd: (error) => {
        if (error !== null) this.#log.error({ err: error }, `the ${name} thread ended; it is started again`);
        return true;
      },
    });
  }
}
