/** The routes about orders, with the parts that placing and cancelling share (RULES.md 7). */
import type { Clock } from '../../shared/base/clock.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts } from '../account/accounts.ts';
import { orderReadRoutes } from '../account/orderReadRoutes.ts';
import type { AccountReads } from '../account/reads.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import type { Call } from '../http/call.ts';
import type { Route } from '../http/route.ts';
import { bookRoutes } from '../markets/booksRoutes.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { Views } from '../shardlink/views.ts';
import { batchRoutes } from './batchesRoutes.ts';
import { cancellingRoutes } from './cancellingRoutes.ts';
import { ClientOrderIds } from './clientOrderIds.ts';
import type { GroupCommands } from './groupCommands.ts';
import type { OpenOrderBoundsStore } from './openOrderBoundsStore.ts';
import { OpenOrderCounts } from './openOrderCounts.ts';
import { orderGroupRoutes } from './orderGroupsRoutes.ts';
import { OrderSender } from './orderSender.ts';
import { PastOrders, type PastReads } from './pastOrders.ts';
import { placingRoutes } from './placingRoutes.ts';
import type { PlacementReads } from './reads.ts';

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
  readonly queries: PlacementReads & PastReads & Pick<AccountReads, 'orderByHash'>;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function orderRoutes(deps: OrderDeps): Route[] {
  const clientIds = new ClientOrderIds(deps.views, deps.engine);
  const past = new PastOrders(deps.queries);
  const sender = new OrderSender({
    ...deps,
    past,
    clientIds,
    openOrders: new OpenOrderCounts(deps.views, deps.engine, deps.openOrderBounds),
  });
  return [
    ...placingRoutes({ ...deps, sender }),
    ...batchRoutes({ ...deps, sender, past }),
    ...cancellingRoutes({ ...deps, clientIds, past }),
    ...orderReadRoutes(deps),
    ...bookRoutes(deps),
    ...orderGroupRoutes(deps),
  ];
}
