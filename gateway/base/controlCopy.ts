/**
 * Copies control.db over the connection that holds it, for a member that joins or a backup: a bounded number of pages a
 * turn, so that requests go on. The copy has every change that is made meanwhile; it is as the file is in the turn in
 * which the promise resolves.
 */
import { close, fdatasync, open } from 'node:fs';
import type { Database } from 'better-sqlite3';

/** A step takes a fraction of a millisecond. */
const COPIED_PAGES = 64;
/** The last step waits for the disk: most of the copy is there by then. */
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

/** On a thread of the runtime. An error is found again, and reported, by the last step of the copy. */
function syncSoon(path: string, done: () => void): void {
  open(path, 'r+', (error, fd) => {
    if (error !== null) done();
    else fdatasync(fd, () => close(fd, done));
  });
}
