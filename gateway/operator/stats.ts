/** The state of the exchange as one object, which the administrator's feed reports once a second (RULES.md 9.11). */
import type { Clock } from '../../shared/base/clock.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { ShardLink } from '../shardlink/link.ts';
import type { Views } from '../shardlink/views.ts';
import { behind } from './metricReaders.ts';

type StatsSources = {
  readonly link: ShardLink;
  readonly views: Views;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly connections: () => number;
};

export function statsOf({ link, views, progress, clock, connections }: StatsSources) {
  const shards = views.orders.map((orders, shard) => {
    const { commandBytes, commandCapacity, eventBytes, unanswered } = link.load(shard);
    const committed = progress.committed(shard);
    return {
      shard,
      ready: link.isReady(shard),
      open_orders: orders.count,
      journal_sequence: Math.max(committed, 0),
      journal_lag_commands: unanswered,
      projector_lag_records: behind(progress, shard, progress.projected(shard)),
      command_ring_bytes: commandBytes,
      command_ring_capacity_bytes: commandCapacity,
      event_ring_bytes: eventBytes,
    };
  });
  const openOrders = shards.reduce((sum, { open_orders }) => sum + open_orders, 0);
  return { time: clock.nowMs(), open_orders: openOrders, connections: connections(), shards };
}
