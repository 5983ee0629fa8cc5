/**
 * The rehearsal of a start: before the exchange is ready, made-up clients trade on one that is thrown away. It has its
 * own data directory, stores, views, link, HTTP server and shards; only the code is the same, in the same threads, so
 * that V8 has compiled what is hot when the first real order comes. Without it the first thousands of orders run at
 * half speed.
 *
 *   gateway thread   sockets ─► Edge ─► Trading ─rings─►  shard thread   engine, journal, verifier
 *                    (this file sends, over loopback)      (engine/shard/main.ts serves it before the shard itself)
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   REHEARSAL-1  It shares nothing with the exchange but code and processors: no file, no memory, no counter.
 *   REHEARSAL-2  Its orders end after MOST_MS at the latest, and whatever fails in it is logged and stops no start.
 *   REHEARSAL-3  Its server listens on loopback, on a port of the system's choice, and takes only keys that never leave
 *                this file.
 */
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../shared/base/clock.ts';
import { createBalances } from '../../shared/wire/balances.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { ShardOptions } from '../../shared/wire/threads.ts';
import { type Config, parseConfig } from '../process/config.ts';
import { createLogger, type Logger } from '../process/log.ts';
import { type Lane, Stage } from './rehearsalStage.ts';
import { Stores } from './stores.ts';

/** Inside the data directory: the same disk, and the same right to write. */
const DIRECTORY = 'rehearsal';
const COMMAND_RING_BYTES = 1 << 20;
const EVENT_RING_BYTES = 4 << 20;
/** The room that its files may need for that time, with some to spare. */
const ROOM_BYTES = 128 << 20;
const MOST_MS = 1500;
/** Leaves time for the last turn and the end. */
const TURNS_MS = 1200;
const FAILED = 'the rehearsal has failed: the first orders will be slower';
const LATE = -1;

export class Rehearsal {
  readonly #config: Config;
  readonly #directory: string;
  readonly #stores: Stores;
  readonly #lanes: readonly Lane[];
  readonly #balances: SharedArrayBuffer;
  readonly #log: Logger;
  readonly #mostMs: number;
  #stage: Stage | undefined;

  /** Null when there is none, or when it cannot begin. */
  static prepare(config: Config, shards: number, log: Logger, mostMs = MOST_MS): Rehearsal | null {
    if (!config.rehearse) return null;
    try {
      // Nothing may take the last room of the journals.
      const { bavail, bsize } = statfsSync(config.dataDir);
      if (bavail * bsize < config.diskReserveBytes + ROOM_BYTES) return null;
      return new Rehearsal(config, shards, log, mostMs);
    } catch (error) {
      log.warn({ err: error }, FAILED);
      return null;
    }
  }

  private constructor(config: Config, shards: number, log: Logger, mostMs: number) {
    this.#mostMs = mostMs;
    this.#directory = join(config.dataDir, DIRECTORY);
    this.#log = log;
    // A process that was killed may have left it.
    rmSync(this.#directory, { recursive: true, force: true });
    this.#config = configOf(config, this.#directory, shards);
    this.#stores = new Stores(this.#config, systemClock, createLogger('silent'));
    this.#balances = createBalances(shards);
    this.#lanes = Array.from({ length: shards }, () => ({
      commandRing: createRingBuffer(COMMAND_RING_BYTES),
      eventRing: createRingBuffer(EVENT_RING_BYTES),
    }));
  }

  /** REHEARSAL-1. The shard of the rehearsal, for the thread of the real one. */
  readonly shardOf = (real: ShardOptions): ShardOptions => {
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
    };
  };

  /** Resolves when the shards' threads may go on: REHEARSAL-2. */
  async run(endShards: () => void): Promise<void> {
    const startMs = performance.now();
    let orders = 0;
    try {
      orders = await this.#play(startMs);
    } catch (error) {
      this.#log.warn({ err: error }, FAILED);
    }
    endShards();
    this.#log.debug({ orders, ms: Math.round(performance.now() - startMs) }, 'rehearsed');
  }

  async #play(startMs: number): Promise<number> {
    const stage = new Stage(this.#config, this.#stores);
    this.#stage = stage;
    const played = stage.play(this.#lanes, startMs + TURNS_MS);
    const orders = await Promise.race([played, sleep(this.#mostMs, LATE, { ref: false })]);
    // It may still wait for something that fails when everything is closed.
    played.catch(() => {});
    if (orders === LATE) throw new Error('it has not ended in time');
    return orders;
  }

  /** Closes what is left of it, while the shards recover, and removes its files when their threads have left it. */
  async end(haveShardsLeft: Promise<void>): Promise<void> {
    try {
      await this.#stage?.close();
      await haveShardsLeft;
      await this.#stores.close();
      rmSync(this.#directory, { recursive: true, force: true });
    } catch (error) {
      this.#log.warn({ err: error, directory: this.#directory }, 'the files of the rehearsal are left');
    }
  }
}

/** REHEARSAL-3. The defaults, and of the settings those that decide which code an order runs through. */
function configOf({ verifier, rateLimits, collateralCheck, cores }: Config, directory: string, shards: number): Config {
  const quiet = parseConfig({ DATA_DIR: directory, PORT: '0', DEMO: 'off', JOURNAL_RESERVE_MB: '0' }, cores);
  return { ...quiet, shards, verifier, rateLimits, collateralCheck, journalSync: 'normal', rehearse: false };
}
