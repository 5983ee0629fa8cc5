/**
 * Copies control.db over the connection that holds it, for a joining member or a backup: a bounded number of pages per
 * turn, so that requests go on. The copy has every change made in the meantime: it equals the file in the turn in which
 * the promise resolves.
 */
import { close, fdatasync, open } from 'node:fs';
import type { Database } from 'better-sqlite3';

/** Copying this many pages takes a fraction of a millisecond. */
const COPIED_PAGES = 64;
/** Pages between two syncs. The last step waits for the disk; by then most of the copy is synced. */
const SYNC_PAGES = 1024;

export async function copyControl(database: Database, path: string): Promise<void> {
  let synced = 0;
  let isSyncing = false;
  const sync = (): void => {
    isSyncing = true;
    syncSoon(path, () => {
      isSyncing = false;
    });
  };
  await database.backup(path, {
    progress: ({ totalPages, remainingPages }) => {
      const copied = totalPages - remainingPages;
      const isLast = remainingPages <= COPIED_PAGES;
      if (!isSyncing && (copied - synced >= SYNC_PAGES || (isLast && copied > synced))) {
        synced = copied;
        sync();
      }
      return isLast && isSyncing ? 0 : COPIED_PAGES;
    },
  });
}

/** Syncs on a thread of the runtime. The last step of the copy meets an error again, and reports it. */
function syncSoon(path: string, done: () => void): void {
  open(path, 'r+', (error, fd) => {
    if (error !== null) done();
    else fdatasync(fd, () => close(fd, done));
  });
}
