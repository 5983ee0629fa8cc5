/**
 * Copies a journal's committed pages from its WAL into the file while the shard continues to commit. A checkpoint
 * writes thousands of pages and syncs twice; inside the shard it would hold up one commit in a few hundred for 4-25 ms
 * (journal.bench.ts measures both). Owner: one thread for each shard (checkpointMain.ts), started by the shard's thread
 * at the first request, which many runs never make, and ended by it.
 *
 * It never writes a row: its connection is query_only. A PASSIVE checkpoint waits for no other connection and holds up
 * none. But a writer that never pauses adds pages during the copying, so the WAL would never be copied completely and
 * could never restart. Therefore the checkpointer copies until few pages are left, and leaves those to the writer,
 * which copies them between two batches.
 *
 * Invariants:
 *   CHECKPOINTER-1  A checkpoint that fails ends the shard (SHARD-1): what a failed sync left on the disk is unknown. A
 *                   full disk is the exception: no answer depends on a checkpoint, every page is still in the WAL, and
 *                   cancels go on as long as the WAL can grow.
 */
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { memoryOf, type ThreadMemory } from '../../shared/base/threadMemory.ts';
import { CheckpointCell } from './checkpointCell.ts';
import { BUSY_TIMEOUT_MS, tryCheckpoint } from './file.ts';

/** Pages (32 MiB) after which the WAL should restart: after a crash all of it has to be read. */
const RESTART_DUE_PAGES = 8000;
/** Pages that the writer copies in well under a millisecond. */
const FEW_PAGES = 64;
/** Bounds the passes when the writer is as fast as the copying. */
const MOST_PASSES = 8;

assert(FEW_PAGES < RESTART_DUE_PAGES, 'checkpointer: what is left to the writer is a small part');

export class Checkpointer {
  readonly cell: CheckpointCell;
  #worker: Worker | null = null;

  /** For a journal that is open already. */
  constructor(journalPath: string) {
    this.cell = new CheckpointCell(undefined, () => this.#start(journalPath));
  }

  /** The memory of the thread; null if there is none, or it is ending. */
  async memory(): Promise<ThreadMemory | null> {
    const found = await this.#worker?.getHeapStatistics().catch(() => undefined);
    return found === undefined ? null : memoryOf(found);
  }

  /** Resolves when the connection is closed. */
  async end(): Promise<void> {
    const ended = this.#worker === null || this.#worker.threadId < 0 ? null : once(this.#worker, 'exit');
    this.cell.end();
    await ended;
  }

  #start(journalPath: string): void {
    const workerData: CheckpointOptions = { journalPath, cell: this.cell.buffer };
    this.#worker = new Worker(new URL('./checkpointMain.ts', import.meta.url), { workerData, name: 'checkpoints' });
    // Failures are reported through the cell: the shard sleeps in Atomics.wait and receives no events.
    this.#worker.on('error', () => undefined);
  }
}

type CheckpointOptions = { readonly journalPath: string; readonly cell: SharedArrayBuffer };

/** Runs until the writer ends it, or until a checkpoint fails. What V8 and finalizers left is done before each wait. */
export async function keepCheckpointed({ journalPath, cell }: CheckpointOptions): Promise<void> {
  const requests = new CheckpointCell(cell);
  while (requests.waitForWork()) {
    let db: Database.Database | undefined;
    try {
      db = open(journalPath);
      do {
        requests.finish(copy(db));
        await nextTurn();
      } while (requests.waitForWork());
    } catch (error) {
      requests.fail(error instanceof Error ? error.message : String(error));
    } finally {
      db?.close();
    }
  }
}

/** @returns true if the writer should copy the last pages, so that the WAL restarts */
export function copy(db: Pick<Database.Database, 'name' | 'prepare'>): boolean {
  let pagesBefore = 0;
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const pages = tryCheckpoint(db);
    if (pages === null || pages < RESTART_DUE_PAGES) return false;
    if (pages - pagesBefore <= FEW_PAGES) return true;
    pagesBefore = pages;
  }
  return true;
}

function open(journalPath: string): Database.Database {
  const db = openDatabase(journalPath, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  db.pragma('synchronous = FULL');
  db.pragma('wal_autocheckpoint = 0');
  db.pragma('query_only = 1');
  return db;
}
