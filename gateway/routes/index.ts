/** The table of routes: every area's rows, each with the parts of the exchange that its handlers need. */
import type { Clock } from '../../shared/clock.ts';
import type { AdminFeed } from '../adminFeed.ts';
import type { Call } from '../call.ts';
import type { Config } from '../config.ts';
import type { ContractRotation } from '../contractRotation.ts';
import type { Control } from '../control/control.ts';
import type { Funding } from '../control/funding.ts';
import type { MarketDesk } from '../control/marketDesk.ts';
import { MarketResponses } from '../control/marketResponse.ts';
import type { Volumes } from '../control/volumes.ts';
import type { DeadMansSwitch } from '../deadMansSwitch.ts';
import type { Drills } from '../drills.ts';
import type { EngineClient } from '../engineClient.ts';
import type { GroupDesk } from '../groupDesk.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Metrics } from '../metrics.ts';
import type { QueryPool } from '../queries/pool.ts';
import type { Route } from '../route.ts';
import type { Stream } from '../stream/stream.ts';
import type { Views } from '../views/index.ts';
import { adminCatalogRoutes } from './adminCatalog.ts';
import { adminEventRoutes } from './adminEvents.ts';
import { adminFundRoutes } from './adminFunds.ts';
import { adminPlatformRoutes } from './adminPlatform.ts';
import { adminResolutionRoutes } from './adminResolution.ts';
import { adminUserRoutes } from './adminUsers.ts';
import { claimRoutes } from './claims.ts';
import { fundRoutes } from './funds.ts';
import { gamingRoutes } from './gaming.ts';
import { heartbeatRoutes } from './heartbeat.ts';
import { historyRoutes } from './history.ts';
import { marketDataRoutes } from './marketData.ts';
import { marketRoutes } from './markets.ts';
import { metricsRoutes } from './metrics.ts';
import { orderRoutes } from './orders.ts';
import { platformRoutes, type Readiness } from './platform.ts';
import { rateLimitRoutes } from './rateLimits.ts';
import { streamRoutes } from './stream.ts';

export type RouteTableDeps = {
  readonly config: Config;
  readonly clock: Clock;
  readonly control: Control;
  readonly desk: MarketDesk;
  readonly funding: Funding;
  readonly groups: GroupDesk;
  readonly views: Views;
  readonly engine: EngineClient;
  readonly queries: QueryPool;
  readonly volumes: Volumes;
  readonly stream: Stream;
  readonly limiter: Limiter | null;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly rotation: ContractRotation;
  readonly drills: Drills;
  readonly feed: AdminFeed;
  /** Made last: they tell of the server that has this table. */
  readonly metrics: () => Metrics;
  readonly stats: () => object;
  readonly readiness: () => Readiness;
  readonly isDiskLow: () => boolean;
  /** Whoever gets this owes the call its answer. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function routeTable(deps: RouteTableDeps): Route[] {
  const { config, clock, control, desk, groups, views, engine, queries, volumes } = deps;
  const { accounts, catalog, contracts, keys, platform } = control;
  const responses = new MarketResponses(views, volumes);
  const routes: Route[] = [
    ...platformRoutes({ config, platform, contracts, catalog, views, volumes, clock, readiness: deps.readiness }),
    ...metricsRoutes(deps.metrics),
    ...marketRoutes({ catalog, views, responses }),
    ...marketDataRoutes({ catalog, views, clock }),
    ...orderRoutes({ engine, views, catalog, accounts, groups, clock, queries, onError: deps.onError }),
    ...heartbeatRoutes(deps.deadMansSwitch),
    ...gamingRoutes({ gaming: control.gaming, clock }),
    ...fundRoutes({ engine, views, catalog }),
    ...claimRoutes({ engine, views, catalog }),
    ...historyRoutes({ queries }),
    ...streamRoutes({ stream: deps.stream, trustProxy: config.trustProxy }),
    ...adminUserRoutes({ accounts, keys, views, clock }),
    ...adminFundRoutes({ accounts, funding: deps.funding, catalog, views }),
    ...adminCatalogRoutes({ catalog, views, desk, responses, defaultFeeBps: config.feeBps, clock }),
    ...adminResolutionRoutes({ catalog, views, desk, responses }),
    ...adminPlatformRoutes({
      platform,
      contracts,
      rotation: deps.rotation,
      drills: deps.drills,
      shards: control.shards,
      isShardReady: (shard) => engine.isReady(shard),
      isDiskLow: deps.isDiskLow,
      feed: deps.feed,
    }),
    ...adminEventRoutes({ feed: deps.feed, stats: deps.stats }),
  ];
  routes.push(...rateLimitRoutes({ limiter: deps.limiter, routes, clock }));
  return routes;
}
