/**
 * The fourth part of the exchange: everything between the sockets and the other parts: the HTTP server with its stages,
 * the stream's sockets, and the pages of operators.
 * Owner: the gateway thread.
 */

import type { Readiness } from '../../shared/api/platform.ts';
import { Administrators } from '../access/administrators.ts';
import { AdminToken } from '../access/adminToken.ts';
import { Authenticator } from '../access/authenticator.ts';
import type { ConnectionLimits } from '../access/connectionLimits.ts';
import type { Limiter } from '../access/limiter.ts';
import { NonceMemory } from '../access/nonces.ts';
import { LoopDelay } from '../base/loopDelay.ts';
import { BOOTSTRAP } from '../base/principal.ts';
import type { FrontImage } from '../front/threadOptions.ts';
import type { FrontThreads } from '../front/threads.ts';
import { BadSignatures } from '../http/badSignatures.ts';
import { Cors } from '../http/cors.ts';
import type { Route } from '../http/route.ts';
import { HttpServer } from '../http/server.ts';
import { AlertTest } from '../operator/alertTest.ts';
import { BackupRuns } from '../operator/backupRuns.ts';
import { boundsOf, memoryLimitBytes } from '../operator/bounds.ts';
import { DataFiles } from '../operator/dataFiles.ts';
import { DiskGuard, freeBytes } from '../operator/diskGuard.ts';
import { Drills } from '../operator/drills.ts';
import type { MetricsSources } from '../operator/metricSources.ts';
import { Metrics } from '../operator/metrics.ts';
import { OperationsReport } from '../operator/operations.ts';
import { isReady, startingSeconds } from '../operator/platformRoutes.ts';
import { ProcessMeters } from '../operator/processMeters.ts';
import { ProjectorLag } from '../operator/projectorLag.ts';
import { RefusedLogins } from '../operator/refusedLogins.ts';
import { ServedCertificate } from '../operator/servedCertificate.ts';
import { statsOf } from '../operator/stats.ts';
import { Answers } from '../shardlink/answers.ts';
import { IdempotencyStage } from '../shardlink/idempotencyStage.ts';
import { KeysInFlight } from '../shardlink/keysInFlight.ts';
import { STREAM_PATH } from '../stream/limits.ts';
import { Stream } from '../stream/stream.ts';
import { PageFiles } from '../web/pageFiles.ts';
import { ClockWatch, clockOf } from './clockWatch.ts';
import { isDemo } from './demoFile.ts';
import type { EdgeOptions } from './edgeOptions.ts';
import {
  aheadTimestamps,
  auditTrailOf,
  makeConnectionLimits,
  makeFronts,
  makeLimiter,
  makeSharedLimits,
} from './edgeParts.ts';
import { MOST_WAITING } from './fairQueue.ts';
import { type FiatParts, openFiat } from './fiat.ts';
import { explain, readinessOf } from './readiness.ts';
import { routeTable } from './routeTable.ts';
import { ThreadMeters } from './threadMeters.ts';
import { UserSessions } from './userSessions.ts';

export class Edge {
  readonly answers: Answers;
  readonly disk: DiskGuard;
  readonly stream: Stream;
  readonly refusedLogins: RefusedLogins;
  readonly projectorLag: ProjectorLag;
  readonly userSessions: UserSessions;
  readonly fiatParts: FiatParts;
  readonly #options: EdgeOptions;
  readonly #keysInFlight = new KeysInFlight();
  readonly #drills = new Drills();
  readonly #alertTest = new AlertTest();
  readonly #backupRuns: BackupRuns;
  readonly #adminToken: AdminToken;
  readonly #limiter: Limiter | null;
  readonly #badSignatures: BadSignatures | null;
  readonly #connectionLimits: ConnectionLimits;
  readonly #fronts: FrontThreads | null;
  readonly #server: HttpServer;
  readonly #meters: ThreadMeters;
  readonly #nonces: NonceMemory;
  readonly clockWatch: ClockWatch;
  readonly #metrics: Metrics;
  readonly #operations: OperationsReport;
  readonly #loopDelay = new LoopDelay();
  readonly #processMeters = new ProcessMeters();
  readonly #dataFiles: DataFiles;
  readonly #certificate: ServedCertificate;

  constructor(options: EdgeOptions) {
    const { config, clock, log, lines, stores, trading, feed } = options;
    const { catalog, keys, operators } = stores.control;
    this.#options = options;
    this.#backupRuns = new BackupRuns(options);
    this.#adminToken = new AdminToken(stores.control.adminToken.token);
    this.answers = new Answers({
      ...{ clock, log, inFlight: this.#keysInFlight, sync: config.journalSync },
      path: stores.answersPath,
      ...(options.onRefused === undefined ? {} : { onRefused: options.onRefused }),
    });
    const onDisk = (isLow: boolean): void => feed.publish(isLow ? 'disk_low' : 'disk_recovered', {});
    this.disk = new DiskGuard(config.diskReserveBytes, () => freeBytes(config.dataDir), log, onDisk);
    this.refusedLogins = new RefusedLogins(stores.audit, clock);
    this.projectorLag = new ProjectorLag(stores.progress, clock);
    this.userSessions = new UserSessions({
      config,
      clock,
      control: stores.control,
      log,
      publicUrl: () => config.publicUrl ?? options.baseUrl(),
      settlement: options.settlement.port,
    });
    this.fiatParts = openFiat({
      ...options,
      control: stores.control,
      views: stores.views,
      funding: trading.funding,
      queries: stores.queries,
      publicUrl: this.userSessions.publicUrl,
    });
    this.stream = new Stream({
      feeds: trading.feeds,
      views: stores.views,
      ...{ engine: trading.engine, outbox: trading.outbox, catalog, clock, log },
      areOrdersUnderway: () => trading.link.inFlight > 0,
      isStandby: () => options.member?.isLeading === false,
      isMember: options.member !== null,
      calls: () => this.#server.calls,
    });
    stores.control.sessions.ended.subscribe((session) => this.stream.closeConnectionsOfSession(session));
    keys.revoked.subscribe((keyId) => this.stream.closeConnectionsOf(keyId));
    operators.revoked.subscribe((operatorId) => feed.disconnectAll(operatorId));
    this.#badSignatures = config.rateLimits ? new BadSignatures(clock) : null;
    const limits = makeSharedLimits(config);
    this.#limiter = makeLimiter(config, options.sharedCounters, limits);
    this.#connectionLimits = makeConnectionLimits(config, stores.control.shards, clock, log);
    const shards = options.threads.shards.fronts;
    const keep = (image: FrontImage): void => this.#meters.keep(image);
    const { member } = options;
    this.#fronts = makeFronts({ config, stream: this.stream, stores, shards, limits, keep, member, log, lines });
    this.#dataFiles = new DataFiles(config.dataDir);
    this.#nonces = new NonceMemory(options.startedSec, aheadTimestamps(options.member, keys));
    const isServing = (): boolean => options.lifecycle.isServing;
    const hasFunds = (account: number): boolean => stores.views.accounts.hasMoney(account);
    this.clockWatch = new ClockWatch({ nonces: this.#nonces, clock, log, isServing, hasFunds });
    this.#certificate = new ServedCertificate(config.tls);
    this.#server = this.#makeServer();
    this.#meters = new ThreadMeters({ server: this.#server, fronts: this.#fronts, limiter: this.#limiter, log });
    const metrics = this.#metricsSources();
    this.#metrics = new Metrics(metrics);
    const [readiness, drills] = [() => this.#readiness(), () => this.#drills.active];
    this.#operations = new OperationsReport({ metrics, readiness, drills, cluster: options.cluster, clock });
  }

  /** Opens the administrators' door, which answers probes from here on and shows how far the start is. */
  async begin(): Promise<void> {
    this.#loopDelay.start();
    this.#processMeters.start();
    void this.#dataFiles.refresh();
    await this.#server.begin().catch(explain);
  }

  /**
   * Opens the port. Requests are answered from the first one on, so that requests of a proxy wait.
   * @returns the port.
   */
  listen(): Promise<number> {
    return this.#server.listen().catch(explain);
  }

  /** The administrators' port. Null if they have none of their own. */
  get adminPort(): number | null {
    return this.#server.adminPort;
  }

  async reloadTls(): Promise<void> {
    await this.#server.reloadTls();
    this.#certificate.read();
  }

  /**
   * Replaces the administrator's token and closes feeds that were opened with the old one.
   * @returns false if the token is the same.
   */
  replaceAdminToken(token: string): boolean {
    const isReplaced = this.#adminToken.replace(token);
    if (isReplaced) this.#options.feed.disconnectAll(BOOTSTRAP.operatorId);
    return isReplaced;
  }

  /** Notes accounts with an open socket as online, like accounts that make a request. */
  noteOnline(): void {
    const { clock, stores } = this.#options;
    const nowMs = clock.nowMs();
    for (const account of this.stream.accounts()) stores.control.onlineAccounts.note(account, nowMs);
    stores.control.onlineAccounts.save(nowMs);
  }

  /** Returns the state of the exchange as one object, for the administrator's feed. */
  stats(): object {
    const { stores, trading, clock } = this.#options;
    const { views, progress } = stores;
    return statsOf({ link: trading.link, views, progress, clock, connections: () => this.#server.connections });
  }

  /** Accepts no more connections, answers the requests on open ones, and closes those. */
  async drain(answerWithinMs: number): Promise<void> {
    const isDrained = await this.#server.stop(answerWithinMs);
    if (!isDrained) this.#options.log.warn('stopped before all requests were answered');
  }

  /** Stops. Called when neither requests nor periodic tasks use the answers any more. */
  async stop(): Promise<void> {
    this.disk.stop();
    this.#loopDelay.stop();
    this.#processMeters.stop();
    this.#backupRuns.stop();
    if (this.#options.member?.isLeading !== false) await this.refusedLogins.record();
    await this.answers.stop();
    this.#options.sharedCounters?.close();
  }

  /** This member leads from now on: another may have carried out requests signed until then. */
  lead(signedUntilSec: number): void {
    this.#nonces.forgetBefore(signedUntilSec);
  }

  #makeServer(): HttpServer {
    const { config, clock, log, stores, trading, lifecycle, member, settlement } = this.#options;
    const { keys, operators, platform, tradingTimeouts, onlineAccounts } = stores.control;
    return new HttpServer({
      config,
      routes: this.#routes(),
      authenticator: new Authenticator(keys, this.#nonces, this.clockWatch),
      isSetBack: () => this.clockWatch.isSetBack,
      onRefusedBeat: (account) => trading.deadMansSwitch.refusedBeat(account),
      sessions: this.userSessions.accessTokens,
      administrators: new Administrators(this.#adminToken, operators),
      audit: auditTrailOf(stores, this.refusedLogins),
      idempotency: new IdempotencyStage(this.answers, clock, this.#keysInFlight, () => this.disk.isLow),
      limiter: this.#limiter,
      connectionLimits: this.#connectionLimits,
      ...(this.#fronts === null ? {} : { fronts: this.#fronts, catchUp: () => trading.link.catchUp() }),
      ...(config.adminDoor === null ? {} : { adminDoor: config.adminDoor }),
      ...(config.corsOrigins.length === 0 ? {} : { cors: new Cors(config.corsOrigins) }),
      clock,
      log,
      ...(member === null ? {} : { role: member }),
      isReady: () => lifecycle.isReady,
      areOrdersUnderway: () => trading.link.inFlight > 0,
      changes: stores.control.records,
      isPaused: () => platform.paused,
      placingRefusal: () => this.#drills.refusal ?? settlement.port.standing.refusal,
      isDiskLow: () => this.disk.isLow,
      onSigned: (account, nowMs) => onlineAccounts.note(account, nowMs),
      timeoutEndMs: (account, nowMs) => tradingTimeouts.activeTimeout(account, nowMs)?.endsMs ?? 0,
      webSocket: {
        path: STREAM_PATH,
        behavior: this.stream.behavior,
        close: () => this.stream.close(),
        closeAnonymous: (count) => this.stream.closeAnonymous(count),
      },
    });
  }

  #readiness(): Readiness {
    return readinessOf({ ...this.#options, standing: this.#options.settlement.port.standing }, this.clockWatch);
  }

  #bounds(): ReturnType<typeof boundsOf> {
    const { stores, config } = this.#options;
    return boundsOf({
      accounts: stores.control.accounts,
      connections: () => this.#server.connections,
      mostConnections: this.#connectionLimits.most,
      ...{ queries: stores.queries, mostQueries: MOST_WAITING },
      ...{ shardMeters: stores.shardMeters, mostOrdersEver: config.maxOrdersEver },
    });
  }

  #metricsSources(): MetricsSources {
    const { stores, trading, threads, clock, member, settlement, lines } = this.#options;
    const meters = this.#meters;
    return {
      link: trading.link,
      views: stores.views,
      progress: stores.progress,
      shardMeters: stores.shardMeters,
      projectorLag: this.projectorLag,
      verifierOf: (shard) => (stores.spotCounts.differences(shard) > 0 ? 'noble' : threads.shards.verifierOf(shard)),
      spotCounts: stores.spotCounts,
      deadMansSwitch: trading.deadMansSwitch,
      ...{ clock: clockOf(this.clockWatch, clock), sharedCounters: this.#options.sharedCounters },
      get limiter() {
        return meters.limiter;
      },
      badSignatures: this.#badSignatures,
      get requests() {
        return meters.requests;
      },
      placed: this.#server.meters.counts.placed,
      refresh: () => meters.refresh(),
      longAnswers: this.#server.longAnswers,
      ...{ loopDelay: this.#loopDelay, process: this.#processMeters },
      ...{ memory: stores.memory, queries: stores.queries },
      ...{ disk: this.disk, files: this.#dataFiles },
      connections: () => this.#server.connections,
      ownConnections: () => this.#server.ownConnections,
      fronts: this.#fronts,
      streamConnections: () => this.stream.connectionCount,
      refusedConnections: () => this.#connectionLimits.refused,
      isReady: () => isReady(this.#readiness()),
      startingSeconds: () => startingSeconds(this.#readiness()),
      isPaused: () => stores.control.platform.paused,
      pendingApprovals: () => stores.control.approvals.countOpen(clock.nowMs()),
      damagedRows: stores.control.damagedRows.length,
      wantedReserveBytes: this.#options.config.journalReserveBytes,
      fiat: this.fiatParts.fiat,
      controlReserveBytes: () => stores.control.reserve.leftBytes(),
      keptAnswers: () => this.answers.kept,
      areAnswersFull: () => this.answers.isDiskFull,
      ...{ member, settlement: settlement.port.standing },
      positionDifferences: () => threads.positionDifferences,
      droppedLogLines: () => lines.dropped,
      certificateEndMs: () => this.#certificate.endMs,
      bounds: () => this.#bounds(),
      ...{ memoryLimitBytes, isAuditWritten: () => stores.audit.isWritten },
      isAlertTested: () => this.#alertTest.isUnderWay(clock.nowMs()),
    };
  }

  #routes(): Route[] {
    const { config, stores } = this.#options;
    const isDemoDirectory = isDemo(config, stores.isNew);
    return routeTable({
      ...this.#options,
      ...{ stream: this.stream, userSessions: this.userSessions, fiatParts: this.fiatParts },
      ...{ limiter: this.#limiter, badSignatures: this.#badSignatures },
      ...{ drills: this.#drills, alertTest: this.#alertTest, backupRuns: this.#backupRuns },
      isDemo: isDemoDirectory,
      pageFiles: new PageFiles({ isDemo: isDemoDirectory, providers: config.oidc.map(({ name }) => name) }),
      metrics: () => this.#metrics,
      operations: () => this.#operations,
      stats: () => this.stats(),
      readiness: () => this.#readiness(),
      isDiskLow: () => this.disk.isLow,
    });
  }
}
