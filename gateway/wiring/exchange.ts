/**
 * The exchange as a whole: four parts, opened in this order; each uses the parts before it.
 *
 *   stores    all data of the gateway thread: control.db, views, read.db, the log of private frames
 *   trading   the link to the shards, the feeds from the views, and the senders of commands
 *   threads   shards, verifiers, projector and snapshots: they start to recover at once
 *   edge      HTTP and WebSocket: administrators are answered from here on, the port opens when the start is complete
 *
 *   control.db ─► this thread ─command rings─► shards ─► journals ─► projector ─► read.db ─► query pool
 *                      ▲                          │
 *                      └────────event rings───────┘
 *
 * A start is complete when the code of orders is rehearsed (rehearsal.ts; this begins before the second part is made),
 * the shards have recovered, changes that a crash left half done between control.db and the journals are finished, and
 * the read model has caught up. A thread that ends by itself is started again: the journals are the truth, and the new
 * thread only has to read them again. The parts stop in the opposite order: the edge answers the requests in flight,
 * then the shards finish their commands. Only the threads that follow the journals outlive the link, because they read
 * the last records of the shards.
 * Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { memberOf } from '../../shared/base/memberOf.ts';
import type { RedisCounterStore } from '../access/redisCounterStore.ts';
import { readAdminToken } from '../base/adminTokenFile.ts';
import { type ChainSecrets, openChainKeys } from '../base/chainKeys.ts';
import type { Config } from '../base/config.ts';
import type { Lines } from '../base/lineOutput.ts';
import type { Logger } from '../base/log.ts';
import type { Member } from '../base/member.ts';
import { PastAge } from '../base/pastAge.ts';
import { RoomWatch } from '../base/roomWatch.ts';
import { requireNewestSettlement } from '../chain/settlementMode.ts';
import { Call } from '../http/call.ts';
import { DoorClosedError, requireTls } from '../http/door.ts';
import { refuse } from '../http/respond.ts';
import { ClusterControl } from '../operator/clusterControl.ts';
import { AdminFeed } from '../operator/feed.ts';
import { Edge } from './edge.ts';
import { openSharedCounters } from './edgeParts.ts';
import { EngineThreads } from './engineThreads.ts';
import type { GatewayRecords } from './gatewayRecords.ts';
import { Lifecycle } from './lifecycle.ts';
import { isOfCluster, openMember } from './membership.ts';
import { PeriodicTasks } from './periodic.ts';
import { awaitFirstKeys, awaitNonceWindow, awaitReadModel, requireContracts, sayWaits } from './readiness.ts';
import { Rehearsal } from './rehearsal.ts';
import { chainSide, LEDGER_SIDE } from './settlementSide.ts';
import { SettlementThread } from './settlementThread.ts';
import { Stores } from './stores.ts';
import { Trading } from './trading.ts';
import { urlOf } from './urls.ts';
import { waitingPlacements } from './verifyThreads.ts';

/** After this time, a command that the log of a cluster has not taken is answered OUTCOME_UNKNOWN (RULES.md 18.6). */
const UNHELD_MS = 5000;
const STALL_LOOK_MS = 250;

type ExchangeOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** Receives the lines of the log. */
  readonly lines: Lines;
  /** Called if the process has to end and start again. */
  readonly onFatal: (error: unknown) => void;
  /** Of the first start of a demo: what happens before the port opens, at the times of another clock (demoPast.ts). */
  readonly past?: { readonly clock: Clock; readonly live: (exchange: Exchange) => Promise<void> } | null;
};

/** The objects that a start opens first. */
type Opened = {
  readonly stores: Stores;
  /** Null without a cluster. */
  readonly member: Member | null;
  readonly sharedCounters: RedisCounterStore | null;
  readonly rehearsal: Rehearsal | null;
  /** The keys for the chain; null without a chain. */
  readonly secrets: ChainSecrets | null;
};

export class Exchange {
  readonly config: Config;
  /** The clock of commands and records; the edge measures by that of the machine. */
  readonly clock: Clock;
  readonly stores: Stores;
  readonly trading: Trading;
  port = 0;
  readonly #log: Logger;
  readonly #options: ExchangeOptions;
  readonly #records: GatewayRecords | null;
  readonly #lifecycle = new Lifecycle();
  readonly #feed = new AdminFeed();
  readonly #threads: EngineThreads;
  readonly #edge: Edge;
  readonly #periodicTasks: PeriodicTasks;
  /** Null without a cluster. */
  readonly #member: Member | null;
  /** Null without a chain. */
  readonly #settlement: SettlementThread | null;
  /** Requests signed until this second are refused: another process may have accepted them. */
  #startedSec: number;
  #stallTimer: NodeJS.Timeout | undefined;
  #roomWatch: RoomWatch | null = null;
  /** Resolves when the rest of the rehearsal is cleared away: on a busy machine that takes seconds. */
  #rehearsalEnd: Promise<void> | undefined;

  static async start(options: ExchangeOptions): Promise<Exchange> {
    requireTls(options.config.tls);
    const secrets = options.config.chain === null ? null : openChainKeys(options.config.chain);
    const [member, rejoin] = await openMember(options);
    const cluster = member && { isFollowing: isOfCluster(member, options.config) };
    const stores = new Stores(options.config, options.past?.clock ?? options.clock, options.log, cluster);
    await rejoin(stores);
    const sharedCounters = await openSharedCounters(options.config, options.log);
    const rehearsal = Rehearsal.prepare(options.config, stores.control.shards, options.log);
    await rehearsal?.begin();
    const exchange = new Exchange(options, { stores, member, sharedCounters, rehearsal, secrets });
    await sayWaits(options.log, exchange.#threads.shards, exchange.#recover(rehearsal));
    return exchange;
  }

  private constructor(options: ExchangeOptions, { stores, member, sharedCounters, rehearsal, secrets }: Opened) {
    const { config, log, onFatal, past } = options;
    const clock = past?.clock ?? options.clock;
    const lifecycle = this.#lifecycle;
    const feed = this.#feed;
    // The stores are open and control.db is locked, so a process that used this directory before has ended by now.
    this.#startedSec = Math.floor(options.clock.nowMs() / 1000);
    this.#options = options;
    this.config = config;
    this.clock = clock;
    this.#log = log;
    this.stores = stores;
    this.#member = member;
    const replication = member?.replicas.memory ?? null;
    this.#settlement =
      secrets &&
      new SettlementThread({
        ...{ secrets, config, stores, clock, log, feed, replication },
        onContradiction: onFatal,
      });
    const settlement =
      this.#settlement === null ? LEDGER_SIDE : chainSide(this.#settlement, config.chain!, options.clock);
    const onError = (error: unknown, context: unknown): void => this.#answerFailed(error, context);
    this.trading = new Trading({
      ...{ stores, clock, log, feed, lifecycle, settlement },
      defaultFeeBps: config.feeBps,
      waitingPlacements: waitingPlacements(config.verifier),
      cluster: member && { order: member.order, onNumbered: (position) => member.numbered(position) },
      onHandlerError: onError,
      onFatal,
      isAccepting: () => (member?.role.changeRefusal() ?? null) === null && this.#edge.clockWatch.isAccepting,
    });
    this.#threads = new EngineThreads({
      config,
      stores,
      link: this.trading.link,
      replicas: member?.replicas ?? null,
      log,
      rehearsalsOf: rehearsal?.shardsOf,
      onReturned: (shard) => this.trading.shardReturned(shard),
      onLost: (shard, isDown) => feed.publish(isDown ? 'shard_down' : 'shard_lost', { shard }),
      onFatal,
    });
    const onRefused = (why: string): void => onFatal(new Error(why));
    this.#edge = new Edge({
      ...{ config, clock: options.clock, log, lines: options.lines, stores },
      trading: this.trading,
      threads: this.#threads,
      feed,
      lifecycle,
      startedSec: this.#startedSec,
      member: member?.role ?? null,
      cluster: member && new ClusterControl(config.cluster!.member, member),
      ...(member === null ? {} : { onRefused }),
      sharedCounters,
      settlement,
      baseUrl: () => this.baseUrl,
      onError,
    });
    this.#records = member && stores.join(this.#edge.answers, this.#settlement, onRefused);
    this.#periodicTasks = new PeriodicTasks({
      ticking: this.#ticking(),
      volumes: stores.volumes,
      feed,
      stats: () => this.#edge.stats(),
      answers: this.#edge.answers,
      control: stores.control,
      journalHeads: stores.control.journalHeads,
      noteOnline: () => this.#edge.noteOnline(),
      log,
    });
  }

  /** Resolves with the name of the member that gets the lead: this process stops in order. Null without a cluster. */
  get handedOver(): Promise<string> | null {
    return this.#member?.handedOver ?? null;
  }

  /** The URL at which this machine reaches the server. */
  get baseUrl(): string {
    return urlOf(this.config, this.port);
  }

  /** The URL at which this machine reaches the page for administrators. */
  get operationsUrl(): string {
    const { adminDoor } = this.config;
    return `${adminDoor === null ? this.baseUrl : urlOf(adminDoor, this.adminPort!)}/ops`;
  }

  /** The administrators' port. Null if they have none of their own. */
  get adminPort(): number | null {
    return this.#edge.adminPort;
  }

  /** True if some files can be read again without a restart. */
  get isReloadable(): boolean {
    return this.config.tls !== null || this.config.adminTokenFile !== null;
  }

  /** Reads changed files again. A file that cannot be used changes nothing. */
  async reload(): Promise<void> {
    this.#reloadAdminToken();
    if (this.config.tls !== null) await this.#reloadTls();
  }

  /** Reads the administrator's token again (RULES.md 9.50). */
  #reloadAdminToken(): void {
    try {
      const token = readAdminToken(this.config);
      if (token === null || !this.#edge.replaceAdminToken(token)) return;
      this.#log.warn('the administrator token was replaced by the one in ADMIN_TOKEN_FILE');
      // A token that others may know is replaced at once, even while the log cannot be written.
      this.stores.audit.append({ event: 'admin_token_replaced' }, true).catch((error) => {
        this.#log.error({ err: error }, 'the audit log failed: this record is written before any later one');
      });
    } catch (error) {
      this.#log.error({ err: error }, 'the new administrator token could not be used: the old one stays');
    }
  }

  async #reloadTls(): Promise<void> {
    try {
      await this.#edge.reloadTls();
      this.#log.info('new connections get the certificate that the files have now');
    } catch (error) {
      if (error instanceof DoorClosedError) this.#options.onFatal(error);
      else this.#log.error({ err: error }, 'the new certificate could not be used: the old one stays');
    }
  }

  /** The parts whose state changes with time. */
  #ticking(): { tick(): void }[] {
    return [
      this.trading.link,
      this.#edge.clockWatch,
      this.trading.deadMansSwitch,
      this.trading.rotation,
      this.trading.deployment,
      this.trading.fourEyes,
      this.stores.audit,
      this.#edge.refusedLogins,
      this.#edge.projectorLag,
      this.#edge.userSessions,
      ...Object.values(this.#edge.fiatParts).filter((part) => part !== null),
      ...(this.#settlement === null ? [] : [this.#settlement.health]),
    ];
  }

  /** Stops by `endMs`: answers the requests in flight, lets the shards finish their commands, and ends every thread. */
  async stop(answerWithinMs: number, endMs: number): Promise<void> {
    this.#lifecycle.isDraining = true;
    this.stores.keepControl();
    this.#feed.close('draining', {});
    await this.#edge.drain(answerWithinMs);
    this.#periodicTasks.stop();
    clearInterval(this.#stallTimer);
    this.#roomWatch?.stop();
    await this.#edge.stop();
    await this.#threads.stopShards();
    if (this.#member?.role.isLeading !== false) {
      this.#periodicTasks.saveHeads();
      this.#periodicTasks.noteOnline();
    }
    // In a cluster this waits for the log, which takes nothing after the member has stopped.
    if (this.#member !== null) await this.#settlement?.stop();
    await this.#member?.stop();
    await this.trading.stop();
    const settlement = this.#member === null ? this.#settlement : null;
    await Promise.all([this.#threads.stopFollowers(endMs), settlement?.stop()]);
    await this.#rehearsalEnd;
    await this.stores.close();
  }

  async #recover(rehearsal: Rehearsal | null): Promise<void> {
    await this.#edge.begin();
    await rehearsal?.run(() => this.#threads.shards.endRehearsal());
    const recovered = this.#threads.ready();
    this.#rehearsalEnd = rehearsal?.end(recovered);
    await recovered;
    await this.#settlement?.connected;
    if (this.#member === null) await this.#serve();
    else await this.#follow(this.#member);
    if (!this.#lifecycle.isDraining) this.stores.giveControl(this.clock, this.#log, this.#member);
  }

  /** Until this member leads, it answers reads from the rows that the log has brought. */
  async #follow(member: Member): Promise<void> {
    const { control, progress, views } = this.stores;
    const { feeds } = this.trading;
    const here = this.stores.journalPaths.map((_, stream) => {
      return { stream, sequence: progress.committed(stream), doneThrough: feeds.doneThrough(stream) };
    });
    await this.#edge.disk.start();
    this.#roomWatch = new RoomWatch({ disk: this.#edge.disk, member, log: this.#log });
    this.#roomWatch.start();
    member.role.past = new PastAge(progress, views, control.catalog);
    member.follow([...here, ...this.#records!.sequences()], {
      postRows: (shard, rows) => this.#threads.shards.follow(shard, rows),
      shown: (shard) => views.shownSequence(shard),
      applyRow: (row) => this.#records!.follow(row),
      durable: (stream) => this.#records!.durable(stream),
      copyControl: (copy) => this.#records!.copyControl(copy),
    });
    await member.caughtUp;
    await awaitReadModel(progress, control.catalog.revisions.current);
    await this.#periodicTasks.refreshAllVolumes();
    feeds.start();
    this.#edge.stream.start();
    this.#lifecycle.phase = 'standby';
    this.port = await this.#edge.listen();
    this.#periodicTasks.startReading();
    void member.leading.then(() => this.#lead(member)).catch((error) => this.#options.onFatal(error));
  }

  /** This member leads: everything that the log holds is applied, and this member has the lease (MEMBERSHIP-1). */
  async #lead(member: Member): Promise<void> {
    if (this.#lifecycle.isDraining) return;
    const startMs = performance.now();
    this.#startedSec = Math.floor(member.role.signedUntilMs / 1000);
    this.#edge.lead(this.#startedSec);
    await Promise.all([this.#threads.shards.lead(), this.#records!.settled()]);
    if (this.#settlement !== null) requireNewestSettlement(this.config.dataDir, this.stores.control.platform);
    this.#records!.lead(member);
    this.trading.link.lead(() => member.outbox.isWaiting);
    member.mayLead();
    await this.#serve();
    this.#stallTimer = setInterval(() => {
      if (member.role.isStalled) this.trading.answerUnknown(UNHELD_MS);
    }, STALL_LOOK_MS);
    this.#log.info({ epoch: member.role.epoch, took_ms: Math.round(performance.now() - startMs) }, 'this member leads');
  }

  /** From here on requests are carried out. */
  async #serve(): Promise<void> {
    const { stores, trading } = this;
    const { control, views, progress, queries } = stores;
    control.platform.setHasJournals();
    for (let shard = 0; shard < control.shards; shard++) await trading.finishInterrupted(shard);
    await trading.rotation.finish();
    requireContracts(control.contracts, views.contracts);
    const isStopped = (): boolean => this.#lifecycle.isDraining;
    const firstKeys = awaitFirstKeys({ answers: this.#edge.answers, queries, progress, isStopped, log: this.#log });
    await Promise.all([
      awaitNonceWindow(this.#startedSec, this.#options.clock),
      // The queries run one after the other: for two at once the pool would start its second thread.
      Promise.all([awaitReadModel(progress, control.catalog.revisions.current), firstKeys]).then(() =>
        this.#periodicTasks.refreshAllVolumes(),
      ),
      this.#member === null ? this.#edge.disk.start() : undefined,
    ]);
    await this.#catchUpTime();
    this.#periodicTasks.start();
    if (this.#member === null) {
      trading.feeds.start();
      this.#edge.stream.start();
    } else if (!(await trading.feeds.lead())) this.#log.warn('private frames of the last rows are sent later');
    await this.#options.past?.live(this);
    trading.deadMansSwitch.start();
    this.#lifecycle.phase = 'ready';
    if (this.#member === null) this.port = await this.#edge.listen();
    this.#member?.role.lead();
    this.#settlement?.link.acceptNews();
  }

  /** Expires the orders and closes the markets that were due while the exchange was stopped or starting. */
  async #catchUpTime(): Promise<void> {
    const { engine, link } = this.trading;
    await Promise.all(Array.from({ length: link.shards }, (_, shard) => engine.catchUp(shard)));
  }

  /** A reply handler has failed: without this its request would never be answered. */
  #answerFailed(error: unknown, context: unknown): void {
    this.#log.error({ err: error }, 'reply handler failed');
    const call = context instanceof Call ? context : memberOf(context, 'call');
    if (call instanceof Call) refuse(call, { row: ERRORS.INTERNAL_ERROR });
  }
}
