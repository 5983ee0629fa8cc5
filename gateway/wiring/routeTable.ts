/** The table of routes: the rows of every area, each with the parts of the exchange that its handlers need. */

import type { Readiness } from '../../shared/api/platform.ts';
import type { Limiter } from '../access/limiter.ts';
import { routesOfAccounts } from '../account/routes.ts';
import { chainMoneyRoutes, comparedChain } from '../chain/adminChainMoneyRoutes.ts';
import { failedTradeRoutes } from '../chain/adminFailedTradesRoutes.ts';
import { chainFundRoutes } from '../chain/chainFundsRoutes.ts';
import { deployRoutes } from '../chain/deployRoutes.ts';
import { adminFiatRoutes } from '../fiat/adminFiatRoutes.ts';
import { fiatStatementRoutes } from '../fiat/adminFiatStatementsRoutes.ts';
import { railRoutes } from '../fiat/railRoutes.ts';
import { fiatSessionRoutes } from '../fiat/sessionsRoutes.ts';
import { fiatTransferRoutes } from '../fiat/transfersRoutes.ts';
import { fiatWebhookRoutes } from '../fiat/webhooksRoutes.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import { openApiRoutes, openApiText } from '../http/openapiRoutes.ts';
import { TextsInTurns } from '../http/pieces.ts';
import { rateLimitRoutes } from '../http/rateLimitRoutes.ts';
import type { Route } from '../http/route.ts';
import { SharedAnswers } from '../http/sharedAnswers.ts';
import { MarketResponses } from '../markets/marketJson.ts';
import { mirrorPair } from '../markets/mirrorPairs.ts';
import { PublicHistory } from '../markets/publicHistory.ts';
import { routesOfMarkets } from '../markets/routes.ts';
import { adminApprovalRoutes } from '../operator/adminApprovalsRoutes.ts';
import { adminAuditRoutes } from '../operator/adminAuditRoutes.ts';
import { adminBackupRoutes } from '../operator/adminBackupsRoutes.ts';
import { adminClusterRoutes } from '../operator/adminClusterRoutes.ts';
import { adminEventRoutes } from '../operator/adminFeedRoutes.ts';
import { adminOperationsRoutes } from '../operator/adminOperationsRoutes.ts';
import { adminOperatorRoutes } from '../operator/adminOperatorsRoutes.ts';
import { adminPlatformRoutes } from '../operator/adminPlatformRoutes.ts';
import { adminRestrictionRoutes } from '../operator/adminRestrictionsRoutes.ts';
import { adminUserRoutes } from '../operator/adminUsersRoutes.ts';
import type { AlertTest } from '../operator/alertTest.ts';
import { AuditReader } from '../operator/auditReader.ts';
import type { BackupRuns } from '../operator/backupRuns.ts';
import type { Drills } from '../operator/drills.ts';
import type { Metrics } from '../operator/metrics.ts';
import { metricsRoutes } from '../operator/metricsRoutes.ts';
import type { OperationsReport } from '../operator/operations.ts';
import { platformRoutes } from '../operator/platformRoutes.ts';
import { SettlementFacts } from '../shardlink/settlementFacts.ts';
import { asyncApiDocument } from '../stream/asyncapi.ts';
import type { Stream } from '../stream/stream.ts';
import { streamRoutes } from '../stream/streamRoutes.ts';
import { adminOpenOrderRoutes } from '../trading/adminOpenOrdersRoutes.ts';
import { escrowGrants } from '../trading/escrowGrants.ts';
import { heartbeatRoutes } from '../trading/heartbeatRoutes.ts';
import { orderRoutes } from '../trading/ordersRoutes.ts';
import { tradingTimeoutRoutes } from '../trading/tradingTimeoutsRoutes.ts';
import { DocumentFiles } from '../web/docsFiles.ts';
import { documentRoutes } from '../web/docsRoutes.ts';
import type { PageFiles } from '../web/pageFiles.ts';
import { pageRoutes } from '../web/pageRoutes.ts';
import type { EdgeOptions } from './edgeOptions.ts';
import type { FiatParts } from './fiat.ts';
import type { UserSessions } from './userSessions.ts';

/** The parts that were opened before the edge, and those of the edge itself. */
type RouteTableDeps = EdgeOptions & {
  readonly stream: Stream;
  readonly userSessions: UserSessions;
  readonly fiatParts: FiatParts;
  readonly limiter: Limiter | null;
  readonly badSignatures: BadSignatures | null;
  readonly drills: Drills;
  readonly alertTest: AlertTest;
  readonly backupRuns: BackupRuns;
  readonly pageFiles: PageFiles;
  /** True if the data directory is a demo's: its visitors get play money. */
  readonly isDemo: boolean;
  /** The metrics are made after the server with this table, because they count its requests. */
  readonly metrics: () => Metrics;
  readonly operations: () => OperationsReport;
  readonly stats: () => object;
  readonly readiness: () => Readiness;
  readonly isDiskLow: () => boolean;
};

export function routeTable(deps: RouteTableDeps): Route[] {
  const { config, clock, stores, settlement } = deps;
  const { accounts } = stores.control;
  const parts = partsOf(deps);
  const routes: Route[] = [
    ...platformRoutes(parts),
    ...pageRoutes(deps.pageFiles),
    ...metricsRoutes(deps.metrics),
    ...routesOfMarkets(parts),
    ...orderRoutes({ ...parts, accounts: settlement.port.holdsFunds ? escrowGrants(accounts) : accounts }),
    ...heartbeatRoutes(parts.deadMansSwitch),
    ...tradingTimeoutRoutes(parts),
    ...adminOpenOrderRoutes(parts),
    ...routesOfAccounts(parts),
    ...fiatRoutes(deps),
    ...deployRoutes(parts),
    ...chainFundRoutes(parts),
    ...chainMoneyRoutes(parts),
    ...failedTradeRoutes(parts),
    ...streamRoutes(parts),
    ...adminUserRoutes(parts),
    ...adminRestrictionRoutes(parts),
    ...adminPlatformRoutes(parts),
    ...adminBackupRoutes(parts),
    ...adminApprovalRoutes(parts),
    ...adminOperatorRoutes(parts),
    ...adminOperationsRoutes(deps.operations),
    ...adminClusterRoutes(parts),
    ...adminAuditRoutes({ reader: new AuditReader(stores.audit.path, stores.audit), log: stores.audit }),
    ...adminEventRoutes(parts),
  ];
  const { trustProxy } = config;
  routes.push(...rateLimitRoutes({ limiter: deps.limiter, routes, trustProxy, clock }), ...describingRoutes(routes));
  return routes;
}

/** Returns the parts of the exchange by the names that groups of routes have for them. */
function partsOf(deps: RouteTableDeps) {
  const { config, clock, log, stores, trading, settlement, member, fiatParts } = deps;
  const { control, views, volumes, queries, progress, audit } = stores;
  const { catalog, contracts } = control;
  const settlementFacts = new SettlementFacts(settlement.port);
  return {
    ...control,
    ...trading,
    ...deps,
    ...deps.userSessions,
    ...{ clock, audit, catalog, views, volumes, queries, progress, settlementFacts },
    settlement: settlement.port,
    responses: new MarketResponses({
      ...{ catalog, contracts, views, volumes },
      findPair: mirrorPair,
      onPairFailed: (error) => log.error({ err: error }, 'markets are answered without their mirror pair'),
    }),
    sharedAnswers: new SharedAnswers(clock, undefined, member),
    texts: new TextsInTurns(() => trading.link.inFlight > 0),
    tickers: trading.feeds.summaries.tickers.texts,
    markets: views.markets,
    profiles: control.publicProfiles,
    trustProxy: config.trustProxy,
    defaultFeeBps: config.feeBps,
    approvalAboveMicro: config.approvalAboveMicro,
    role: () => member?.fields ?? {},
    isShardReady: (shard: number): boolean => trading.engine.isReady(shard),
    comparedChain: () => comparedChain({ ...control, settlement: settlement.port }),
    publicHistory: config.historyDir === null ? null : new PublicHistory(config.historyDir),
    needsWallet: (wallet: string): boolean => fiatParts.fiat.service.needsWallet(wallet),
  };
}

/** Routes of cashing in and out. */
function fiatRoutes({ fiatParts, stores, config, clock, limiter, badSignatures }: RouteTableDeps): Route[] {
  const { fiat, ledgerRail } = fiatParts;
  const { accounts, accountStates } = stores.control;
  const common = { ...fiat, accounts, accountStates, trustProxy: config.trustProxy, clock };
  return [
    ...fiatSessionRoutes(common),
    ...fiatTransferRoutes(common),
    ...fiatWebhookRoutes(common),
    ...railRoutes({ rail: fiat.rail, ledgerRail, accounts, config, clock, limiter, badSignatures }),
    ...adminFiatRoutes({ fiat, accounts, clock }),
    ...fiatStatementRoutes({ fiat, accounts, clock }),
  ];
}

/** Routes that describe the other routes. */
function describingRoutes(routes: readonly Route[]): Route[] {
  const openApi = openApiText(routes);
  const documents = new DocumentFiles(async () => {
    return { openApi: String(await openApi()), asyncApi: JSON.stringify(asyncApiDocument()) };
  });
  return [...openApiRoutes(openApi), ...documentRoutes(documents)];
}
