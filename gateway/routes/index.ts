/** The table of routes: every area's rows, each with the parts of the exchange that its handlers need. */
import type { Readiness } from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { AuditLog } from '../audit/log.ts';
import { AuditReader } from '../audit/reader.ts';
import type { Call } from '../http/call.ts';
import type { Route } from '../http/route.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { FourEyes } from '../operator/approvals.ts';
import type { ContractRotation } from '../operator/contractRotation.ts';
import type { Drills } from '../operator/drills.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { Funding } from '../operator/funding.ts';
import type { MarketCommands } from '../operator/markets.ts';
import type { Metrics } from '../operator/metrics.ts';
import type { Restrictions } from '../operator/restrictions.ts';
import type { Config } from '../process/config.ts';
import type { QueryPool } from '../queries/pool.ts';
import type { Volumes } from '../queries/volumes.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { Control } from '../store/control.ts';
import type { Stream } from '../stream/socket/stream.ts';
import type { BadSignatures } from '../trading/badSignatures.ts';
import type { DeadMansSwitch } from '../trading/deadMansSwitch.ts';
import type { GroupCommands } from '../trading/groupCommands.ts';
import type { Views } from '../views/index.ts';
import { claimRoutes } from './account/claims.ts';
import { fundRoutes } from './account/funds.ts';
import { historyRoutes } from './account/history.ts';
import { rateLimitRoutes } from './account/rateLimits.ts';
import { tradingTimeoutRoutes } from './account/tradingTimeouts.ts';
import { adminApprovalRoutes } from './admin/approvals.ts';
import { adminAuditRoutes } from './admin/audit.ts';
import { adminCatalogRoutes } from './admin/catalog.ts';
import { adminEventRoutes } from './admin/feed.ts';
import { adminFundRoutes } from './admin/funds.ts';
import { adminOpenOrderRoutes } from './admin/openOrders.ts';
import { adminOperatorRoutes } from './admin/operators.ts';
import { adminPlatformRoutes } from './admin/platform.ts';
import { adminResolutionRoutes } from './admin/resolution.ts';
import { adminRestrictionRoutes } from './admin/restrictions.ts';
import { adminUserRoutes } from './admin/users.ts';
import { MarketResponses } from './json/market.ts';
import { marketDataRoutes } from './public/marketData.ts';
import { marketRoutes } from './public/markets.ts';
import { metricsRoutes } from './public/metrics.ts';
import { openApiRoutes } from './public/openapi.ts';
import { platformRoutes } from './public/platform.ts';
import { streamRoutes } from './public/stream.ts';
import { heartbeatRoutes } from './trading/heartbeat.ts';
import { orderRoutes } from './trading/orders.ts';

type RouteTableDeps = {
  readonly config: Config;
  readonly clock: Clock;
  readonly control: Control;
  readonly audit: AuditLog;
  readonly marketCommands: MarketCommands;
  readonly funding: Funding;
  readonly restrictions: Restrictions;
  readonly groups: GroupCommands;
  readonly views: Views;
  readonly engine: ShardClient;
  readonly queries: QueryPool;
  readonly volumes: Volumes;
  readonly stream: Stream;
  readonly limiter: Limiter | null;
  readonly badSignatures: BadSignatures | null;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly rotation: ContractRotation;
  readonly fourEyes: FourEyes;
  readonly drills: Drills;
  readonly feed: AdminFeed;
  /** Made after the server that has this table, whose requests they count. */
  readonly metrics: () => Metrics;
  readonly stats: () => object;
  readonly readiness: () => Readiness;
  readonly isDiskLow: () => boolean;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function routeTable(deps: RouteTableDeps): Route[] {
  const { config, clock, control, marketCommands, groups, views, engine, queries, volumes, isDiskLow } = deps;
  const { accounts, accountStates, catalog, contracts, keys, openOrderBounds, operators, platform } = control;
  const responses = new MarketResponses(views, volumes);
  const approvalDeps = { approvals: control.approvals, fourEyes: deps.fourEyes, operators };
  const routes: Route[] = [
    ...platformRoutes({ config, platform, contracts, catalog, views, volumes, clock, readiness: deps.readiness }),
    ...metricsRoutes(deps.metrics),
    ...marketRoutes({ catalog, views, responses }),
    ...marketDataRoutes({ catalog, views, clock }),
    ...orderRoutes({ ...deps, accounts, accountStates, catalog, groups, openOrderBounds, isDiskLow }),
    ...heartbeatRoutes(deps.deadMansSwitch),
    ...tradingTimeoutRoutes({ tradingTimeouts: control.tradingTimeouts, clock }),
    ...fundRoutes({ engine, views, catalog, accountStates }),
    ...claimRoutes({ engine, views, catalog, accountStates }),
    ...historyRoutes({ queries }),
    ...streamRoutes({ stream: deps.stream, trustProxy: config.trustProxy }),
    ...adminUserRoutes({ accounts, accountStates, keys, views, clock }),
    ...adminOpenOrderRoutes({ accounts, openOrderBounds }),
    ...adminRestrictionRoutes({ accounts, accountStates, keys, restrictions: deps.restrictions }),
    ...adminFundRoutes({
      ...approvalDeps,
      accounts,
      funding: deps.funding,
      catalog,
      views,
      approvalAboveMicro: config.approvalAboveMicro,
    }),
    ...adminCatalogRoutes({ catalog, views, marketCommands, responses, defaultFeeBps: config.feeBps, clock }),
    ...adminResolutionRoutes({ ...approvalDeps, catalog, views, marketCommands, responses }),
    ...adminPlatformRoutes({
      ...approvalDeps,
      platform,
      contracts,
      rotation: deps.rotation,
      drills: deps.drills,
      shards: control.shards,
      isShardReady: (shard) => engine.isReady(shard),
      isDiskLow,
      feed: deps.feed,
    }),
    ...adminApprovalRoutes(approvalDeps),
    ...adminOperatorRoutes({ operators, clock }),
    ...adminAuditRoutes({ reader: new AuditReader(deps.audit.path, deps.audit), log: deps.audit }),
    ...adminEventRoutes({ feed: deps.feed, stats: deps.stats }),
  ];
  routes.push(...rateLimitRoutes({ limiter: deps.limiter, routes, clock }), ...openApiRoutes(routes));
  return routes;
}
