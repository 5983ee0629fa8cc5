/** A shard's thread and the gateway's end of its rings, without the rest of the server. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ShardClient } from '../gateway/shardlink/client.ts';
import { ShardLink } from '../gateway/shardlink/link.ts';
import { Views } from '../gateway/shardlink/views.ts';
import { ShardFronts } from '../gateway/wiring/shardFronts.ts';
import { systemClock } from '../shared/base/clock.ts';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { ZERO_ADDRESS } from '../shared/crypto/eip712.ts';
import { NO_ROWS } from '../shared/crypto/journalHeads.ts';
import { createBalances } from '../shared/wire/balances.ts';
import { Progress } from '../shared/wire/progress.ts';
import { createRingBuffer } from '../shared/wire/ringLayout.ts';
import { createShardMeters } from '../shared/wire/shardMeters.ts';
import { createSpotMemory } from '../shared/wire/spotLayout.ts';
import { REHEARSED, type ShardMessage, type ShardOptions, type ShardThreadOptions } from '../shared/wire/threads.ts';
import { TEST_SECRET } from '../test/support/journalKey.ts';

const RING_BYTES = 1 << 20;
const ACCOUNT = 1;

export class LiveShard {
  readonly #directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  readonly #worker: Worker;
  readonly views = new Views(1);
  readonly link = new ShardLink({
    shards: 1,
    views: this.views,
    follower: null,
    waitingPlacements: 4096,
    clock: systemClock,
    onHandlerError: rethrow,
    onFatal: rethrow,
  });
  readonly engine = new ShardClient(this.link);
  readonly #ready: Promise<void>;
  /** Keeps the event loop alive, as sockets do in a server: waiting for shared memory does not. */
  readonly #alive = setInterval(() => undefined, 1000);

  /** Why its rehearsal has failed, if it has. */
  readonly rehearsalFailures: string[] = [];
  /** Threads beside this one that the shard serves. */
  readonly fronts = new ShardFronts((_, request) => this.#worker.postMessage(request));

  /** @param rehearsalOf the shard that its thread serves first; absent: none */
  static async start(rehearsalOf?: (own: ShardOptions) => ShardOptions): Promise<LiveShard> {
    const shard = new LiveShard(rehearsalOf);
    await shard.#ready;
    return shard;
  }

  private constructor(rehearsalOf?: (own: ShardOptions) => ShardOptions) {
    const options: ShardOptions = {
      shard: 0,
      shards: 1,
      commandRing: createRingBuffer(RING_BYTES),
      eventRing: createRingBuffer(RING_BYTES),
      balances: createBalances(1),
      progress: Progress.create(1),
      meters: createShardMeters(1),
      journalPath: join(this.#directory, 'journal-0.db'),
      journalKey: TEST_SECRET,
      knownHead: NO_ROWS,
      directory: this.#directory,
      journalSync: 'full',
      journalReserveBytes: 0,
      verifier: 'kernel',
      checkBoard: null,
      spotMemory: createSpotMemory(1),
      chainId: 1,
      exchangeAddress: ZERO_ADDRESS,
      collateralCheck: true,
      postOnlyMs: 0,
      maxOrdersEver: 100_000_000,
      hashesInMemory: 2 ** 30,
    };
    this.#ready = this.link.attach(0, options).then(() => this.fronts.shardReady(0, options.commandRing));
    const workerData: ShardThreadOptions =
      rehearsalOf === undefined ? options : { ...options, rehearsals: [rehearsalOf(options)] };
    this.#worker = new Worker(new URL('../engine/shard/main.ts', import.meta.url), {
      workerData,
      execArgv: STRIPPED_BEFORE,
    });
    this.#worker.once('error', rethrow);
    this.#worker.on('message', (message: ShardMessage) => {
      if ('rehearsalFailure' in message) this.rehearsalFailures.push(message.rehearsalFailure);
      else if ('attached' in message) this.fronts.attached(message.attached, message.state);
      else if ('cutOff' in message) this.fronts.cutOff(message.cutOff);
    });
  }

  /** Resolves with the reply, accepted or refused. */
  cancel(hash: Uint32Array): Promise<void> {
    return new Promise((resolve) => this.engine.cancel(0, ACCOUNT, hash, () => resolve(), null));
  }

  endRehearsal(): void {
    this.#worker.postMessage(REHEARSED);
  }

  async stop(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage('stop');
    this.link.tick();
    await ended;
    this.link.stop();
    clearInterval(this.#alive);
    rmSync(this.#directory, { recursive: true });
  }
}

function rethrow(error: unknown): never {
  throw error;
}
