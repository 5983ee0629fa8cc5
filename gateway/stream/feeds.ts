/**
 * The feeds of the stream, public and private: they turn the shards' events into frames for subscriptions. They follow
 * the views (shardlink/link.ts calls them for each event), so nothing is published before it is durable. Owner: the
 * gateway thread.
 *
 *   event ─► views ─┬► market feed ──► channels: numbered, kept, pushed to subscribers at the end of the batch
 *                   ├► changes of markets: the same, over all markets
 *                   ├► rounds: tickers and candles of touched markets, once a second
 *                   └► private feed ─► intake ──► log of private frames ──commit──► subscribers
 *
 * In a cluster the intake numbers private frames in the order of the replicated log.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { LogOrderConsumer } from '../../shared/wire/logOrder.ts';
import type { RecordView } from '../../shared/wire/privateRecord.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Logger } from '../base/log.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import type { Views, ViewsFollower } from '../shardlink/views.ts';
import { MarketFeed } from './marketFeed.ts';
import { OrderedIntake } from './orderedIntake.ts';
import { PrivateFeed } from './privateFeed.ts';
import { type GroupNames, privateFrame } from './privateFrames.ts';
import { type FrameIntake, PrivateIntake, type PrivateSource } from './privateIntake.ts';
import type { PrivateLog } from './privateLog.ts';
import { PrivateSubscribers } from './privateSubscribers.ts';
import { type EventOf, MarketChanges } from './summaryChanges.ts';
import type { SummaryQueries } from './summaryParts.ts';
import { SummaryRounds } from './summaryRounds.ts';

type StreamFeedsOptions = {
  readonly views: Views;
  readonly groups: GroupNames;
  readonly eventOf: EventOf;
  readonly queries: SummaryQueries;
  readonly privateLog: PrivateLog;
  readonly privateSource: PrivateSource;
  readonly progress: Pick<Progress, 'setLogged'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Null without a cluster. */
  readonly cluster?: FeedsInCluster | null;
};

export type FeedsInCluster = {
  readonly order: Pick<LogOrderConsumer, 'read'>;
  /** The private frames of the rows up to this position are numbered, durably. */
  readonly onNumbered: (position: number) => void;
};

/** A new leader waits no longer than this for the private frames of its last rows. */
const SETTLED_MS = 2000;

export class StreamFeeds implements ViewsFollower {
  readonly markets: MarketFeed;
  readonly changes: MarketChanges;
  readonly summaries: SummaryRounds;
  readonly eventOf: EventOf;
  readonly privateLog: PrivateLog;
  readonly privateSubscribers = new PrivateSubscribers();
  /** Frames have been pushed to subscribers, and the sockets can send them. */
  readonly pushed = new Signal<void>();
  /** True while clients may have seen private frames that this process does not have yet. */
  isBehind: boolean;
  readonly #intake: FrameIntake;
  /** The intake in a cluster; null without one. */
  readonly #ordered: OrderedIntake | null;
  readonly #privates: PrivateFeed;
  readonly #views: Views;
  readonly #groups: GroupNames;
  readonly #clock: Clock;

  constructor(given: StreamFeedsOptions) {
    const { views, groups, eventOf, queries, privateLog, privateSource, progress, clock, log, cluster } = given;
    this.#views = views;
    this.#groups = groups;
    this.#clock = clock;
    this.privateLog = privateLog;
    this.markets = new MarketFeed(views);
    this.eventOf = eventOf;
    this.summaries = new SummaryRounds({ views, queries, clock, log });
    this.changes = new MarketChanges({ markets: views.markets, eventOf, clock });
    const options = {
      log: privateLog,
      source: privateSource,
      shards: views.orders.length,
      progress,
      logger: log,
      onCommitted: (accounts: ReadonlySet<number>) => {
        this.privateSubscribers.notify(accounts);
        this.pushed.notify();
      },
    };
    this.isBehind = cluster != null;
    this.#ordered = cluster == null ? null : new OrderedIntake({ ...options, ...cluster });
    this.#intake = this.#ordered ?? new PrivateIntake(options);
    this.#privates = new PrivateFeed(views, this.#intake);
  }

  /** Every shard is READY. */
  start(): void {
    this.#intake.start();
  }

  /**
   * In a cluster: rows of the shard that end after this record must be named, so that its private frames can be
   * numbered.
   */
  doneThrough(shard: number): number {
    return this.#ordered?.doneThrough(shard) ?? 0;
  }

  /** This member leads and shows everything that was acknowledged: it waits for the resulting private frames. */
  async lead(): Promise<boolean> {
    const isSettled = (await this.#ordered?.settled(SETTLED_MS)) ?? true;
    this.isBehind = false;
    return isSettled;
  }

  /** The shards publish nothing any more. */
  close(): Promise<void> {
    this.summaries.close();
    return this.#intake.close();
  }

  applied(shard: number, record: RecordResult, words: Uint32Array, word: number): void {
    this.markets.applied(shard, record, words, word);
    this.changes.applied(shard, record, words, word);
    this.summaries.applied(shard, record, words, word);
    this.#privates.applied(shard, record, words, word);
  }

  recovered(shard: number, shardSequence: number): void {
    this.markets.recovered(shard, this.#clock.nowMs());
    this.changes.recovered(shard);
    this.summaries.recovered(shard, shardSequence);
    this.#privates.recovered(shard, shardSequence);
  }

  flush(): void {
    this.markets.flush();
    this.changes.flush();
    this.#intake.flush();
    this.pushed.notify();
  }

  /** The text of a private frame. */
  privateFrame(record: RecordView): string {
    return privateFrame(this.#views.markets, this.#groups, record);
  }
}
