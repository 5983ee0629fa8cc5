/** The table of routes: every area's rows, each with the parts of the exchange that its handlers need. */
import type { Readiness, RoleFields } from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { AuditLog } from '../audit/log.ts';
import { AuditReader } from '../audit/reader.ts';
import { mirrorPair } from '../catalogue/mirrorPairs.ts';
import type { ChainFacts } from '../chain/facts.ts';
import type { ChainHealth } from '../chain/health.ts';
import type { ChainLink } from '../chain/link.ts';
import { DocumentFiles } from '../docs/files.ts';
import type { Fiat } from '../fiat/fiat.ts';
import type { LedgerRail } from '../fiat/ledgerRail.ts';
import type { Call } from '../http/call.ts';
import type { TextsInTurns } from '../http/pieces.ts';
import type { Route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AlertTest } from '../operator/alertTest.ts';
import type { FourEyes } from '../operator/approvals.ts';
import type { BackupRuns } from '../operator/backupRuns.ts';
import type { CatalogueImport } from '../operator/catalogueImport.ts';
import type { ChainBounds } from '../operator/chainBounds.ts';
import type { ClusterControl } from '../operator/clusterControl.ts';
import type { ContractRotation } from '../operator/contractRotation.ts';
import type { MarketDeployment } from '../operator/deployment.ts';
import type { Drills } from '../operator/drills.ts';
import type { FailedTrades } from '../operator/failedTrades.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { Funding } from '../operator/funding.ts';
import type { MarketCommands } from '../operator/markets.ts';
import type { Metrics } from '../operator/metrics.ts';
import type { OperationsReport } from '../operator/operations.ts';
import type { ReliedTerms } from '../operator/reliedTerms.ts';
import type { Restrictions } from '../operator/restrictions.ts';
import type { StageCommands } from '../operator/stages.ts';
import type { PageFiles } from '../page/files.ts';
import type { Config } from '../process/config.ts';
import type { Logger } from '../process/log.ts';
import type { QueryPool } from '../queries/pool.ts';
import type { Volumes } from '../queries/volumes.ts';
import type { OAuthStates } from '../sessions/oauthState.ts';
import type { OidcProvider } from '../sessions/oidcProvider.ts';
import type { PrivyTokens } from '../sessions/privyTokens.ts';
import type { Tickets } from '../sessions/tickets.ts';
import type { WalletProofs } from '../sessions/walletProofs.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { Control } from '../store/control.ts';
import { asyncApiDocument } from '../stream/socket/asyncapi.ts';
import type { Stream } from '../stream/socket/stream.ts';
import type { TickerTexts } from '../stream/summary/tickerTexts.ts';
import type { BadSignatures } from '../trading/badSignatures.ts';
import type { DeadMansSwitch } from '../trading/deadMansSwitch.ts';
import { escrowGrants } from '../trading/escrowGrants.ts';
import type { GroupCommands } from '../trading/groupCommands.ts';
import type { Views } from '../views/index.ts';
import { chainFundRoutes } from './account/chainFunds.ts';
import { rateLimitRoutes } from './account/rateLimits.ts';
import { tradingTimeoutRoutes } from './account/tradingTimeouts.ts';
import { adminApprovalRoutes } from './admin/approvals.ts';
import { adminAuditRoutes } from './admin/audit.ts';
import { adminBackupRoutes } from './admin/backups.ts';
import { chainMoneyRoutes, comparedChain } from './admin/chainMoney.ts';
import { adminClusterRoutes } from './admin/cluster.ts';
import { failedTradeRoutes } from './admin/failedTrades.ts';
import { adminEventRoutes } from './admin/feed.ts';
import { adminFiatRoutes } from './admin/fiat.ts';
import { fiatStatementRoutes } from './admin/fiatStatements.ts';
import { adminOpenOrderRoutes } from './admin/openOrders.ts';
import { adminOperationsRoutes } from './admin/operations.ts';
import { adminOperatorRoutes } from './admin/operators.ts';
import { adminPlatformRoutes } from './admin/platform.ts';
import { adminRestrictionRoutes } from './admin/restrictions.ts';
import { adminUserRoutes } from './admin/users.ts';
import type { AuthDeps } from './auth/deps.ts';
import { railRoutes } from './fiat/rail.ts';
import { fiatSessionRoutes } from './fiat/sessions.ts';
import { fiatTransferRoutes } from './fiat/transfers.ts';
import { fiatWebhookRoutes } from './fiat/webhooks.ts';
import type { ApprovalDeps } from './json/approval.ts';
import { MarketResponses } from './json/market.ts';
import { documentRoutes } from './public/docs.ts';
import { metricsRoutes } from './public/metrics.ts';
import { openApiRoutes, openApiText } from './public/openapi.ts';
import { pageRoutes } from './public/page.ts';
import { platformRoutes } from './public/platform.ts';
import { streamRoutes } from './public/stream.ts';
import { routesOfAccounts } from './routesOfAccounts.ts';
import { routesOfMarkets } from './routesOfMarkets.ts';
import { deployRoutes } from './trading/deploying.ts';
import { heartbeatRoutes } from './trading/heartbeat.ts';
import { orderRoutes } from './trading/orders.ts';

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
  readonly areFloorsKnownEverywhere: () => boolean;
  readonly groups: GroupCommands;
  readonly views: Views;
  readonly engine: ShardClient;
  readonly queries: QueryPool;
  readonly volumes: Volumes;
  /** Every answer that the contract lets be some seconds old. */
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
  readonly tickers: TickerTexts;
  readonly pageFiles: PageFiles;
  /** The data directory is a demo's: its visitors get play money. */
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
  /** Made after the server that has this table, whose requests they count. */
  readonly metrics: () => Metrics;
  readonly operations: () => OperationsReport;
  readonly stats: () => object;
  readonly readiness: () => Readiness;
  readonly role: () => RoleFields;
  /** Null without a cluster. */
  readonly cluster: ClusterControl | null;
  /** Null without a chain. */
  readonly chainHealth: ChainHealth | null;
  readonly chainBounds: ChainBounds | null;
  readonly chainLink: ChainLink | null;
  readonly chain: ChainFacts | null;
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
    ...orderRoutes({ ...parts, accounts: deps.chain === null ? accounts : escrowGrants(accounts) }),
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

/** The parts of the exchange by the names that groups of routes have for them. */
function partsOf(deps: RouteTableDeps) {
  const { config, clock, control, views, volumes, chainLink, queries, sharedAnswers } = deps;
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
    isOnChain: chainLink !== null,
    comparedChain: () => comparedChain({ ...control, ...deps }),
    needsWallet: (wallet: string): boolean => deps.fiatParts.fiat.service.needsWallet(wallet),
  };
}

/** The exchange as a whole in the hands of administrators, and their own records. */
function adminExchangeRoutes(deps: RouteTableDeps, approvalDeps: ApprovalDeps): Route[] {
  const { control, engine, clock, isDiskLow } = deps;
  const { contracts, operators, platform } = control;
  return [
    ...adminPlatformRoutes({
      ...approvalDeps,
      platform,
      chain: deps.chain,
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

/** Cashing in and out. */
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

/** The routes that describe the others. */
function describingRoutes(routes: readonly Route[]): Route[] {
  const openApi = openApiText(routes);
  const documents = new DocumentFiles(async () => {
    return { openApi: String(await openApi()), asyncApi: JSON.stringify(asyncApiDocument()) };
  });
  return [...openApiRoutes(openApi), ...documentRoutes(documents)];
}
