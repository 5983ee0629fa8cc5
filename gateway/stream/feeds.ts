/**
 * The two feeds of the stream, public and private: what the shards' events mean for the subscriptions. They follow the
 * views (shardlink/link.ts calls them for each event), so nothing is published before it is durable.
 * Owner: the gateway thread.
 *
 *   event ─► views ─┬► market feed ──► channels: numbered, kept, pushed to subscribers at the end of the batch
 *                   └► private feed ─► intake ──► log of private frames ──commit──► subscribers
 */
import type { Clock } from '../../shared/base/clock.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { RecordView } from '../../shared/wire/privateRecord.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Logger } from '../process/log.ts';
import type { Views, ViewsFollower } from '../views/index.ts';
import type { RecordResult } from '../views/recordResult.ts';
import { MarketFeed } from './market/feed.ts';
import { PrivateFeed } from './private/feed.ts';
import { type GroupNames, privateFrame } from './private/frames.ts';
import { PrivateIntake, type PrivateSource } from './private/intake.ts';
import type { PrivateLog } from './private/log.ts';
import { PrivateSubscribers } from './private/subscribers.ts';

type StreamFeedsOptions = {
  readonly views: Views;
  readonly groups: GroupNames;
  readonly privateLog: PrivateLog;
  readonly privateSource: PrivateSource;
  readonly progress: Pick<Progress, 'setLogged'>;
  readonly clock: Clock;
  readonly log: Logger;
};

export class StreamFeeds implements ViewsFollower {
  readonly markets: MarketFeed;
  readonly privateLog: PrivateLog;
  readonly privateSubscribers = new PrivateSubscribers();
  /** Frames have been pushed to subscribers, and the sockets can send them. */
  readonly pushed = new Signal<void>();
  readonly #intake: PrivateIntake;
  readonly #privates: PrivateFeed;
  readonly #views: Views;
  readonly #groups: GroupNames;
  readonly #clock: Clock;

  constructor({ views, groups, privateLog, privateSource, progress, clock, log }: StreamFeedsOptions) {
    this.#views = views;
    this.#groups = groups;
    this.#clock = clock;
    this.privateLog = privateLog;
    this.markets = new MarketFeed(views);
    this.#intake = new PrivateIntake({
      log: privateLog,
      source: privateSource,
      shards: views.orders.length,
      progress,
      logger: log,
      onCommitted: (accounts) => {
        this.privateSubscribers.notify(accounts);
        this.pushed.notify();
      },
    });
    this.#privates = new PrivateFeed(views, this.#intake);
  }

  /** Every shard is READY. */
  start(): void {
    this.#intake.start();
  }

  /** The shards publish nothing any more. */
  close(): Promise<void> {
    return this.#intake.close();
  }

  applied(shard: number, record: RecordResult, words: Uint32Array, word: number): void {
    this.markets.applied(shard, record, words, word);
    this.#privates.applied(shard, record, words, word);
  }

  recovered(shard: number, shardSequence: number): void {
    this.markets.recovered(shard, this.#clock.nowMs());
    this.#privates.recovered(shard, shardSequence);
  }

  flush(): void {
    this.markets.flush();
    this.#intake.flush();
    this.pushed.notify();
  }

  /** The text of a private frame. */
  privateFrame(record: RecordView): string {
    return privateFrame(this.#views.markets, this.#groups, record);
  }
}
