/**
 * One exchange of a rehearsal: its stores, the memory of its shards, and the stage that it is played on. It exists from
 * the beginning of a start and is thrown away completely (REHEARSAL-1).
 * Owner: the gateway thread.
 */
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../shared/base/clock.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { createBalances } from '../../shared/wire/balances.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { ShardOptions } from '../../shared/wire/threads.ts';
import { type Config, parseConfig } from '../base/config.ts';
import { createLogger } from '../base/log.ts';
import { type Lane, Stage } from './rehearsalStage.ts';
import { Stores } from './stores.ts';

/** The rings are small, so that the first act already fills them to their ends. */
const COMMAND_RING_BYTES = 1 << 17;
const EVENT_RING_BYTES = 1 << 17;

/** The options of a real shard that a rehearsed shard has too. */
type OfEvery = Pick<ShardOptions, 'shard' | 'shards' | 'verifier' | 'collateralCheck' | 'maxOrdersEver'>;

export class RehearsalAct {
  readonly #config: Config;
  readonly #directory: string;
  readonly #stores: Stores;
  readonly #lanes: readonly Lane[];
  readonly #balances: SharedArrayBuffer;
  readonly #turns: number;
  #stage: Stage | undefined;

  constructor(config: Config, directory: string, shards: number, turns: number) {
    this.#turns = turns;
    this.#directory = directory;
    this.#config = configOf(config, directory, shards);
    this.#stores = new Stores(this.#config, systemClock, createLogger('silent'));
    this.#balances = createBalances(shards);
    this.#lanes = Array.from({ length: shards }, () => ({
      commandRing: createRingBuffer(COMMAND_RING_BYTES),
      eventRing: createRingBuffer(EVENT_RING_BYTES),
    }));
  }

  /** Starts its only shard in a thread of its own. */
  startThread(): Worker {
    const { verifier, collateralCheck, maxOrdersEver } = this.#config;
    const workerData = this.shardOf({ shard: 0, shards: 1, verifier, collateralCheck, maxOrdersEver });
    const url = new URL('../../engine/shard/main.ts', import.meta.url);
    return new Worker(url, { workerData, name: 'rehearsal', execArgv: STRIPPED_BEFORE });
  }

  /** Returns a shard of this exchange, for the thread of the real shard. */
  shardOf(real: OfEvery): ShardOptions {
    const { control, progressMemory: progress, metersMemory: meters, spotMemory, journalPaths } = this.#stores;
    const { shard, shards, verifier, collateralCheck, maxOrdersEver } = real;
    const { chainId, exchange: exchangeAddress } = control.contracts.first;
    return {
      shard,
      shards,
      ...this.#lanes[shard],
      balances: this.#balances,
      progress,
      meters,
      spotMemory,
      journalPath: journalPaths[shard],
      journalKey: control.journalKey,
      knownHead: control.journalHeads.of(shard),
      directory: this.#directory,
      journalSync: 'normal',
      journalReserveBytes: 0,
      verifier,
      checkBoard: null,
      chainId,
      exchangeAddress,
      collateralCheck,
      postOnlyMs: 0,
      maxOrdersEver,
      hashesInMemory: 2 ** 30,
    };
  }

  /** Trades for this many turns, once the shards have come. @returns the number of orders. */
  play(): Promise<number> {
    this.#stage = new Stage(this.#config, this.#stores);
    return this.#stage.play(this.#lanes, this.#turns);
  }

  /** A shard that sleeps reads no message. */
  wakeShards(): void {
    this.#stage?.wakeShards();
  }

  /** Closes what the gateway's thread holds of this act, even if it was never played. */
  async leave(): Promise<void> {
    if (this.#stage === undefined) this.#stores.privateLog.close();
    else await this.#stage.close();
  }

  /** Called when the threads of the shards have left the act. */
  close(): Promise<void> {
    return this.#stores.close();
  }
}

/**
 * REHEARSAL-3. The default settings, and of the real settings those that decide which code an order runs through. They
 * are parsed as the real ones are, because V8 treats a changed copy as an object of another kind.
 */
function configOf({ verifier, rateLimits, collateralCheck, cores }: Config, directory: string, shards: number): Config {
  const flag = (isOn: boolean): string => (isOn ? 'on' : 'off');
  const settings = {
    DATA_DIR: directory,
    PORT: '0',
    SHARDS: String(shards),
    DEMO: 'off',
    JOURNAL_SYNC: 'normal',
    JOURNAL_RESERVE_MB: '0',
    REHEARSE: 'off',
    VERIFIER: verifier,
    RATE_LIMITS: flag(rateLimits),
    COLLATERAL_CHECK: flag(collateralCheck),
  };
  return parseConfig(settings, cores);
}
