/** Everything that the edge needs: the parts that were opened before it. */
import type { Clock } from '../../shared/base/clock.ts';
import type { RedisCounterStore } from '../access/redisCounterStore.ts';
import type { Config } from '../base/config.ts';
import type { Lines } from '../base/lineOutput.ts';
import type { Logger } from '../base/log.ts';
import type { MemberRole } from '../base/memberRole.ts';
import type { ClusterControl } from '../operator/clusterControl.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { SettlementSide } from './settlementSide.ts';
import type { ShardThreads } from './shardThreads.ts';
import type { Stores } from './stores.ts';
import type { Trading } from './trading.ts';

/** The part of the engine's threads that reports show. */
type ThreadsReport = {
  readonly shards: Pick<ShardThreads, 'problem' | 'verifierOf' | 'fronts'>;
  readonly positionDifferences: number;
  readonly readModelProblem: string | null;
};

export type EdgeOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly lines: Lines;
  readonly stores: Stores;
  readonly trading: Trading;
  readonly threads: ThreadsReport;
  readonly feed: AdminFeed;
  readonly lifecycle: Lifecycle;
  /** The second until which an earlier process may have run; the nonces that it had accepted are lost. */
  readonly startedSec: number;
  /** Null without a cluster. */
  readonly member: MemberRole | null;
  readonly cluster: ClusterControl | null;
  /** In a cluster: called if a record of the log contradicts the data of this machine. */
  readonly onRefused?: (why: string) => void;
  /** Null: rate limits are counted in this process. */
  readonly sharedCounters: RedisCounterStore | null;
  readonly settlement: SettlementSide;
  /** The URL at which this machine reaches the server; known once it listens. */
  readonly baseUrl: () => string;
  /** Called if a request fails after its handler has ended, and still has to be answered. */
  readonly onError: (error: unknown, context: unknown) => void;
};
