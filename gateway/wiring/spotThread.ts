/**
 * The thread that checks some signatures again with the reference (RULES.md 5.10, engine/verify/spotCheck.ts). It
 * starts a while after the shards, so that a start has the processor for itself; checks that the shards show to it wait
 * until then.
 * Owner: the gateway thread.
 */
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import type { SpotMessage, SpotOptions } from '../../shared/wire/threads.ts';
import type { Logger } from '../base/log.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';

const NAME = 'spot checker';
const START_AFTER_MS = 10_000;
/** The most differences that are logged; a metric counts all of them. */
const MOST_LOGGED = 20;
const FOUND =
  'SIGNATURE CHECKS DIFFER: the reference does not agree with what this shard decided about an order. From its next ' +
  'order on the reference decides in this shard, many times as slowly. Report this as a bug, and look at the order';

export class SpotThread {
  readonly #log: Logger;
  readonly #start: NodeJS.Timeout;
  #thread: SupervisedThread | null = null;
  #differences = 0;

  constructor(workerData: SpotOptions, log: Logger, startAfterMs = START_AFTER_MS) {
    this.#log = log;
    this.#start = setTimeout(() => {
      this.#thread = new SupervisedThread({
        name: NAME,
        launch: () => {
          const entry = new URL('../../engine/verify/spotMain.ts', import.meta.url);
          const worker = new Worker(entry, { workerData, name: NAME, execArgv: STRIPPED_BEFORE });
          return worker.on('message', (message: SpotMessage) => this.#differs(message));
        },
        onEnd: (error) => {
          if (error !== null) threadEnds.note(log, NAME, error);
          return true;
        },
      });
    }, startAfterMs).unref();
  }

  /** Ends the thread at once, without the checks that it has not read yet. */
  async terminate(): Promise<void> {
    clearTimeout(this.#start);
    await this.#thread?.terminate();
  }

  #differs({ difference }: SpotMessage): void {
    this.#differences++;
    if (this.#differences <= MOST_LOGGED) this.#log.error({ difference }, FOUND);
  }
}
