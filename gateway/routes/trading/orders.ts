/** The routes about orders, with the parts that placing and cancelling share (RULES.md 7). */
import type { Clock } from '../../../shared/base/clock.ts';
import type { Call } from '../../http/call.ts';
import type { Route } from '../../http/route.ts';
import type { AccountReads } from '../../queries/accountReads.ts';
import type { PlacementReads } from '../../queries/placementReads.ts';
import type { ShardClient } from '../../shardlink/client.ts';
import type { AccountStates } from '../../store/accountStates.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Catalog } from '../../store/catalog.ts';
import type { OpenOrderBoundsStore } from '../../store/openOrderBounds.ts';
import type { BadSignatures } from '../../trading/badSignatures.ts';
import { ClientOrderIds } from '../../trading/clientOrderIds.ts';
import type { GroupCommands } from '../../trading/groupCommands.ts';
import { OpenOrderCounts } from '../../trading/openOrderCounts.ts';
import { Placements } from '../../trading/placements.ts';
import type { Views } from '../../views/index.ts';
import { orderReadRoutes } from '../account/orders.ts';
import { bookRoutes } from '../public/books.ts';
import { batchRoutes } from './batches.ts';
import { cancellingRoutes } from './cancelling.ts';
import { orderGroupRoutes } from './orderGroups.ts';
import { placingRoutes } from './placing.ts';

type OrderDeps = {
  readonly engine: ShardClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly accounts: Pick<Accounts, 'grantOf'>;
  readonly accountStates: AccountStates;
  readonly groups: GroupCommands;
  readonly openOrderBounds: OpenOrderBoundsStore;
  readonly clock: Clock;
  /** Null where nothing is limited. */
  readonly badSignatures: BadSignatures | null;
  readonly isDiskLow: () => boolean;
  readonly queries: PlacementReads & Pick<AccountReads, 'orderByHash'>;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function orderRoutes(deps: OrderDeps): Route[] {
  const clientIds = new ClientOrderIds(deps.views, deps.engine);
  const placements = new Placements({
    ...deps,
    clientIds,
    openOrders: new OpenOrderCounts(deps.views, deps.engine, deps.openOrderBounds),
  });
  return [
    ...placingRoutes({ ...deps, placements }),
    ...batchRoutes({ ...deps, placements }),
    ...cancellingRoutes({ ...deps, clientIds }),
    ...orderReadRoutes(deps),
    ...bookRoutes(deps),
    ...orderGroupRoutes(deps),
  ];
}
