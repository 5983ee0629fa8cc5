/**
 * The threads that help busy shards with signatures, where the machine has cores for them (RULES.md 10.1).
 * Owner: the gateway thread. They keep nothing and nobody waits for them, so one that ends is simply started again.
 */
import { Worker } from 'node:worker_threads';
import { createCheckBoard } from '../shared/checkLayout.ts';
import { hasSecp256k1 } from '../shared/secp256k1.ts';
import { STRIPPED_BEFORE } from '../shared/stripTypes.ts';
import { createTableMemory } from '../shared/tableLayout.ts';
import type { VerifierChoice, VerifierOptions } from '../shared/threads.ts';
import { KeptThread } from './keptThread.ts';
import type { Logger } from './log.ts';

/**
 * Two cores are for gateway and shard; from three on a busy shard has at least one helper. Without the native library
 * a signature costs more than all the rest ten times over: then there is one on two cores as well, which also makes
 * tables of the signers that come often, as a shard never does.
 */
export function verifyThreadsBeside(shards: number, cores: number, isNative: boolean): number {
  const least = cores > (isNative ? 2 : 1) ? 1 : 0;
  return Math.max(cores - 1 - shards, least);
}

/** Whether shards will check signatures with the native library. */
export function isNative(verifier: VerifierChoice): boolean {
  return verifier !== 'noble' && hasSecp256k1();
}

export class VerifyThreads {
  readonly count: number;
  /** What shards are given; null when nobody would look at it. */
  readonly checkBoard: SharedArrayBuffer | null;
  readonly signerTables: SharedArrayBuffer | null;
  readonly #threads: readonly KeptThread[];

  constructor(count: number, shards: number, verifier: VerifierChoice, log: Logger) {
    this.count = count;
    const checkBoard = createCheckBoard(shards);
    this.checkBoard = count === 0 ? null : checkBoard;
    this.signerTables = count === 0 || isNative(verifier) ? null : createTableMemory();
    const workerData: VerifierOptions = { checkBoard, signerTables: this.signerTables, verifier };
    this.#threads = Array.from({ length: count }, (_, thread) => {
      const name = `verifier ${thread}`;
      return new KeptThread({
        name,
        launch: () =>
          new Worker(new URL('../engine/verify/main.ts', import.meta.url), {
            workerData,
            name,
            execArgv: STRIPPED_BEFORE,
          }),
        onEnd: (error) => {
          if (error !== null) log.error({ err: error }, `the ${name} thread ended; it is started again`);
          return true;
        },
      });
    });
  }

  /** Wherever they stand: shards that still run check for themselves. */
  async terminate(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }
}
