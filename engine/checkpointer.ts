/**
 * Copies a journal's committed pages out of its WAL into the file, beside the shard that goes on committing. A
 * checkpoint writes thousands of pages and syncs twice; inside the shard it held up one commit in a few hundred for
 * 4-25 ms (journal.bench.ts has both).
 * Owner: a thread of its own per shard (checkpoints.ts), started by the shard's thread and ended with it.
 *
 * It never writes a row: its connection is query_only, and a PASSIVE checkpoint waits for nobody and holds up nobody.
 * But a writer that never pauses always adds pages while it copies, so the WAL would never be copied to its end and
 * never begin anew. Therefore it copies again until little is left, and leaves that to the writer, between two batches.
 *
 * Invariants:
 *   P1  A checkpoint that fails ends the shard (S3 in shard.ts): what a failed sync left on the disk is unknown. Only a
 *       full disk is no failure. Nothing was promised by a checkpoint, every page is still in the WAL, and cancels go
 *       on as long as that can grow.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { CheckpointCell } from './checkpointCell.ts';
import { BUSY_TIMEOUT_MS, tryCheckpoint } from './journalFile.ts';

/** Pages (32 MiB) after which the WAL is to begin anew: it is what a restart after a crash has to read. */
const REST_DUE_PAGES = 8000;
/** Pages that a writer copies in well under a millisecond. */
const FEW_PAGES = 64;
/** Against a writer as fast as the copying. */
const MOST_PASSES = 8;

export class Checkpointer {
  readonly cell = new CheckpointCell();
  readonly #worker: Worker;

  /** The journal is open already. */
  constructor(journalPath: string) {
    const workerData: CheckpointOptions = { journalPath, cell: this.cell.buffer };
    this.#worker = new Worker(new URL('./checkpoints.ts', import.meta.url), {
      workerData,
      name: 'checkpoints',
      // Not the shard's: nothing in here is worth its hooks.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    // The cell tells what goes wrong in there, to a shard that sleeps in Atomics.wait and hears no events.
    this.#worker.on('error', () => undefined);
  }

  /** Resolves when the connection is closed. */
  async end(): Promise<void> {
    const ended = this.#worker.threadId < 0 ? null : once(this.#worker, 'exit');
    this.cell.end();
    await ended;
  }
}

export type CheckpointOptions = { readonly journalPath: string; readonly cell: SharedArrayBuffer };

/** The thread's whole life. */
export function keepCheckpointed({ journalPath, cell }: CheckpointOptions): void {
  const requests = new CheckpointCell(cell);
  while (requests.waitForWork()) {
    let db: Database.Database | undefined;
    try {
      db = open(journalPath);
      do {
        requests.finish(copy(db));
      } while (requests.waitForWork());
    } catch (error) {
      requests.fail(error instanceof Error ? error.message : String(error));
    } finally {
      db?.close();
    }
  }
}

/** @returns whether the writer is to copy the rest. */
function copy(db: Database.Database): boolean {
  let seen = 0;
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const pages = tryCheckpoint(db);
    if (pages === null || pages < REST_DUE_PAGES) return false;
    if (pages - seen <= FEW_PAGES) return true;
    seen = pages;
  }
  return true;
}

function open(journalPath: string): Database.Database {
  const db = new Database(journalPath, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  db.pragma('synchronous = FULL');
  db.pragma('wal_autocheckpoint = 0');
  db.pragma('query_only = 1');
  return db;
}
