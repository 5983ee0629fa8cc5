/**
 * Makes what a journal has written to its WAL durable. SQLite could do that as a part of each commit, but the shard's
 * thread would do nothing while it waits for the disk; here it may check signatures instead.
 * Owner: the thread with the connection that writes.
 *
 *   rows in the WAL ──► sync ──┬── nothing else to do, or a fast disk: in this thread
 *                              └── work beside it: in the syncer's thread, until that has ended
 *
 * Other connections see rows that are not durable yet, so they read no further than the shard has committed
 * (shared/wire/progress.ts).
 *
 * Invariants:
 *   WALSYNC-1  When `sync` returns, a sync of the WAL has ended that began after everything was written.
 *   WALSYNC-2  The name of the WAL is durable as well: SQLite syncs the directory only with a sync of its own.
 *   WALSYNC-3  No sync is tried again (JOURNAL-3).
 */
import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { walPath } from './file.ts';
import { HELPER, type HelperCell } from './helperCell.ts';
import { JournalError } from './row.ts';

/** Does a little of something else. @returns false when there is nothing to do. */
export type Beside = () => boolean;

/** A sync that takes less is over before another thread would have begun it. */
const LEAST_SYNC_MS = 0.1;
/** After so many syncs of the syncer this thread makes one, to see how long they take. */
const MEASURE_EVERY = 64;
/** A syncer that takes longer may have ended: then this thread makes sure itself. */
const LATE_MS = 1000;

export class WalSync {
  readonly #journalPath: string;
  /** -1 before the first sync: the WAL may not be there yet. */
  #fd = -1;
  #syncer: HelperCell | null = null;
  #leastMs = 0;
  /** The time of this thread's last sync, and the number of syncs that the syncer may make before the next one. */
  #tookMs = 0;
  #beforeNext = 0;

  constructor(journalPath: string) {
    this.#journalPath = journalPath;
  }

  /** From now on another thread syncs while there is work beside it, on a disk where that takes so long. */
  syncsBy(cell: HelperCell, leastMs = LEAST_SYNC_MS): void {
    this.#syncer = cell;
    this.#leastMs = leastMs;
  }

  /** WALSYNC-1. Calls `beside` for as long as the sync takes. */
  sync(beside?: Beside): void {
    if (this.#fd < 0) this.#open();
    if (this.#syncer !== null && this.#syncsBeside(this.#syncer, beside)) return;
    const startMs = performance.now();
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      throw this.#failed((error as Error).message);
    }
    this.#tookMs = performance.now() - startMs;
    this.#beforeNext = MEASURE_EVERY;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** @returns whether the syncer has made the sync: not while its thread starts, nor when it is late. */
  #syncsBeside(syncer: HelperCell, beside: Beside | undefined): boolean {
    this.#requireWhole(syncer);
    if (beside === undefined || this.#beforeNext === 0 || this.#tookMs < this.#leastMs) return false;
    if (syncer.isBusy || !syncer.request()) return false;
    this.#beforeNext--;
    while (syncer.isBusy && beside());
    syncer.awaitHelper(LATE_MS);
    this.#requireWhole(syncer);
    return !syncer.isBusy;
  }

  /** WALSYNC-3. */
  #requireWhole(syncer: HelperCell): void {
    if (syncer.state === HELPER.FAILED) throw this.#failed(syncer.failure);
  }

  #failed(why: string): JournalError {
    return new JournalError(`journal ${this.#journalPath}: its sync failed: ${why}`);
  }

  #open(): void {
    this.#fd = openSync(walPath(this.#journalPath), 'r+');
    syncDirectory(dirname(this.#journalPath));
  }
}
