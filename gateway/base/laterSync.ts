/**
 * Changes of control.db that clients ask for: committed without a sync, which a thread of the runtime makes afterwards.
 * The gateway thread, which answers everybody, does not wait for the disk; only the answer to the change does.
 * Owner: the gateway thread.
 *
 *   write ──► WAL in the page cache ──► durable(): one sync for all changes that wait ──► answer
 *
 * A change without its sync survives the end of the process, not a power cut. Recovery takes the WAL up to the first
 * damaged frame, so a change is never there without those before it.
 *
 * Invariants:
 *   LATERSYNC-1  `durable` resolves after a sync that began when every change before the call was in the WAL.
 *                In a cluster, also once the replicated log holds them.
 *   LATERSYNC-2  A failed sync is never repeated: the kernel may report it once, so nothing is durable any more.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { assert } from '../../shared/base/assert.ts';
import { prepared } from '../../shared/base/prepared.ts';
import type { ControlDatabase } from './database.ts';

type LaterSyncOptions = {
  /** The connection itself, with the settings of its file. */
  readonly database: Pick<ControlDatabase, 'inTransaction' | 'exec' | 'prepare'>;
  readonly walPath: string;
  readonly sync?: (fd: number) => Promise<void>;
};

/** The part that the stores use. */
export type Changes = Pick<LaterSync, 'write' | 'isDurable' | 'durable'>;

/** In a cluster a change counts as durable once the replicated log holds it as well. */
type SharedChanges = { readonly isHeld: boolean; held(): Promise<void> };

/** SQLite copies the WAL into the file at a commit that makes it longer than this: with syncs, so not at ours. */
const CHECKPOINT_PAGES = 1000;

/** For tools and tests: SQLite syncs every change itself. */
export const SYNCED_AT_ONCE: Changes = Object.freeze({
  isDurable: true,
  write: (change: () => void) => change(),
  durable: () => Promise.resolve(),
});

export class LaterSync {
  readonly #database: LaterSyncOptions['database'];
  readonly #walPath: string;
  readonly #sync: (fd: number) => Promise<void>;
  /** Of the WAL, which lives as long as the connection; -1 before the first sync. */
  #fd = -1;
  #changes = 0;
  #durableChanges = 0;
  #syncing: Promise<void> | null = null;
  /** Null without a cluster. */
  #shared: SharedChanges | null = null;

  constructor({ database, walPath, sync = promisify(fdatasync) }: LaterSyncOptions) {
    this.#database = database;
    this.#walPath = walPath;
    this.#sync = sync;
  }

  share(shared: SharedChanges): void {
    this.#shared = shared;
  }

  /** Runs a change that is durable once `durable` says so. */
  write(change: () => void): void {
    const database = this.#database;
    assert(!database.inTransaction, 'later sync: a change is a transaction of its own');
    database.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0');
    try {
      change();
    } finally {
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA synchronous = FULL`);
    }
    this.#changes++;
  }

  get isDurable(): boolean {
    return this.#durableChanges === this.#changes && (this.#shared === null || this.#shared.isHeld);
  }

  /** LATERSYNC-1 */
  async durable(): Promise<void> {
    if (this.#shared === null) return this.synced();
    // The log writes while the disk does.
    const held = this.#shared.held();
    await Promise.all([this.synced(), held]);
  }

  /** The part of `durable` that is about this machine. */
  async synced(): Promise<void> {
    const changes = this.#changes;
    while (this.#durableChanges < changes) {
      this.#syncing ??= this.#syncAll();
      await this.#syncing;
    }
  }

  /** Called from time to time: copies a long WAL into the file, where no request waits for it. */
  checkpoint(): void {
    if (this.#walPages() > CHECKPOINT_PAGES) prepared(this.#database, 'PRAGMA wal_checkpoint(PASSIVE)').get();
  }

  /** Called when no change is under way, before the connection is closed. */
  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  async #syncAll(): Promise<void> {
    const changes = this.#changes;
    if (this.#fd < 0) this.#fd = openSync(this.#walPath, 'r+');
    // LATERSYNC-2: after a failure this promise stays, and fails everybody who waits.
    await this.#sync(this.#fd);
    this.#durableChanges = changes;
    this.#syncing = null;
  }

  #walPages(): number {
    return prepared<[], { log: number }>(this.#database, 'PRAGMA wal_checkpoint(NOOP)').get()!.log;
  }
}
