/**
 * Reports the fill level of tables which, once full, refuse requests of others than those who fill them. Of the tables
 * in data/docs/tables.md these are the ones that no other metric shows. The alert rings long before a table is full.
 * Owner: the gateway thread.
 */
import { totalmem } from 'node:os';
import { MAX_ACCOUNTS } from '../../shared/base/codes.ts';
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';

type BoundsSources = {
  readonly accounts: { readonly count: number };
  readonly connections: () => number;
  readonly mostConnections: number;
  readonly queries: { readonly waiting: number };
  readonly mostQueries: number;
  readonly shardMeters: readonly Pick<ShardMeters, 'count'>[];
  readonly mostOrdersEver: number;
};

type Bound = readonly [name: string, used: number, most: number];

export function* boundsOf(from: BoundsSources): Generator<Bound> {
  yield ['accounts', from.accounts.count, MAX_ACCOUNTS - 1];
  yield ['connections', from.connections(), from.mostConnections];
  yield ['queries', from.queries.waiting, from.mostQueries];
  for (const [shard, meters] of from.shardMeters.entries()) {
    yield [`orders in memory of shard ${shard}`, meters.count('ordersEver'), from.mostOrdersEver];
  }
}

/** The memory that a container allows, or that the machine has. */
export function memoryLimitBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
