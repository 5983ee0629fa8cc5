/** Everything about orders: the routes of this folder that share how one is placed (RULES.md 7). */
import type { Clock } from '../../shared/clock.ts';
import type { Call } from '../call.ts';
import { ClientOrderIds } from '../clientOrderIds.ts';
import type { Accounts } from '../control/accounts.ts';
import type { Catalog } from '../control/catalog.ts';
import type { EngineClient } from '../engineClient.ts';
import type { GroupDesk } from '../groupDesk.ts';
import { Placements } from '../placements.ts';
import type { QueryPool } from '../queries/pool.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { batchRoutes } from './batches.ts';
import { bookRoutes } from './books.ts';
import { cancellingRoutes } from './cancelling.ts';
import { orderGroupRoutes } from './orderGroups.ts';
import { orderReadRoutes } from './orderReads.ts';
import { placingRoutes } from './placing.ts';

export type OrderDeps = {
  readonly engine: EngineClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly accounts: Accounts;
  readonly groups: GroupDesk;
  readonly clock: Clock;
  readonly queries: Pick<QueryPool, 'orderByHash' | 'placedWithKey' | 'cancelledWithKey'>;
  /** Whoever gets this owes the call its answer. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function orderRoutes(deps: OrderDeps): Route[] {
  const clientIds = new ClientOrderIds(deps.views, deps.engine);
  const placements = new Placements({ ...deps, clientIds });
  return [
    ...placingRoutes({ ...deps, placements }),
    ...batchRoutes({ ...deps, placements }),
    ...cancellingRoutes({ ...deps, clientIds }),
    ...orderReadRoutes(deps),
    ...bookRoutes(deps),
    ...orderGroupRoutes(deps),
  ];
}
