/**
 * A thread that helps the writer of a journal: started by the writer's thread at its first request, which many runs
 * never make, and ended by it. They share a HelperCell.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { HelperCell } from './helperCell.ts';

export type HelperOptions = { readonly journalPath: string; readonly cell: SharedArrayBuffer };

export class HelperThread {
  readonly cell: HelperCell;
  #worker: Worker | null = null;

  /** For a journal that is open already. @param entry of the thread, which gets HelperOptions. */
  constructor(journalPath: string, entry: URL, name: string) {
    this.cell = new HelperCell(undefined, () => this.#start(journalPath, entry, name));
  }

  /** Resolves when the thread has ended. */
  async end(): Promise<void> {
    const ended = this.#worker === null || this.#worker.threadId < 0 ? null : once(this.#worker, 'exit');
    this.cell.end();
    await ended;
  }

  #start(journalPath: string, entry: URL, name: string): void {
    const workerData: HelperOptions = { journalPath, cell: this.cell.buffer };
    this.#worker = new Worker(entry, { workerData, name });
    // Failures are reported through the cell: the shard sleeps in Atomics.wait and receives no events.
    this.#worker.on('error', () => undefined);
  }
}
