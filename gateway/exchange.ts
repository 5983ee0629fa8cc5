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
import type { Clock } from '../shared/clock.ts';
import { MARKET_STATUS_NAMES } from '../shared/codes.ts';
import { ERRORS } from '../shared/errors.ts';
import { Progress } from '../shared/progress.ts';
import { AdminFeed } from './adminFeed.ts';
import { statsOf } from './adminStats.ts';
import { AdminToken } from './auth/adminToken.ts';
import { Authenticator } from './auth/apiKeys.ts';
import { NonceMemory } from './auth/nonces.ts';
import { firstKeys, nonceWindow, readModel, requireContracts } from './beforeReady.ts';
import { Call } from './call.ts';
import type { Config } from './config.ts';
import { ContractRotation } from './contractRotation.ts';
import { type Control, openControl } from './control/control.ts';
import { Funding } from './control/funding.ts';
import { journalPath } from './control/journalFiles.ts';
import { MarketDesk } from './control/marketDesk.ts';
import { Volumes } from './control/volumes.ts';
import { Cors } from './cors.ts';
import { DeadMansSwitch } from './deadMansSwitch.ts';
import { DiskGuard, freeBytes } from './diskGuard.ts';
import { Drills } from './drills.ts';
import { EngineClient } from './engineClient.ts';
import { EngineLink } from './engineLink.ts';
import { GroupDesk } from './groupDesk.ts';
import { Answers } from './idempotency/answers.ts';
import { JournalFollowers } from './journalFollowers.ts';
import { ConnectionLimits } from './limits/connectionLimits.ts';
import { Limiter } from './limits/limiter.ts';
import type { RedisCounterStore } from './limits/redisCounterStore.ts';
import type { Logger } from './log.ts';
import { Metrics } from './metrics.ts';
import { QueryPool } from './queries/pool.ts';
import { fail } from './respond.ts';
import type { Route } from './route.ts';
import { routeTable } from './routes/index.ts';
import { contractsOf, type Readiness } from './routes/platform.ts';
import { HttpServer } from './server.ts';
import { ShardThreads } from './shardThreads.ts';
import { StartError } from './startError.ts';
import { STREAM_PATH } from './stream/limits.ts';
import { PrivateLog } from './stream/privateLog.ts';
import { Stream } from './stream/stream.ts';
import { Upkeep } from './upkeep.ts';
import { isNative, VerifyThreads, verifyThreadsBeside } from './verifyThreads.ts';
import { Views } from './views/index.ts';

export type ExchangeOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** The process has to end and start again. */
  readonly onFatal: (error: unknown) => void;
};

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
  readonly #verifiers: VerifyThreads;
  readonly #followers: JournalFollowers;
  readonly #upkeep: Upkeep;
  #stage: 'starting' | 'ready' | 'draining' = 'starting';

  static async start(options: ExchangeOptions): Promise<Exchange> {
    makeDataDir(options.config.dataDir);
    const exchange = new Exchange(options, openControl(options.config), await openSharedCounters(options));
    await exchange.#recover();
    return exchange;
  }

  private constructor(
    { config, clock, log, onFatal }: ExchangeOptions,
    control: Control,
    sharedCounters: RedisCounterStore | null,
  ) {
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
      (isLow) => this.#feed.publish(isLow ? 'disk_low' : 'disk_recovered', {}),
    );
    this.#sharedCounters = sharedCounters;
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
        signerTables: this.#verifiers.signerTables,
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
    this.#followers = new JournalFollowers({
      journalPaths,
      readDbPath: this.#path('read.db'),
      directory: config.dataDir,
      progress,
      chainId,
      exchangeAddress,
      everyRecords: config.snapshotEvery,
      keepRecords: config.journalKeep,
      log,
    });
    this.#upkeep = new Upkeep({
      ticking: [this.#link, this.#deadMansSwitch, this.#rotation],
      volumes: this.#volumes,
      feed: this.#feed,
      stats: () => this.#stats(),
      answers: this.#answers,
      log,
    });
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
    this.#upkeep.stop();
    this.#disk.stop();
    await this.#answers.stop();
    await this.#shards.stop();
    await this.#verifiers.terminate();
    this.#sharedCounters?.close();
    this.#link.stop();
    await this.#stream.finish();
    await this.#followers.stop();
    await this.#queries.close();
    this.control.database.close();
  }

  async #recover(): Promise<void> {
    this.port = await this.#server.listen().catch(explain);
    await this.#shards.start();
    this.control.platform.noteJournals();
    for (let shard = 0; shard < this.control.shards; shard++) await this.#finishHalfDone(shard);
    await this.#rotation.finish();
    requireContracts(this.control.contracts, this.#views.contracts);
    const progress = this.#progress;
    const isStopped = () => this.#stage === 'draining';
    await Promise.all([
      nonceWindow(this.#startedSec, this.clock),
      readModel(progress).then(() => this.#upkeep.refreshVolumes()),
      firstKeys({ answers: this.#answers, queries: this.#queries, progress, isStopped, log: this.#log }),
      this.#disk.start(),
    ]);
    this.#upkeep.start();
    this.#stream.start();
    this.#stage = 'ready';
    this.#deadMansSwitch.start();
  }

  /** What is in control.db and perhaps not in the shard, because its thread ended in between. */
  async #finishHalfDone(shard: number): Promise<void> {
    await this.desk.openMissing(shard);
    await this.funding.resumePending();
    await this.groups.reconcile();
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

  #routes(): Route[] {
    const { config, clock, control, desk, funding, groups } = this;
    return routeTable({
      config,
      clock,
      control,
      desk,
      funding,
      groups,
      views: this.#views,
      engine: this.#engine,
      queries: this.#queries,
      volumes: this.#volumes,
      stream: this.#stream,
      limiter: this.#limiter,
      deadMansSwitch: this.#deadMansSwitch,
      rotation: this.#rotation,
      drills: this.#drills,
      feed: this.#feed,
      metrics: () => this.#metrics,
      stats: () => this.#stats(),
      readiness: () => this.#readiness(),
      isDiskLow: () => this.#disk.isLow,
      onError: (error, call) => this.#answerFailed(error, call),
    });
  }

  #stats(): object {
    const connections = () => this.#server.connections;
    return statsOf({ link: this.#link, views: this.#views, progress: this.#progress, clock: this.clock, connections });
  }

  #path(name: string): string {
    return join(this.config.dataDir, name);
  }
}

/** A start without Redis does not read its client, a tenth of all the code there is. */
async function openSharedCounters({ config, log }: ExchangeOptions): Promise<RedisCounterStore | null> {
  if (config.redisUrl === null) return null;
  const { RedisCounterStore } = await import('./limits/redisCounterStore.ts');
  return new RedisCounterStore(config.redisUrl, log);
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
