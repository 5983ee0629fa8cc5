/**
 * The exchange as a whole: shared memory, threads, views and routes, wired together, started and stopped.
 * Owner: the gateway thread.
 *
 *   control.db ─► this thread ─command rings─► shards ─► journals ─► projector ─► read.db ─► query pool
 *                      ▲                          │
 *                      └────────event rings───────┘
 *
 * Start: the port answers probes from the beginning, everything else once the shards have recovered and what a crash
 * left half done between control.db and the journals is finished.
 * A thread that ends by itself is started again: the journals are the truth, and reading them again is all it takes.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../shared/clock.ts';
import { MARKET_STATUS_NAMES } from '../shared/codes.ts';
import { ERRORS } from '../shared/errors.ts';
import { Progress } from '../shared/progress.ts';
import type { ProjectorOptions, SnapshotOptions } from '../shared/threads.ts';
import { AdminFeed } from './adminFeed.ts';
import { type StatsSources, statsOf } from './adminStats.ts';
import { AdminToken } from './auth/adminToken.ts';
import { Authenticator } from './auth/apiKeys.ts';
import { NonceMemory } from './auth/nonces.ts';
import { Call } from './call.ts';
import type { Config } from './config.ts';
import { ContractRotation } from './contractRotation.ts';
import { describe, isSameSigning } from './control/contracts.ts';
import { type Control, openControl } from './control/control.ts';
import { Funding } from './control/funding.ts';
import { journalPath } from './control/journalFiles.ts';
import { MarketDesk } from './control/marketDesk.ts';
import { MarketResponses } from './control/marketResponse.ts';
import { Volumes } from './control/volumes.ts';
import { Cors } from './cors.ts';
import { DeadMansSwitch } from './deadMansSwitch.ts';
import { DiskGuard, freeBytes } from './diskGuard.ts';
import { Drills } from './drills.ts';
import { EngineClient } from './engineClient.ts';
import { EngineLink } from './engineLink.ts';
import { GroupDesk } from './groupDesk.ts';
import { Answers } from './idempotency/answers.ts';
import { catchUp } from './idempotency/catchUp.ts';
import { KeptThread } from './keptThread.ts';
import { ConnectionLimits } from './limits/connectionLimits.ts';
import { Limiter } from './limits/limiter.ts';
import { RedisCounterStore } from './limits/redisCounterStore.ts';
import type { Logger } from './log.ts';
import { Metrics } from './metrics.ts';
import { QueryPool } from './queries/pool.ts';
import { fail } from './respond.ts';
import type { Route } from './route.ts';
import { adminCatalogRoutes } from './routes/adminCatalog.ts';
import { adminEventRoutes } from './routes/adminEvents.ts';
import { adminFundRoutes } from './routes/adminFunds.ts';
import { adminPlatformRoutes } from './routes/adminPlatform.ts';
import { adminResolutionRoutes } from './routes/adminResolution.ts';
import { adminUserRoutes } from './routes/adminUsers.ts';
import { claimRoutes } from './routes/claims.ts';
import { fundRoutes } from './routes/funds.ts';
import { gamingRoutes } from './routes/gaming.ts';
import { heartbeatRoutes } from './routes/heartbeat.ts';
import { historyRoutes } from './routes/history.ts';
import { marketDataRoutes } from './routes/marketData.ts';
import { marketRoutes } from './routes/markets.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { orderRoutes } from './routes/orders.ts';
import { contractsOf, platformRoutes, type Readiness } from './routes/platform.ts';
import { rateLimitRoutes } from './routes/rateLimits.ts';
import { streamRoutes } from './routes/stream.ts';
import { HttpServer } from './server.ts';
import { ShardThreads } from './shardThreads.ts';
import { StartError } from './startError.ts';
import { STREAM_PATH } from './stream/limits.ts';
import { PrivateLog } from './stream/privateLog.ts';
import { Stream } from './stream/stream.ts';
import { isNative, VerifyThreads, verifyThreadsBeside } from './verifyThreads.ts';

import { Views } from './views/index.ts';

export type ExchangeOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** The process has to end and start again. */
  readonly onFatal: (error: unknown) => void;
};

/** Bounds how late an order expires or a market opens when nobody sends anything. */
const TICK_MS = 250;
/** What a stop waits for the snapshots that spare the next start its replay; it must leave time for the rest. */
const LAST_SNAPSHOT_MS = 4000;
/** How old the volumes in a list may be; its answers may be kept a minute anyway. */
const VOLUMES_MS = 5000;
/** How often the administrator's feed tells how things stand. */
const STATS_MS = 1000;
/** How often old answers are looked for, and how much a crash leaves to be looked up in the read model. */
const ANSWERS_MS = 10_000;
/** How long a start waits for the keys of the last process; beyond it only requests with a key wait. */
const KEYS_WAIT_MS = 5000;
/** How long a start waits for the read model before it goes on with volumes that are still growing. */
const READ_MODEL_WAIT_MS = 1000;

export class Exchange {
  readonly control: Control;
  readonly desk: MarketDesk;
  readonly funding: Funding;
  readonly groups: GroupDesk;
  readonly config: Config;
  readonly clock: Clock;
  /** Nobody has used the data directory yet: it had neither accounts nor markets. */
  readonly isNew: boolean;
  port = 0;
  readonly #startedSec: number;
  readonly #log: Logger;
  readonly #views: Views;
  readonly #link: EngineLink;
  readonly #engine: EngineClient;
  readonly #stream: Stream;
  readonly #progress: Progress;
  readonly #queries: QueryPool;
  readonly #volumes: Volumes;
  readonly #sharedCounters: RedisCounterStore | null;
  readonly #limiter: Limiter | null;
  readonly #connectionLimits: ConnectionLimits;
  readonly #deadMansSwitch: DeadMansSwitch;
  readonly #rotation: ContractRotation;
  readonly #drills = new Drills();
  readonly #feed = new AdminFeed();
  readonly #answers: Answers;
  readonly #server: HttpServer;
  readonly #disk: DiskGuard;
  readonly #shards: ShardThreads;
  readonly #metrics: Metrics;
  readonly #projector: KeptThread;
  readonly #verifiers: VerifyThreads;
  readonly #snapshots: KeptThread;
  #stage: 'starting' | 'ready' | 'draining' = 'starting';
  readonly #timers: NodeJS.Timeout[] = [];

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

    const { shards } = control;
    const progress = Progress.create(shards);
    const journalPaths = Array.from({ length: shards }, (_, shard) => journalPath(config.dataDir, shard));
    this.#progress = new Progress(progress);
    this.#views = new Views(shards);
    this.#views.markets.onStatus = (market, status) => {
      const facts = { market_id: this.#views.markets.id(market), status: MARKET_STATUS_NAMES[status] };
      this.#feed.publish('market_status', facts);
    };
    this.#link = new EngineLink({
      shards,
      views: this.#views,
      clock,
      onHandlerError: (error, context) => this.#answerFailed(error, context),
      onFatal,
    });
    this.#engine = new EngineClient(this.#link);
    this.#queries = new QueryPool({
      readDbPath: this.#path('read.db'),
      progress,
      lastAcknowledged: (account, shard) => this.#link.lastAcknowledged(account, shard),
      inGroup: (record, group) => this.groups.named(record, group),
    });
    this.#stream = new Stream({
      views: this.#views,
      engine: this.#engine,
      catalog: control.catalog,
      groups: control.orderGroups,
      privateLog: new PrivateLog({ directory: this.#path('private'), shards }),
      privateSource: this.#queries,
      progress: this.#progress,
      clock,
      log,
    });
    control.keys.onRevoked = (keyId) => this.#stream.revoked(keyId);
    this.desk = new MarketDesk(control.catalog, this.#views.markets, this.#engine, clock);
    this.funding = new Funding(control.movements, this.#engine, clock);
    this.groups = new GroupDesk(control.orderGroups, this.#views, this.#engine, shards);
    this.#volumes = new Volumes(this.#queries);
    this.#disk = new DiskGuard(
      config.diskReserveBytes,
      () => freeBytes(config.dataDir),
      log,
      (isLow) => {
        this.#feed.publish(isLow ? 'disk_low' : 'disk_recovered', {});
      },
    );
    this.#sharedCounters = config.redisUrl === null ? null : new RedisCounterStore(config.redisUrl, log);
    this.#limiter = config.rateLimits ? makeLimiter(this.#sharedCounters) : null;
    this.#connectionLimits = new ConnectionLimits({
      total: config.maxConnections,
      newPerAddress: config.rateLimits ? config.newConnectionsPerIp : null,
      proxies: config.trustProxy,
      clock,
    });
    this.#deadMansSwitch = new DeadMansSwitch({
      shards,
      engine: this.#engine,
      store: control.armedSwitches,
      clock,
      log,
      isServing: () => this.#stage === 'ready',
      onTriggered: (account) => this.#feed.publish('heartbeat_triggered', { user_id: control.accounts.idOf(account) }),
    });
    this.#rotation = new ContractRotation({
      engine: this.#engine,
      contracts: control.contracts,
      clock,
      log,
      onDone: (contracts) => {
        log.warn(contractsOf(contracts), 'orders are signed for these now');
        this.#feed.publish('contracts_changed', contractsOf(contracts));
      },
    });
    this.#answers = new Answers({ path: this.#path('idempotency.db'), sync: config.journalSync, clock, log });
    this.#server = new HttpServer({
      config,
      routes: this.#routes(),
      authenticator: new Authenticator(control.keys, new NonceMemory(this.#startedSec, control.keys)),
      adminToken: new AdminToken(control.adminToken.token),
      answers: this.#answers,
      limiter: this.#limiter,
      connectionLimits: this.#connectionLimits,
      ...(config.corsOrigins.length === 0 ? {} : { cors: new Cors(config.corsOrigins) }),
      clock,
      log,
      isReady: () => this.#stage === 'ready',
      isPaused: () => control.platform.paused,
      drill: () => this.#drills.refusal,
      isDiskLow: () => this.#disk.isLow,
      timeoutEndMs: (account, nowMs) => control.gaming.activeTimeout(account, nowMs)?.endsMs ?? 0,
      webSocket: { path: STREAM_PATH, behavior: this.#stream.behavior, close: () => this.#stream.close() },
    });
    const verifyThreads = config.verifyThreads ?? verifyThreadsBeside(shards, config.cores, isNative(config.verifier));
    this.#verifiers = new VerifyThreads(verifyThreads, shards, config.verifier, log);
    const { chainId, exchange: exchangeAddress } = control.contracts.first;
    this.#shards = new ShardThreads({
      common: {
        shards,
        progress,
        directory: config.dataDir,
        journalSync: config.journalSync,
        verifier: config.verifier,
        checkBoard: this.#verifiers.checkBoard,
        chainId,
        exchangeAddress,
        collateralCheck: config.collateralCheck,
        postOnlyMs: config.postOnlyMs,
      },
      journalPaths,
      verifyThreads,
      link: this.#link,
      log,
      onBack: (shard) => this.#resume(shard),
      onLost: (shard, isDown) => this.#feed.publish(isDown ? 'shard_down' : 'shard_lost', { shard }),
      onFatal,
    });
    this.#metrics = new Metrics({
      link: this.#link,
      progress: this.#progress,
      shards: this.#shards,
      deadMansSwitch: this.#deadMansSwitch,
      limiter: this.#limiter,
      requests: this.#server.requests,
      connections: () => this.#server.connections,
      refusedConnections: () => this.#connectionLimits.refused,
      isReady: () => this.#stage === 'ready',
      isPaused: () => control.platform.paused,
      isDiskLow: () => this.#disk.isLow,
    });
    this.#projector = this.#keepThread('projector', '../engine/projector/main.ts', {
      journalPaths,
      readDbPath: this.#path('read.db'),
      progress,
    } satisfies ProjectorOptions);
    this.#snapshots = this.#keepThread('snapshots', '../engine/snapshots.ts', {
      journalPaths,
      directory: config.dataDir,
      progress,
      chainId,
      exchangeAddress,
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
    this.#stage = 'draining';
    this.#feed.close('draining', {});
    const isDrained = await this.#server.stop(answerWithinMs);
    if (!isDrained) this.#log.warn('stopped with requests unanswered');
    for (const timer of this.#timers) clearInterval(timer);
    this.#disk.stop();
    await this.#answers.stop();
    await this.#shards.stop();
    await this.#verifiers.terminate();
    this.#sharedCounters?.close();
    this.#link.stop();
    await this.#stream.finish();
    await Promise.race([this.#snapshots.stop(), sleep(LAST_SNAPSHOT_MS, undefined, { ref: false })]);
    await Promise.all([this.#snapshots.terminate(), this.#projector.terminate(), this.#queries.close()]);
    this.control.database.close();
  }

  async #recover(): Promise<void> {
    this.port = await this.#server.listen().catch(explain);
    await this.#shards.start();
    this.control.platform.noteJournals();
    for (let shard = 0; shard < this.control.shards; shard++) await this.#finishHalfDone(shard);
    await this.#rotation.finish();
    this.#requireContracts();
    await Promise.all([this.#nonceWindow(), this.#firstVolumes(), this.#firstKeys(), this.#disk.start()]);
    this.#timers.push(
      setInterval(() => this.#tick(), TICK_MS),
      setInterval(() => this.#refreshVolumes(), VOLUMES_MS),
      setInterval(() => this.#feed.report('stats', () => statsOf(this.#statsSources())), STATS_MS),
      setInterval(() => this.#answers.tick(), ANSWERS_MS),
    );
    this.#stream.start();
    this.#stage = 'ready';
    this.#deadMansSwitch.start();
  }

  #tick(): void {
    this.#link.tick();
    this.#deadMansSwitch.tick();
    this.#rotation.tick();
  }

  /** What is in control.db and perhaps not in the shard, because its thread ended in between. */
  async #finishHalfDone(shard: number): Promise<void> {
    await this.desk.openMissing(shard);
    await this.funding.resumePending();
    await this.groups.reconcile();
  }

  /** Whoever put back an older control.db, or an older journal, would have clients sign for what is refused. */
  #requireContracts(): void {
    const { first, current, pending } = this.control.contracts;
    if (pending !== null) return;
    for (const [shard, told] of this.#views.contracts.entries()) {
      const known = told === null ? first : { chainId: told.chainId, exchange: told.exchangeAddress };
      if (isSameSigning(known, current)) continue;
      const [mine, journal] = [describe(current), describe(known)];
      throw new StartError(`control.db is for the contract ${mine}, the journal of shard ${shard} for ${journal}`);
    }
  }

  /** Runs beside the requests that come again; should the shard be lost once more, its next return is the next try. */
  #resume(shard: number): void {
    this.#feed.publish('shard_ready', { shard });
    this.#finishHalfDone(shard).catch((error) => this.#log.error({ err: error, shard }, 'left half done'));
  }

  /** Probes hear of a shard that is away; all others go on. */
  #readiness(): Readiness {
    const reason = this.#stage === 'ready' ? this.#shards.problem() : null;
    return reason === null ? { status: this.#stage } : { status: 'degraded', reason };
  }

  /** A reply handler failed, and its call would never hear of it. */
  #answerFailed(error: unknown, context: unknown): void {
    this.#log.error({ err: error }, 'reply handler failed');
    const call = context instanceof Call ? context : (context as { readonly call?: Call } | null)?.call;
    if (call !== undefined) fail(call, ERRORS.INTERNAL_ERROR);
  }

  /**
   * The last process took its nonces with it, so nothing signed up to the second it may have ended in is accepted; from
   * the next second on everything that is signed now is.
   */
  async #nonceWindow(): Promise<void> {
    const waitMs = (this.#startedSec + 1) * 1000 - this.clock.nowMs();
    if (waitMs > 0) await sleep(waitMs);
  }

  /** Until it is done, which may be later, requests with a key are told to come again. */
  #firstKeys(): Promise<void> {
    const done = catchUp({
      answers: this.#answers,
      queries: this.#queries,
      progress: this.#progress,
      isStopped: () => this.#stage === 'draining',
    }).catch((error) => this.#log.error({ err: error }, 'idempotency keys could not be read'));
    return Promise.race([done, sleep(KEYS_WAIT_MS, undefined, { ref: false })]);
  }

  async #firstVolumes(): Promise<void> {
    const progress = this.#progress;
    const waits: Promise<boolean>[] = [];
    for (let shard = 0; shard < progress.shards; shard++) {
      waits.push(progress.awaitProjected(shard, progress.committed(shard), READ_MODEL_WAIT_MS));
    }
    await Promise.all(waits);
    await this.#refreshVolumes();
  }

  /** Old volumes are shown rather than none. */
  #refreshVolumes(): Promise<void> {
    return this.#volumes.refresh().catch((error) => this.#log.warn({ err: error }, 'volumes could not be read'));
  }

  #routes(): Route[] {
    const { config, clock, control, desk, funding, groups } = this;
    const { accounts, catalog, contracts, keys, platform } = control;
    const views = this.#views;
    const engine = this.#engine;
    const queries = this.#queries;
    const volumes = this.#volumes;
    const responses = new MarketResponses(views, volumes);
    const onError = (error: unknown, call: Call) => this.#answerFailed(error, call);
    const readiness = () => this.#readiness();
    const routes: Route[] = [
      ...platformRoutes({ config, platform, contracts, catalog, views, volumes, clock, readiness }),
      ...metricsRoutes(() => this.#metrics),
      ...marketRoutes({ catalog, views, responses }),
      ...marketDataRoutes({ catalog, views, clock }),
      ...orderRoutes({ engine, views, catalog, accounts, groups, clock, queries, onError }),
      ...heartbeatRoutes(this.#deadMansSwitch),
      ...gamingRoutes({ gaming: control.gaming, clock }),
      ...fundRoutes({ engine, views, catalog }),
      ...claimRoutes({ engine, views, catalog }),
      ...historyRoutes({ queries }),
      ...streamRoutes({ stream: this.#stream, trustProxy: config.trustProxy }),
      ...adminUserRoutes({ accounts, keys, views, clock }),
      ...adminFundRoutes({ accounts, funding, catalog, views }),
      ...adminCatalogRoutes({ catalog, views, desk, responses, defaultFeeBps: config.feeBps, clock }),
      ...adminResolutionRoutes({ catalog, views, desk, responses }),
      ...adminPlatformRoutes({
        platform,
        contracts,
        rotation: this.#rotation,
        drills: this.#drills,
        shards: control.shards,
        isShardReady: (shard) => engine.isReady(shard),
        isDiskLow: () => this.#disk.isLow,
        feed: this.#feed,
      }),
      ...adminEventRoutes({ feed: this.#feed, stats: () => statsOf(this.#statsSources()) }),
    ];
    routes.push(...rateLimitRoutes({ limiter: this.#limiter, routes, clock }));
    return routes;
  }

  #statsSources(): StatsSources {
    const connections = () => this.#server.connections;
    return { link: this.#link, views: this.#views, progress: this.#progress, clock: this.clock, connections };
  }

  /** One that nobody's answer waits for: it may be away for a while, and catches up. */
  #keepThread(name: string, entry: string, workerData: ProjectorOptions | SnapshotOptions): KeptThread {
    return new KeptThread({
      name,
      launch: () => new Worker(new URL(entry, import.meta.url), { workerData, name }),
      onEnd: (error) => {
        if (error !== null) this.#log.error({ err: error }, `the ${name} thread ended; it is started again`);
        return true;
      },
    });
  }

  #path(name: string): string {
    return join(this.config.dataDir, name);
  }
}

function makeLimiter(shared: RedisCounterStore | null): Limiter {
  return shared === null ? new Limiter() : new Limiter(shared, shared);
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
