/**
 * A worker thread that is started again whenever it ends without having been asked to.
 * Owner: the gateway thread.
 *
 *   run ──ends──► wait 100 ms ──► run ──ends──► wait 200 ms ──► run …
 *
 * A wait is at most 5 s, and starts at 100 ms again after a run of 5 s. The state of the thread is on the disk, where
 * the next run reads it: nothing is handed over in memory.
 */
import type { Worker } from 'node:worker_threads';
import { errorOf } from '../../shared/base/thrown.ts';
import { threadEnds } from './threadEnds.ts';

const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;

type SupervisedThreadOptions = {
  readonly name: string;
  readonly launch: () => Worker;
  /**
   * Called at the end of each run; null: the thread was asked to end.
   * @returns true if the thread is to be started again.
   */
  readonly onEnd: (error: Error | null) => boolean;
};

export class SupervisedThread {
  readonly #options: SupervisedThreadOptions;
  #worker: Worker | null = null;
  #nextRun: NodeJS.Timeout | undefined;
  #waitMs = SHORTEST_WAIT_MS;
  #isStopping = false;

  constructor(options: SupervisedThreadOptions) {
    this.#options = options;
    threadEnds.expect(options.name);
    this.#run();
  }

  /** Sends the thread a message. @returns false while it does not run. */
  post(message: unknown): boolean {
    this.#worker?.postMessage(message);
    return this.#worker !== null;
  }

  /** Asks the thread to end, and resolves when it has. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#nextRun);
    const worker = this.#worker;
    if (worker === null) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('stop');
    await ended;
  }

  /** Ends the thread at once, whatever it is doing. */
  async terminate(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#nextRun);
    await this.#worker?.terminate();
  }

  #run(): void {
    const startedMs = performance.now();
    const worker = this.#options.launch();
    this.#worker = worker;
    let error: Error | undefined;
    worker.once('error', (thrown) => {
      error = errorOf(thrown);
    });
    worker.once('exit', (code) => {
      this.#worker = null;
      if (performance.now() - startedMs >= LONGEST_WAIT_MS) this.#waitMs = SHORTEST_WAIT_MS;
      const unasked = this.#isStopping ? null : new Error(`the ${this.#options.name} thread ended with code ${code}`);
      this.#ended(error ?? unasked);
    });
  }

  #ended(error: Error | null): void {
    const startsAgain = this.#options.onEnd(error);
    if (!startsAgain || this.#isStopping) return;
    this.#nextRun = setTimeout(() => this.#run(), this.#waitMs);
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
  }
}
