/**
 * The exchange as a whole: shared memory, threads, views and routes, wired together, started and stopped.
 * Owner: the gateway thread.
 *
 *   control.db ─► this thread ─command rings─► shards ─► journals ─► projector ─► read.db ─► query pool
 *                      ▲                          │
 *                      └────────event rings───────┘
 *
 * Start: the port answers probes from the beginning, everything else once the shards have recovered, the balance cells
 * agree with them, and what a crash left half done between control.db and the journals is finished.
 * A thread that ends by itself is the end of the process: the journals are the truth, and starting again reads them.
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Balances, createBalances } from '../shared/balances.ts';
import type { Clock } from '../shared/clock.ts';
import { Progress } from '../shared/progress.ts';
import { createRingBuffer } from '../shared/ringLayout.ts';
import type { ProjectorOptions, ShardOptions, SnapshotOptions } from '../shared/threads.ts';
import { AdminToken } from './auth/adminToken.ts';
import { Authenticator } from './auth/apiKeys.ts';
import { NonceMemory } from './auth/nonces.ts';
import type { Config } from './config.ts';
import { type Control, openControl } from './control/control.ts';
import { Funding } from './control/funding.ts';
import { journalPath } from './control/journalFiles.ts';
import { MarketDesk } from './control/marketDesk.ts';
import { MarketResponses } from './control/marketResponse.ts';
import { Volumes } from './control/volumes.ts';
import { EngineClient } from './engineClient.ts';
import { Limiter } from './limits/limiter.ts';
import type { Logger } from './log.ts';
import { QueryPool } from './queries/pool.ts';
import type { Route } from './route.ts';
import { adminCatalogRoutes } from './routes/adminCatalog.ts';
import { adminFundRoutes } from './routes/adminFunds.ts';
import { adminPlatformRoutes } from './routes/adminPlatform.ts';
import { adminUserRoutes } from './routes/adminUsers.ts';
import { fundRoutes } from './routes/funds.ts';
import { historyRoutes } from './routes/history.ts';
import { marketDataRoutes } from './routes/marketData.ts';
import { marketRoutes } from './routes/markets.ts';
import { orderRoutes } from './routes/orders.ts';
import { platformRoutes } from './routes/platform.ts';
import { HttpServer } from './server.ts';
import { StartError } from './startError.ts';
import { Views } from './views/index.ts';

export type ExchangeOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** The process has to end and start again. */
  readonly onFatal: (error: unknown) => void;
};

const COMMAND_RING_BYTES = 4 * 1024 * 1024;
const EVENT_RING_BYTES = 16 * 1024 * 1024;
/** Bounds how late an order expires or a market opens when nobody sends anything. */
const TICK_MS = 250;
/** What a stop waits for the snapshots that spare the next start its replay; it must leave time for the rest. */
const LAST_SNAPSHOT_MS = 4000;
/** How old the volumes in a list may be; its answers may be kept a minute anyway. */
const VOLUMES_MS = 5000;
/** How long a start waits for the read model before it goes on with volumes that are still growing. */
const READ_MODEL_WAIT_MS = 1000;

export class Exchange {
  readonly control: Control;
  readonly desk: MarketDesk;
  readonly funding: Funding;
  readonly config: Config;
  readonly clock: Clock;
  /** Nobody has used the data directory yet: it had neither accounts nor markets. */
  readonly isNew: boolean;
  port = 0;
  readonly #startedSec: number;
  readonly #log: Logger;
  readonly #onFatal: (error: unknown) => void;
  readonly #views: Views;
  readonly #engine: EngineClient;
  readonly #balances: Balances;
  readonly #progress: Progress;
  readonly #queries: QueryPool;
  readonly #volumes: Volumes;
  readonly #server: HttpServer;
  readonly #shards: readonly Worker[];
  readonly #projector: Worker;
  readonly #snapshots: Worker;
  #readiness: 'starting' | 'ready' | 'draining' = 'starting';
  readonly #timers: NodeJS.Timeout[] = [];
  #isEnding = false;

  static async start(options: ExchangeOptions): Promise<Exchange> {
    makeDataDir(options.config.dataDir);
    const exchange = new Exchange(options, openControl(options.config));
    await exchange.#recover();
    return exchange;
  }

  private constructor({ config, clock, log, onFatal }: ExchangeOptions, control: Control) {
    // Whoever used this directory before is gone: its lock is ours.
    this.#startedSec = Math.floor(clock.nowMs() / 1000);
    this.config = config;
    this.clock = clock;
    this.control = control;
    this.isNew = control.accounts.count === 0 && control.catalog.markets.length === 0;
    this.#log = log;
    this.#onFatal = onFatal;

    const memory = createMemory(control.shards);
    this.#balances = new Balances(memory.balances);
    this.#progress = new Progress(memory.progress);
    this.#views = new Views(control.shards);
    this.#engine = new EngineClient({
      commandRings: memory.commandRings,
      eventRings: memory.eventRings,
      views: this.#views,
      clock,
      onHandlerError: (error) => log.error({ err: error }, 'reply handler failed'),
      onFatal,
    });
    this.desk = new MarketDesk(control.catalog, this.#views.markets, this.#engine, clock);
    this.funding = new Funding(control.movements, this.#engine, clock);
    this.#queries = new QueryPool({
      readDbPath: this.#path('read.db'),
      progress: memory.progress,
      lastAcknowledged: (account, shard) => this.#engine.lastAcknowledged(account, shard),
    });
    this.#volumes = new Volumes(this.#queries);
    this.#server = new HttpServer({
      config,
      routes: this.#routes(),
      authenticator: new Authenticator(control.keys, new NonceMemory(this.#startedSec, control.keys)),
      adminToken: new AdminToken(control.adminToken.token),
      limiter: config.rateLimits ? new Limiter() : null,
      clock,
      log,
      isReady: () => this.#readiness === 'ready',
      isPaused: () => control.platform.paused,
    });
    this.#shards = memory.commandRings.map((_, shard) => this.#startShard(shard, memory));
    this.#projector = this.#startThread('projector', '../engine/projector/main.ts', {
      journalPaths: memory.commandRings.map((_, shard) => this.#journalPath(shard)),
      readDbPath: this.#path('read.db'),
      progress: memory.progress,
    } satisfies ProjectorOptions);
    this.#snapshots = this.#startThread('snapshots', '../engine/snapshots.ts', {
      journalPaths: memory.commandRings.map((_, shard) => this.#journalPath(shard)),
      directory: config.dataDir,
      progress: memory.progress,
      chainId: config.chainId,
      exchangeAddress: config.contracts.exchange,
      everyRecords: config.snapshotEvery,
      keepRecords: config.journalKeep,
    } satisfies SnapshotOptions);
  }

  /** Where this machine reaches the server. */
  get baseUrl(): string {
    const { host, tls } = this.config;
    const isAnyAddress = host === '0.0.0.0' || host === '::';
    const name = isAnyAddress ? '127.0.0.1' : host;
    return `${tls === null ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${this.port}`;
  }

  /** Answers what is in flight, lets the shards finish what they were given, and ends every thread. */
  async stop(answerWithinMs: number): Promise<void> {
    this.#readiness = 'draining';
    const isDrained = await this.#server.stop(answerWithinMs);
    if (!isDrained) this.#log.warn('stopped with requests unanswered');
    for (const timer of this.#timers) clearInterval(timer);
    this.#isEnding = true;
    const ended = this.#shards.map((worker) => once(worker, 'exit'));
    for (const worker of this.#shards) worker.postMessage('stop');
    // A shard looks for messages when its ring is empty; the tick wakes one that sleeps.
    this.#engine.tick();
    await Promise.all(ended);
    this.#engine.stop();
    const snapshotsEnded = once(this.#snapshots, 'exit');
    this.#snapshots.postMessage('stop');
    await Promise.race([snapshotsEnded, sleep(LAST_SNAPSHOT_MS, undefined, { ref: false })]);
    await Promise.all([this.#snapshots.terminate(), this.#projector.terminate(), this.#queries.close()]);
    this.control.database.close();
  }

  async #recover(): Promise<void> {
    this.port = await this.#server.listen().catch(explain);
    await this.#engine.start();
    this.control.platform.noteJournals();
    const { accounts } = this.#views;
    for (let account = 0; account < accounts.count; account++) {
      this.#balances.set(account, accounts.availableMicro(account));
    }
    await this.desk.openMissing();
    await this.funding.resumePending();
    await Promise.all([this.#nonceWindow(), this.#firstVolumes()]);
    this.#timers.push(
      setInterval(() => this.#engine.tick(), TICK_MS),
      setInterval(() => this.#refreshVolumes(), VOLUMES_MS),
    );
    this.#readiness = 'ready';
  }

  /**
   * The last process took its nonces with it, so nothing signed up to the second it may have ended in is accepted; from
   * the next second on everything that is signed now is.
   */
  async #nonceWindow(): Promise<void> {
    const waitMs = (this.#startedSec + 1) * 1000 - this.clock.nowMs();
    if (waitMs > 0) await sleep(waitMs);
  }

  async #firstVolumes(): Promise<void> {
    const progress = this.#progress;
    await Promise.all(
      this.#shards.map((_, shard) => progress.awaitProjected(shard, progress.committed(shard), READ_MODEL_WAIT_MS)),
    );
    await this.#refreshVolumes();
  }

  /** Old volumes are shown rather than none. */
  #refreshVolumes(): Promise<void> {
    return this.#volumes.refresh().catch((error) => this.#log.warn({ err: error }, 'volumes could not be read'));
  }

  #routes(): Route[] {
    const { config, clock, control, desk, funding } = this;
    const { accounts, catalog, keys, platform } = control;
    const views = this.#views;
    const engine = this.#engine;
    const queries = this.#queries;
    const volumes = this.#volumes;
    const responses = new MarketResponses(views, volumes);
    const readiness = () => this.#readiness;
    return [
      ...platformRoutes({ config, platform, catalog, views, volumes, clock, readiness }),
      ...marketRoutes({ catalog, views, responses }),
      ...marketDataRoutes({ catalog, views, clock }),
      ...orderRoutes({ engine, views, catalog, accounts, clock, queries }),
      ...fundRoutes({ engine, views, catalog }),
      ...historyRoutes({ queries }),
      ...adminUserRoutes({ accounts, keys, views, clock }),
      ...adminFundRoutes({ accounts, funding, catalog, views }),
      ...adminCatalogRoutes({ catalog, views, desk, responses, defaultFeeBps: config.feeBps, clock }),
      ...adminPlatformRoutes({ platform }),
    ];
  }

  #startShard(shard: number, memory: Memory): Worker {
    const { config } = this;
    const worker = this.#startThread(`shard ${shard}`, '../engine/shard.ts', {
      shard,
      shards: this.control.shards,
      commandRing: memory.commandRings[shard]!,
      eventRing: memory.eventRings[shard]!,
      balances: memory.balances,
      progress: memory.progress,
      journalPath: this.#journalPath(shard),
      directory: config.dataDir,
      journalSync: config.journalSync,
      verifier: config.verifier,
      chainId: config.chainId,
      exchangeAddress: config.contracts.exchange,
      collateralCheck: config.collateralCheck,
    } satisfies ShardOptions);
    worker.once('exit', () => this.#engine.shardLost(shard));
    worker.once('message', (report) => this.#log.debug({ shard, ...report }, 'shard recovered'));
    return worker;
  }

  /** A thread whose end is the end of the process, unless it was asked to end. */
  #startThread(name: string, entry: string, workerData: ShardOptions | ProjectorOptions | SnapshotOptions): Worker {
    const worker = new Worker(new URL(entry, import.meta.url), { workerData, name });
    worker.once('error', (error) => this.#onFatal(error));
    worker.once('exit', (code) => {
      if (!this.#isEnding) this.#onFatal(new Error(`the ${name} thread ended with code ${code}`));
    });
    return worker;
  }

  #journalPath(shard: number): string {
    return journalPath(this.config.dataDir, shard);
  }

  #path(name: string): string {
    return join(this.config.dataDir, name);
  }
}

function makeDataDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    explain(error as Error);
  }
}

function explain(error: Error): never {
  throw new StartError(error.message);
}

type Memory = {
  readonly commandRings: readonly SharedArrayBuffer[];
  readonly eventRings: readonly SharedArrayBuffer[];
  readonly balances: SharedArrayBuffer;
  readonly progress: SharedArrayBuffer;
};

function createMemory(shards: number): Memory {
  return {
    commandRings: Array.from({ length: shards }, () => createRingBuffer(COMMAND_RING_BYTES)),
    eventRings: Array.from({ length: shards }, () => createRingBuffer(EVENT_RING_BYTES)),
    balances: createBalances(),
    progress: Progress.create(shards),
  };
}
