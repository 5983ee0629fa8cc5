/**
 * Commits changes of control.db that clients request without a sync; a thread of the runtime syncs afterwards. The
 * gateway thread, which answers all clients, does not wait for the disk; only the answer to the change does.
 * Owner: the gateway thread.
 *
 *   write ──► WAL in the page cache ──► durable(): one sync for all changes that wait ──► answer
 *
 * A change that is not synced yet survives the end of the process, but not a power cut. Recovery reads the WAL up to
 * the first damaged frame, so it never restores a change without all changes before it.
 *
 * Invariants:
 *   LATERSYNC-1  `durable` resolves after a sync that began when every change before the call was in the WAL; in a
 *                cluster, only once the replicated log holds them too.
 *   LATERSYNC-2  A failed sync is never repeated: the kernel may report it once, so nothing is durable any more.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { assert } from '../../shared/base/assert.ts';
import { prepared } from '../../shared/base/prepared.ts';
import type { ControlDatabase } from './database.ts';

type LaterSyncOptions = {
  /** The connection, with the settings of its file. */
  readonly database: Pick<ControlDatabase, 'inTransaction' | 'exec' | 'prepare'>;
  readonly walPath: string;
  readonly sync?: (fd: number) => Promise<void>;
};

/** The part that the stores use. */
export type Changes = Pick<LaterSync, 'write' | 'isDurable' | 'durable'>;

/** In a cluster a change counts as durable once the replicated log holds it as well. */
type SharedChanges = { readonly isHeld: boolean; held(): Promise<void> };

/**
 * SQLite copies the WAL into the file at a commit that makes the WAL longer than this. It syncs then, so the exchange's
 * own commits must not reach this length.
 */
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
  /** File descriptor of the WAL, which lives as long as the connection; -1 before the first sync. */
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

  /** Runs a change, which is durable once `durable` resolves. */
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
    // The log and the disk write at the same time.
    const held = this.#shared.held();
    await Promise.all([this.synced(), held]);
  }

  /** The part of `durable` for this machine. */
  async synced(): Promise<void> {
    const changes = this.#changes;
    while (this.#durableChanges < changes) {
      this.#syncing ??= this.#syncAll();
      await this.#syncing;
    }
  }

  /** Copies a long WAL into the file while no request waits for it. Called from time to time. */
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
    // LATERSYNC-2: after a failure this promise stays, and everybody who waits gets the failure.
    await this.#sync(this.#fd);
    this.#durableChanges = changes;
    this.#syncing = null;
  }

  #walPages(): number {
    return prepared<[], { log: number }>(this.#database, 'PRAGMA wal_checkpoint(NOOP)').get()!.log;
  }
}
