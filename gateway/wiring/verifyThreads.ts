/**
 * The threads that check signatures for busy shards, if the machine has cores for them (RULES.md 5.7).
 * Owner: the gateway thread. They have no state and no shard waits for them, so a thread that ends is started again.
 */
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { createCheckBoard } from '../../shared/wire/checkLayout.ts';
import type { VerifierChoice, VerifierOptions } from '../../shared/wire/threads.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';

/**
 * The number of verifiers unless VERIFY_THREADS sets it. Two cores are for gateway and shard; with three or more a busy
 * shard has at least one verifier. With the reference a signature costs ten times as much as everything else: then two
 * cores have a verifier as well.
 */
export function verifyThreadsBeside(shards: number, cores: number, verifier: VerifierChoice): number {
  const least = cores > (verifier === 'noble' ? 1 : 2) ? 1 : 0;
  return Math.max(cores - 1 - shards, least);
}

/** The number of verifiers of an exchange with these settings. */
export function verifyThreadsOf(config: Pick<Config, 'verifyThreads' | 'cores' | 'verifier'>, shards: number): number {
  return config.verifyThreads ?? verifyThreadsBeside(shards, config.cores, config.verifier);
}

/**
 * The placements that should wait for one shard at once: with either verifier a shard decides this many in about a
 * tenth of a second. One account may have half of them waiting (shardlink/placementShares.ts).
 */
export function waitingPlacements(verifier: VerifierChoice): number {
  return verifier === 'noble' ? 64 : 4096;
}

export class VerifyThreads {
  readonly count: number;
  /** Shared with the shards; null without verifiers. */
  readonly checkBoard: SharedArrayBuffer | null;
  readonly #threads: readonly SupervisedThread[];

  constructor(count: number, shards: number, verifier: VerifierChoice, log: Logger) {
    this.count = count;
    const checkBoard = createCheckBoard(shards);
    this.checkBoard = count === 0 ? null : checkBoard;
    const workerData: VerifierOptions = { checkBoard, verifier };
    this.#threads = Array.from({ length: count }, (_, thread) => {
      const name = `verifier ${thread}`;
      return new SupervisedThread({
        name,
        launch: () =>
          new Worker(new URL('../../engine/verify/main.ts', import.meta.url), {
            workerData,
            name,
            execArgv: STRIPPED_BEFORE,
          }),
        onEnd: (error) => {
          if (error !== null) threadEnds.note(log, name, error);
          return true;
        },
      });
    });
  }

  /** Ends the verifiers at once: shards that still run check signatures themselves. */
  async terminate(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }
}
