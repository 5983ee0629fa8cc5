/** A shard's thread and the gateway's end of its rings, as a server has them, without the server. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EngineClient } from '../gateway/engineClient.ts';
import { EngineLink } from '../gateway/engineLink.ts';
import { Views } from '../gateway/views/index.ts';
import { createBalances } from '../shared/balances.ts';
import { systemClock } from '../shared/clock.ts';
import { ZERO_ADDRESS } from '../shared/eip712.ts';
import { Progress } from '../shared/progress.ts';
import { createRingBuffer } from '../shared/ringLayout.ts';
import { STRIPPED_BEFORE } from '../shared/stripTypes.ts';
import type { ShardOptions } from '../shared/threads.ts';

const RING_BYTES = 1 << 20;
const ACCOUNT = 1;

export class LiveShard {
  readonly #directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  readonly #worker: Worker;
  readonly #link = new EngineLink({
    shards: 1,
    views: new Views(1),
    clock: systemClock,
    onHandlerError: rethrow,
    onFatal: rethrow,
  });
  readonly #engine = new EngineClient(this.#link);
  readonly #ready: Promise<void>;
  /** A socket or a timer would keep the loop alive in a server: a thread that waits for memory does not. */
  readonly #alive = setInterval(() => undefined, 1000);

  static async start(): Promise<LiveShard> {
    const shard = new LiveShard();
    await shard.#ready;
    return shard;
  }

  private constructor() {
    const workerData: ShardOptions = {
      shard: 0,
      shards: 1,
      commandRing: createRingBuffer(RING_BYTES),
      eventRing: createRingBuffer(RING_BYTES),
      balances: createBalances(1),
      progress: Progress.create(1),
      journalPath: join(this.#directory, 'journal-0.db'),
      directory: this.#directory,
      journalSync: 'full',
      verifier: 'noble',
      checkBoard: null,
      signerTables: null,
      chainId: 1,
      exchangeAddress: ZERO_ADDRESS,
      collateralCheck: true,
      postOnlyMs: 0,
    };
    this.#ready = this.#link.attach(0, workerData.commandRing, workerData.eventRing);
    this.#worker = new Worker(new URL('../engine/shard.ts', import.meta.url), {
      workerData,
      execArgv: STRIPPED_BEFORE,
    });
    this.#worker.once('error', rethrow);
  }

  /** Resolves with the reply, whatever it says. */
  cancel(hash: Uint32Array): Promise<void> {
    return new Promise((resolve) => this.#engine.cancel(0, ACCOUNT, hash, () => resolve(), null));
  }

  async stop(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage('stop');
    this.#link.tick();
    await ended;
    this.#link.stop();
    clearInterval(this.#alive);
    rmSync(this.#directory, { recursive: true });
  }
}

function rethrow(error: unknown): never {
  throw error;
}
