/**
 * The second part of the exchange: the link to the shards, the feeds that follow their events, and everything that
 * sends commands of its own (markets, funds, order groups, contracts, the dead-man's switch).
 * Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import { withFee } from '../../shared/wire/commands.ts';
import { FourEyes } from '../access/fourEyes.ts';
import { Funding, type FundsEngine } from '../account/funding.ts';
import { Restrictions } from '../account/restrictions.ts';
import type { Logger } from '../base/log.ts';
import { ContractRotation } from '../chain/contractRotation.ts';
import type { MarketDeployment } from '../chain/deployment.ts';
import { FailedTrades } from '../chain/failedTrades.ts';
import { CatalogueImport } from '../markets/catalogueImport.ts';
import { EventSetCommands } from '../markets/eventSetCommands.ts';
import { MarketCommands } from '../markets/marketCommands.ts';
import { MarketTrades } from '../markets/marketTrades.ts';
import { ReliedTerms } from '../markets/reliedTerms.ts';
import { StageCommands } from '../markets/stages.ts';
import type { AdminFeed } from '../operator/feed.ts';
import { contractsOf } from '../operator/platformRoutes.ts';
import { ShardClient } from '../shardlink/client.ts';
import { ShardLink } from '../shardlink/link.ts';
import { Outbox } from '../shardlink/outbox.ts';
import { SetClient } from '../shardlink/setClient.ts';
import { SettlementFacts } from '../shardlink/settlementFacts.ts';
import { type FeedsInCluster, StreamFeeds } from '../stream/feeds.ts';
import type { PrivateSource } from '../stream/privateIntake.ts';
import { DeadMansSwitch } from '../trading/deadMansSwitch.ts';
import { GroupCommands } from '../trading/groupCommands.ts';
import { approvedChanges } from './approvedChanges.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { SettlementSide } from './settlementSide.ts';
import type { Stores } from './stores.ts';

type TradingOptions = {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly log: Logger;
  readonly feed: AdminFeed;
  readonly lifecycle: Lifecycle;
  readonly defaultFeeBps: number;
  /** The placements that should wait for one shard at once. */
  readonly waitingPlacements: number;
  /** Until `link.lead` the shards follow the log of a cluster. Null without a cluster. */
  readonly cluster: FeedsInCluster | null;
  /** The source of private frames; absent: the read model. */
  readonly privateSource?: PrivateSource;
  /** A reply handler has failed: the request in `context` has to be answered. */
  readonly onHandlerError: (error: unknown, context: unknown) => void;
  readonly onFatal: (error: unknown) => void;
  readonly settlement: SettlementSide;
  /** True while the exchange accepts good heartbeats. */
  readonly isAccepting: () => boolean;
};

export class Trading {
  readonly feeds: StreamFeeds;
  readonly link: ShardLink;
  readonly engine: ShardClient;
  readonly outbox: Outbox;
  readonly marketCommands: MarketCommands;
  readonly eventSets: EventSetCommands;
  readonly stages: StageCommands;
  readonly terms: ReliedTerms;
  readonly catalogueImport: CatalogueImport;
  readonly funding: Funding;
  readonly restrictions: Restrictions;
  readonly groups: GroupCommands;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly rotation: ContractRotation;
  readonly deployment: MarketDeployment;
  readonly failedTrades: FailedTrades;
  readonly fourEyes: FourEyes;
  readonly #log: Logger;
  readonly #feed: AdminFeed;

  constructor(options: TradingOptions) {
    const { stores, clock, log, feed, lifecycle, waitingPlacements, onHandlerError, onFatal } = options;
    const { settlement, cluster, privateSource = stores.queries } = options;
    const { control, views, privateLog, progress } = stores;
    const { shards } = control;
    this.#log = log;
    this.#feed = feed;
    this.feeds = new StreamFeeds({
      views,
      groups: control.orderGroups,
      // A standby may have the market before its entry of the catalogue.
      eventOf: (market) => control.catalog.markets[market]?.eventId ?? null,
      ...{ queries: stores.queries, privateLog, privateSource, progress },
      ...{ clock, log, cluster },
    });
    const linked = { follower: this.feeds, onHandlerError, onFatal, isFollowing: cluster !== null };
    this.link = new ShardLink({ shards, views, waitingPlacements, clock, ...linked });
    this.engine = new ShardClient(this.link);
    this.outbox = new Outbox(shards, this.engine);
    const trades = new MarketTrades(settlement.port);
    this.terms = new ReliedTerms({ views, volumes: stores.volumes, audit: stores.audit, log });
    const isReliedOn = this.terms.isReliedOn.bind(this.terms);
    this.marketCommands = new MarketCommands(control.catalog, views.markets, this.engine, clock, isReliedOn, trades);
    this.eventSets = new EventSetCommands(control.catalog, new SetClient(this.link), this.marketCommands, clock);
    this.stages = this.#makeStages(options);
    this.catalogueImport = this.#makeImport(options);
    const fundsEngine: FundsEngine = {
      funds: (account, kind, amountMicro, reference, market, feeMicro) => {
        const sets = market === null ? null : control.catalog.byIndex(market);
        return this.engine.funds(account, withFee(kind, feeMicro), amountMicro, reference, sets);
      },
    };
    this.funding = new Funding(control.movements, fundsEngine, control.accountStates, clock, settlement.port);
    this.restrictions = new Restrictions({
      outbox: this.outbox,
      engine: this.engine,
      states: control.accountStates,
      accounts: control.accounts,
      nonceFloors: control.nonceFloors,
      views,
      clock,
    });
    settlement.follow({ ...this, stores, feed, log });
    this.groups = new GroupCommands(control.orderGroups, views, this.engine, shards);
    this.deadMansSwitch = new DeadMansSwitch({
      outbox: this.outbox,
      engine: this.engine,
      store: control.armedSwitches,
      clock,
      log,
      ...{ isServing: () => lifecycle.isServing, isAccepting: options.isAccepting },
      onTriggered: (account) => feed.publish('heartbeat_triggered', { user_id: control.accounts.idOf(account) }),
    });
    this.rotation = new ContractRotation({
      engine: this.engine,
      contracts: control.contracts,
      clock,
      log,
      onDone: (contracts) => {
        log.warn(contractsOf(contracts), 'the contracts have changed: orders are signed for these now');
        feed.publish('contracts_changed', contractsOf(contracts));
      },
    });
    this.deployment = settlement.deployment({ stores, clock, log });
    this.failedTrades = new FailedTrades(settlement.port, this.engine);
    this.fourEyes = this.#makeFourEyes(stores, clock, new SettlementFacts(settlement.port));
    views.markets.statusChanged.subscribe(({ market, status }) => {
      feed.publish('market_status', { market_id: views.markets.id(market), status: MARKET_STATUS_NAMES[status] });
    });
  }

  /**
   * A shard is READY: carries out changes that control.db has and the shard may not have, because a thread or the
   * process ended in between. Restrictions of accounts go first: no request has reached the shard yet.
   */
  async finishInterrupted(shard: number): Promise<void> {
    await this.restrictions.resume(shard);
    await this.marketCommands.openMissing(shard);
    await this.funding.resumePending();
    await this.groups.reconcile();
    await this.fourEyes.resume();
  }

  #makeImport({ stores, defaultFeeBps, clock }: TradingOptions): CatalogueImport {
    const { control, views } = stores;
    return new CatalogueImport({
      catalog: control.catalog,
      states: views.markets,
      marketCommands: this.marketCommands,
      eventSets: this.eventSets,
      terms: this.terms,
      fourEyes: { hasSecond: (administrator, kind) => this.fourEyes.hasSecond(administrator, kind) },
      checkpoint: () => control.changes.checkpoint(),
      defaultFeeBps,
      clock,
    });
  }

  #makeStages({ stores }: TradingOptions): StageCommands {
    return new StageCommands({
      states: stores.views.markets,
      engine: this.engine,
      inTurn: (operation) => this.marketCommands.inTurn(operation),
    });
  }

  #makeFourEyes({ control, views, audit }: Stores, clock: Clock, settlementFacts: SettlementFacts): FourEyes {
    const { accounts, approvals, catalog, operators } = control;
    const { eventSets, failedTrades, funding, marketCommands, rotation } = this;
    const log = this.#log;
    return new FourEyes({
      approvals,
      operators,
      carryOut: approvedChanges({
        ...{ accounts, catalog, views, funding, marketCommands, rotation, failedTrades, clock, settlementFacts },
        eventSets,
      }),
      clock,
      log,
      onFinishedLater: ({ id, request, status, failure, decidedBy }) => {
        const approval = { id, kind: request.kind, status, failure };
        const record = { event: 'approval_finished', operator: operators.nameOf(decidedBy!), approval };
        audit
          .append(record, true)
          .catch((error) =>
            log.error({ err: error }, 'the audit log failed: this record is written before any later one'),
          );
      },
    });
  }

  /** A shard is READY again. If it is lost once more before this is done, its next return tries again. */
  async shardReturned(shard: number): Promise<void> {
    await this.finishInterrupted(shard).catch((error) =>
      this.#log.error(
        { err: error, shard },
        'interrupted changes could not be finished: the next return of the shard tries again',
      ),
    );
    await this.engine.catchUp(shard);
    this.#feed.publish('shard_ready', { shard });
  }

  /** Nothing waits longer than this for the shards any more; what they were sent they may still carry out. */
  answerUnknown(olderThanMs: number): void {
    this.link.answerUnknown(olderThanMs);
    this.outbox.stopWaiting();
  }

  /** The shards have stopped. */
  async stop(): Promise<void> {
    this.link.stop();
    await this.feeds.close();
  }
}
