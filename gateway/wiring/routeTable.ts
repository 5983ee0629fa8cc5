/** The table of routes: the rows of every area, each with the parts of the exchange that its handlers need. */
import type { Readiness, RoleFields } from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { FourEyes } from '../access/fourEyes.ts';
import type { Limiter } from '../access/limiter.ts';
import type { Funding } from '../account/funding.ts';
import type { OAuthStates } from '../account/oauthState.ts';
import type { OidcProvider } from '../account/oidcProvider.ts';
import type { PrivyTokens } from '../account/privyTokens.ts';
import type { Restrictions } from '../account/restrictions.ts';
import { routesOfAccounts } from '../account/routes.ts';
import type { AuthDeps } from '../account/signInDeps.ts';
import type { WalletProofs } from '../account/walletProofs.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { chainMoneyRoutes, comparedChain } from '../chain/adminChainMoneyRoutes.ts';
import { failedTradeRoutes } from '../chain/adminFailedTradesRoutes.ts';
import { chainFundRoutes } from '../chain/chainFundsRoutes.ts';
import type { ContractRotation } from '../chain/contractRotation.ts';
import type { MarketDeployment } from '../chain/deployment.ts';
import { deployRoutes } from '../chain/deployRoutes.ts';
import type { FailedTrades } from '../chain/failedTrades.ts';
import { adminFiatRoutes } from '../fiat/adminFiatRoutes.ts';
import { fiatStatementRoutes } from '../fiat/adminFiatStatementsRoutes.ts';
import type { Fiat } from '../fiat/fiat.ts';
import type { LedgerRail } from '../fiat/ledgerRail.ts';
import { railRoutes } from '../fiat/railRoutes.ts';
import { fiatSessionRoutes } from '../fiat/sessionsRoutes.ts';
import { fiatTransferRoutes } from '../fiat/transfersRoutes.ts';
import { fiatWebhookRoutes } from '../fiat/webhooksRoutes.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import type { Call } from '../http/call.ts';
import { openApiRoutes, openApiText } from '../http/openapiRoutes.ts';
import type { TextsInTurns } from '../http/pieces.ts';
import { rateLimitRoutes } from '../http/rateLimitRoutes.ts';
import type { Route } from '../http/route.ts';
import type { ApprovalDeps } from '../http/secondOperator.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { CatalogueImport } from '../markets/catalogueImport.ts';
import type { MarketCommands } from '../markets/marketCommands.ts';
import { MarketResponses } from '../markets/marketJson.ts';
import { mirrorPair } from '../markets/mirrorPairs.ts';
import { PublicHistory } from '../markets/publicHistory.ts';
import type { ReliedTerms } from '../markets/reliedTerms.ts';
import { routesOfMarkets } from '../markets/routes.ts';
import type { StageCommands } from '../markets/stages.ts';
import type { TickerTexts } from '../markets/summaryTickerTexts.ts';
import type { Volumes } from '../markets/volumes.ts';
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
import type { AuditLog } from '../operator/auditLog.ts';
import { AuditReader } from '../operator/auditReader.ts';
import type { BackupRuns } from '../operator/backupRuns.ts';
import type { ClusterControl } from '../operator/clusterControl.ts';
import type { Drills } from '../operator/drills.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { Metrics } from '../operator/metrics.ts';
import { metricsRoutes } from '../operator/metricsRoutes.ts';
import type { OperationsReport } from '../operator/operations.ts';
import { platformRoutes } from '../operator/platformRoutes.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { Views } from '../shardlink/views.ts';
import { asyncApiDocument } from '../stream/asyncapi.ts';
import type { Stream } from '../stream/stream.ts';
import { streamRoutes } from '../stream/streamRoutes.ts';
import type { Tickets } from '../stream/tickets.ts';
import { adminOpenOrderRoutes } from '../trading/adminOpenOrdersRoutes.ts';
import type { DeadMansSwitch } from '../trading/deadMansSwitch.ts';
import { escrowGrants } from '../trading/escrowGrants.ts';
import type { GroupCommands } from '../trading/groupCommands.ts';
import { heartbeatRoutes } from '../trading/heartbeatRoutes.ts';
import { orderRoutes } from '../trading/ordersRoutes.ts';
import { tradingTimeoutRoutes } from '../trading/tradingTimeoutsRoutes.ts';
import { DocumentFiles } from '../web/docsFiles.ts';
import { documentRoutes } from '../web/docsRoutes.ts';
import type { PageFiles } from '../web/pageFiles.ts';
import { pageRoutes } from '../web/pageRoutes.ts';
import type { Control } from './control.ts';
import type { QueryPool } from './queryPool.ts';

type RouteTableDeps = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Control;
  readonly audit: AuditLog;
  readonly marketCommands: MarketCommands;
  readonly stages: StageCommands;
  readonly terms: ReliedTerms;
  readonly catalogueImport: CatalogueImport;
  readonly funding: Funding;
  readonly restrictions: Restrictions;
  readonly groups: GroupCommands;
  readonly views: Views;
  readonly engine: ShardClient;
  readonly queries: QueryPool;
  readonly volumes: Volumes;
  /** All answers that may be some seconds old by the contract. */
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
  readonly progress: Progress;
  readonly tickers: TickerTexts;
  readonly pageFiles: PageFiles;
  /** True if the data directory is a demo's: its visitors get play money. */
  readonly isDemo: boolean;
  readonly stream: Stream;
  readonly userSessions: Pick<AuthDeps, 'sessions' | 'signIn' | 'accessTokens' | 'pages' | 'areCookiesSecure'> & {
    readonly tickets: Tickets;
    readonly walletProofs: WalletProofs;
    readonly privy: PrivyTokens | null;
    readonly oidc: ReadonlyMap<string, OidcProvider>;
    readonly oauthStates: OAuthStates;
    readonly publicUrl: () => string;
  };
  readonly fiatParts: { readonly fiat: Fiat; readonly ledgerRail: LedgerRail | null };
  readonly limiter: Limiter | null;
  readonly badSignatures: BadSignatures | null;
  readonly deadMansSwitch: DeadMansSwitch;
  readonly rotation: ContractRotation;
  readonly deployment: MarketDeployment;
  readonly fourEyes: FourEyes;
  readonly failedTrades: FailedTrades;
  readonly drills: Drills;
  readonly alertTest: AlertTest;
  readonly backupRuns: BackupRuns;
  readonly feed: AdminFeed;
  /** The metrics are made after the server with this table, because they count its requests. */
  readonly metrics: () => Metrics;
  readonly operations: () => OperationsReport;
  readonly stats: () => object;
  readonly readiness: () => Readiness;
  readonly role: () => RoleFields;
  /** Null without a cluster. */
  readonly cluster: ClusterControl | null;
  readonly settlement: SettlementPort;
  readonly settlementFacts: SettlementFacts;
  readonly isDiskLow: () => boolean;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

export function routeTable(deps: RouteTableDeps): Route[] {
  const { config, clock, control } = deps;
  const { accounts, operators } = control;
  const approvalDeps = { approvals: control.approvals, fourEyes: deps.fourEyes, operators };
  const parts = partsOf(deps);
  const routes: Route[] = [
    ...platformRoutes(parts),
    ...pageRoutes(deps.pageFiles),
    ...metricsRoutes(deps.metrics),
    ...routesOfMarkets(parts),
    ...orderRoutes({ ...parts, accounts: deps.settlement.holdsFunds ? escrowGrants(accounts) : accounts }),
    ...heartbeatRoutes(deps.deadMansSwitch),
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
    ...adminExchangeRoutes(deps, approvalDeps),
    ...adminEventRoutes({ feed: deps.feed, stats: deps.stats }),
  ];
  const { trustProxy } = config;
  routes.push(...rateLimitRoutes({ limiter: deps.limiter, routes, trustProxy, clock }), ...describingRoutes(routes));
  return routes;
}

/** Returns the parts of the exchange by the names that groups of routes have for them. */
function partsOf(deps: RouteTableDeps) {
  const { config, clock, control, views, volumes, queries, sharedAnswers } = deps;
  const { catalog, contracts } = control;
  const responses = new MarketResponses({
    catalog,
    contracts,
    views,
    volumes,
    findPair: mirrorPair,
    onPairFailed: (error) => deps.log.error({ err: error }, 'markets are answered without their mirror pair'),
  });
  return {
    ...control,
    ...deps,
    ...deps.userSessions,
    ...{ responses, views, catalog, clock, queries, sharedAnswers },
    markets: views.markets,
    profiles: control.publicProfiles,
    trustProxy: config.trustProxy,
    defaultFeeBps: config.feeBps,
    approvalAboveMicro: config.approvalAboveMicro,
    comparedChain: () => comparedChain({ ...control, ...deps }),
    publicHistory: config.historyDir === null ? null : new PublicHistory(config.historyDir),
    needsWallet: (wallet: string): boolean => deps.fiatParts.fiat.service.needsWallet(wallet),
  };
}

/** Routes with which administrators run the exchange as a whole, and routes of their own records. */
function adminExchangeRoutes(deps: RouteTableDeps, approvalDeps: ApprovalDeps): Route[] {
  const { control, engine, clock, isDiskLow } = deps;
  const { contracts, operators, platform } = control;
  return [
    ...adminPlatformRoutes({
      ...approvalDeps,
      platform,
      settlement: deps.settlement,
      settlementFacts: deps.settlementFacts,
      contracts,
      rotation: deps.rotation,
      drills: deps.drills,
      alertTest: deps.alertTest,
      shards: control.shards,
      isShardReady: (shard) => engine.isReady(shard),
      isDiskLow,
      feed: deps.feed,
      views: deps.views,
    }),
    ...adminBackupRoutes(deps),
    ...adminApprovalRoutes(approvalDeps),
    ...adminOperatorRoutes({ operators, approvals: approvalDeps.approvals, clock }),
    ...adminOperationsRoutes(deps.operations),
    ...adminClusterRoutes(deps),
    ...adminAuditRoutes({ reader: new AuditReader(deps.audit.path, deps.audit), log: deps.audit }),
  ];
}

/** Routes of cashing in and out. */
function fiatRoutes({ fiatParts, control, config, clock, limiter, badSignatures }: RouteTableDeps): Route[] {
  const { fiat, ledgerRail } = fiatParts;
  const { accounts, accountStates } = control;
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
