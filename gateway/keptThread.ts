/**
 * A worker thread that is started again whenever it ends without having been asked to.
 * Owner: the gateway thread.
 *
 *   run ──ends──► wait 100 ms ──► run ──ends──► wait 200 ms ──► run …
 *
 * A wait is 5 s at most, and short again after a run of 5 s.
 * What state the thread has is on the disk, and the next run reads it from there: nothing is handed over in memory.
 */
import type { Worker } from 'node:worker_threads';

const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;

export type KeptThreadOptions = {
  readonly name: string;
  readonly launch: () => Worker;
  /** Called at the end of each run; null when it was asked to end and did. @returns whether there is to be another. */
  readonly onEnd: (error: Error | null) => boolean;
};

export class KeptThread {
  readonly #options: KeptThreadOptions;
  #worker: Worker | null = null;
  #next: NodeJS.Timeout | undefined;
  #waitMs = SHORTEST_WAIT_MS;
  #isStopping = false;

  constructor(options: KeptThreadOptions) {
    this.#options = options;
    this.#run();
  }

  /** Asks the thread to end, and resolves when it has. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#next);
    const worker = this.#worker;
    if (worker === null) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('stop');
    await ended;
  }

  /** Ends the thread wherever it stands. */
  async terminate(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#next);
    await this.#worker?.terminate();
  }

  #run(): void {
    const startedMs = performance.now();
    const worker = this.#options.launch();
    this.#worker = worker;
    let error: Error | undefined;
    worker.once('error', (thrown) => {
      error = thrown as Error;
    });
    worker.once('exit', (code) => {
      this.#worker = null;
      if (performance.now() - startedMs >= LONGEST_WAIT_MS) this.#waitMs = SHORTEST_WAIT_MS;
      const unasked = this.#isStopping ? null : new Error(`the ${this.#options.name} thread ended with code ${code}`);
      this.#ended(error ?? unasked);
    });
  }

  #ended(error: Error | null): void {
    const goesOn = this.#options.onEnd(error);
    if (!goesOn || this.#isStopping) return;
    this.#next = setTimeout(() => this.#run(), this.#waitMs);
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
  }
}
