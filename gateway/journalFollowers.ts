/**
 * The threads that read the journals behind the shards: the projector, which brings read.db up to them, and the one
 * that takes snapshots. Nobody's answer waits for them: either may be away for a while, and catches up.
 * Owner: the gateway thread.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ProjectorOptions, SnapshotOptions } from '../shared/threads.ts';
import { KeptThread } from './keptThread.ts';
import type { Logger } from './log.ts';

export type JournalFollowersOptions = ProjectorOptions & SnapshotOptions & { readonly log: Logger };

/** What a stop waits for the snapshots that spare the next start its replay; it must leave time for the rest. */
const LAST_SNAPSHOT_MS = 4000;

export class JournalFollowers {
  readonly #log: Logger;
  readonly #projector: KeptThread;
  readonly #snapshots: KeptThread;

  constructor({ log, readDbPath, ...snapshots }: JournalFollowersOptions) {
    const { journalPaths, progress } = snapshots;
    this.#log = log;
    this.#projector = this.#keep('projector', '../engine/projector/main.ts', {
      journalPaths,
      readDbPath,
      progress,
    } satisfies ProjectorOptions);
    this.#snapshots = this.#keep('snapshots', '../engine/snapshots.ts', snapshots satisfies SnapshotOptions);
  }

  /** Once the shards have stopped. */
  async stop(): Promise<void> {
    await Promise.race([this.#snapshots.stop(), sleep(LAST_SNAPSHOT_MS, undefined, { ref: false })]);
    await Promise.all([this.#snapshots.terminate(), this.#projector.terminate()]);
  }

  #keep(name: string, entry: string, workerData: ProjectorOptions | SnapshotOptions): KeptThread {
    return new KeptThread({
      name,
      launch: () => new Worker(new URL(entry, import.meta.url), { workerData, name }),
      onEnd: (error) => {
        if (error !== null) this.#log.error({ err: error }, `the ${name} thread ended; it is started again`);
        return true;
      },
    });
  }
}
