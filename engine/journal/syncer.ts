/**
 * Syncs a journal's WAL in the place of the shard, which checks the signatures of the next orders meanwhile. A sync
 * takes about as long as the signatures of a batch (walSync.ts decides when it is worth another thread).
 * Owner: one thread for each shard (syncMain.ts).
 *
 * Invariant:
 *   SYNCER-1  A sync that fails ends the shard (JOURNAL-3): what it left on the disk is unknown, and it is not tried
 *             again.
 */
import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { walPath } from './file.ts';
import { HelperCell } from './helperCell.ts';
import { type HelperOptions, HelperThread } from './helperThread.ts';

export function syncerFor(journalPath: string): HelperThread {
  return new HelperThread(journalPath, new URL('./syncMain.ts', import.meta.url), 'syncs');
}

/** Runs until the writer ends it, or until a sync fails. */
export function keepSynced({ journalPath, cell }: HelperOptions): void {
  const requests = new HelperCell(cell);
  let fd: number | undefined;
  while (requests.waitForWork()) {
    try {
      // It stays the same file while the journal is open.
      fd ??= openSync(walPath(journalPath), 'r+');
      fdatasyncSync(fd);
      requests.finish(false);
    } catch (error) {
      requests.fail(error instanceof Error ? error.message : String(error));
    }
  }
  if (fd !== undefined) closeSync(fd);
}
