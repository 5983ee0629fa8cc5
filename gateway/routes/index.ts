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
import { achievementRoutes } from './account/achievements.ts';
import { chainFundRoutes } from './account/chainFunds.ts';
import { claimRoutes } from './account/claims.ts';
import { demoFundRoutes } from './account/demoFunds.ts';
import { fundMovementRoutes } from './account/fundMovements.ts';
import { fundRoutes } from './account/funds.ts';
import { historyRoutes } from './account/history.ts';
import { notificationRoutes } from './account/notifications.ts';
import { pnlRoutes } from './account/pnl.ts';
import { positionRoutes } from './account/positions.ts';
import { profileRoutes } from './account/profile.ts';
import { publicProfileRoutes } from './account/publicProfile.ts';
import { rateLimitRoutes } from './account/rateLimits.ts';
import { rewardRoutes } from './account/rewards.ts';
import { statementRoutes } from './account/statement.ts';
import { tradingTimeoutRoutes } from './account/tradingTimeouts.ts';
import { adminApprovalRoutes } from './admin/approvals.ts';
import { adminAuditRoutes } from './admin/audit.ts';
import { adminBackupRoutes } from './admin/backups.ts';
import { adminCatalogRoutes } from './admin/catalog.ts';
import { catalogueFileRoutes } from './admin/catalogueFiles.ts';
import { chainMoneyRoutes, comparedChain } from './admin/chainMoney.ts';
import { adminClusterRoutes } from './admin/cluster.ts';
import { failedTradeRoutes } from './admin/failedTrades.ts';
import { adminEventRoutes } from './admin/feed.ts';
import { adminFiatRoutes } from './admin/fiat.ts';
import { fiatStatementRoutes } from './admin/fiatStatements.ts';
import { adminFundRoutes } from './admin/funds.ts';
import { adminOpenOrderRoutes } from './admin/openOrders.ts';
import { adminOperationsRoutes } from './admin/operations.ts';
import { adminOperatorRoutes } from './admin/operators.ts';
import { adminPlatformRoutes } from './admin/platform.ts';
import { adminRebateRoutes } from './admin/rebates.ts';
import { adminResolutionRoutes } from './admin/resolution.ts';
import { adminRestrictionRoutes } from './admin/restrictions.ts';
import { adminScoreRoutes } from './admin/scores.ts';
import { adminSessionRoutes } from './admin/sessions.ts';
import { adminStageRoutes } from './admin/stages.ts';
import { adminUserRoutes } from './admin/users.ts';
import type { AuthDeps } from './auth/deps.ts';
import { nonceFloorRoutes } from './auth/nonceFloors.ts';
import { oauthRoutes } from './auth/oauth.ts';
import { privyRoutes } from './auth/privy.ts';
import { sessionRoutes } from './auth/sessions.ts';
import { walletSignInRoutes } from './auth/wallet.ts';
import { walletRoutes } from './auth/wallets.ts';
import { railRoutes } from './fiat/rail.ts';
import { fiatSessionRoutes } from './fiat/sessions.ts';
import { fiatTransferRoutes } from './fiat/transfers.ts';
import { fiatWebhookRoutes } from './fiat/webhooks.ts';
import type { ApprovalDeps } from './json/approval.ts';
import { MarketResponses } from './json/market.ts';
import { browseRoutes } from './public/browse.ts';
import { candleRoutes } from './public/candles.ts';
import { catalogListRoutes } from './public/catalogLists.ts';
import { documentRoutes } from './public/docs.ts';
import { eventViewRoutes } from './public/eventView.ts';
import { marketDataRoutes } from './public/marketData.ts';
import { marketRoutes } from './public/markets.ts';
import { metricsRoutes } from './public/metrics.ts';
import { openApiRoutes, openApiText } from './public/openapi.ts';
import { pageRoutes } from './public/page.ts';
import { platformRoutes } from './public/platform.ts';
import { probabilityRoutes } from './public/probabilities.ts';
import { relatedRoutes } from './public/related.ts';
import { exchangeStatisticsRoutes } from './public/statisticsExchange.ts';
import { recentFillRoutes } from './public/statisticsFills.ts';
import { leaderboardRoutes } from './public/statisticsLeaderboard.ts';
import { marketHistoryRoutes } from './public/statisticsMarkets.ts';
import { streamRoutes } from './public/stream.ts';
import { tickerRoutes } from './public/tickers.ts';
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
  const { config, clock, control, marketCommands, groups, views, queries, volumes, texts, isDiskLow } = deps;
  const { accounts, accountStates, catalog, contracts, keys, liveScores, openOrderBounds, operators, platform } =
    control;
  const responses = new MarketResponses({
    catalog,
    contracts,
    views,
    volumes,
    findPair: mirrorPair,
    onPairFailed: (error) => deps.log.error({ err: error }, 'markets are answered without their mirror pair'),
  });
  const placers = deps.chain === null ? accounts : escrowGrants(accounts);
  const approvalDeps = { approvals: control.approvals, fourEyes: deps.fourEyes, operators };
  const authDeps = { ...deps, ...deps.userSessions, accounts, accountStates, trustProxy: config.trustProxy };
  const needsWallet = (wallet: string): boolean => deps.fiatParts.fiat.service.needsWallet(wallet);
  const routes: Route[] = [
    ...platformRoutes({ ...deps, platform, contracts, catalog }),
    ...pageRoutes(deps.pageFiles),
    ...metricsRoutes(deps.metrics),
    ...catalogListRoutes({ catalog, views, responses, queries, sharedAnswers: deps.sharedAnswers, texts }),
    ...marketRoutes({ catalog, views, responses }),
    ...browseRoutes({ ...deps, catalog, indications: control.indications, responses, texts }),
    ...eventViewRoutes({ catalog, responses, liveScores }),
    ...relatedRoutes({ catalog, views, responses }),
    ...probabilityRoutes({ ...deps, catalog, isOnChain: deps.chain !== null }),
    ...marketDataRoutes({ catalog, views, clock }),
    ...marketHistoryRoutes({ catalog, views, queries }),
    ...candleRoutes({ catalog, views, queries, clock }),
    ...tickerRoutes({ ...deps, catalog }),
    ...recentFillRoutes({ catalog, profiles: control.publicProfiles, queries, sharedAnswers: deps.sharedAnswers }),
    ...exchangeStatisticsRoutes({ ...deps, onlineAccounts: control.onlineAccounts }),
    ...leaderboardRoutes({ ...deps, profiles: control.publicProfiles }),
    ...orderRoutes({ ...deps, accounts: placers, accountStates, catalog, groups, openOrderBounds, isDiskLow }),
    ...heartbeatRoutes(deps.deadMansSwitch),
    ...accountRoutes(deps),
    ...fiatRoutes(deps),
    ...deployRoutes({ catalog, views, contracts, deployment: deps.deployment }),
    ...sessionRoutes(authDeps, control.sessionKeys),
    ...walletSignInRoutes(authDeps),
    ...walletRoutes({ ...authDeps, restrictions: deps.restrictions, chain: deps.chain, needsWallet }),
    ...nonceFloorRoutes({ ...deps, accounts, nonceFloors: control.nonceFloors }),
    ...providerRoutes(authDeps),
    ...streamRoutes({ stream: deps.stream, tickets: deps.userSessions.tickets, trustProxy: config.trustProxy, clock }),
    ...adminUserRoutes({ accounts, accountStates, keys, views, clock, chain: deps.chain }),
    ...adminSessionRoutes({ accounts, sessions: deps.userSessions.sessions, clock }),
    ...adminOpenOrderRoutes({ accounts, openOrderBounds }),
    ...adminRestrictionRoutes({ accounts, accountStates, keys, restrictions: deps.restrictions, needsWallet }),
    ...adminFundRoutes({
      texts,
      ...approvalDeps,
      accounts,
      funding: deps.funding,
      catalog,
      views,
      approvalAboveMicro: config.approvalAboveMicro,
      isOnChain: deps.chainLink !== null,
      comparedChain: () => comparedChain({ ...deps, accounts, catalog }),
    }),
    ...chainMoneyRoutes({ chainLink: deps.chainLink }),
    ...failedTradeRoutes({ ...approvalDeps, accounts, catalog, failedTrades: deps.failedTrades }),
    ...adminRebateRoutes({ catalog, views, rebateRates: control.rebateRates, clock }),
    ...adminCatalogRoutes({ ...deps, ...approvalDeps, catalog, responses, defaultFeeBps: config.feeBps }),
    ...adminScoreRoutes({ catalog, views, liveScores, indications: control.indications, clock }),
    ...catalogueFileRoutes({ catalog, views, catalogueImport: deps.catalogueImport }),
    ...adminStageRoutes({ catalog, views, responses, stages: deps.stages, feed: deps.feed }),
    ...adminResolutionRoutes({ ...approvalDeps, catalog, views, marketCommands, responses }),
    ...adminExchangeRoutes(deps, approvalDeps),
    ...adminEventRoutes({ feed: deps.feed, stats: deps.stats }),
  ];
  const { trustProxy } = config;
  routes.push(...rateLimitRoutes({ limiter: deps.limiter, routes, trustProxy, clock }), ...describingRoutes(routes));
  return routes;
}

/** Sign-in with those who vouch for people. */
function providerRoutes(deps: Parameters<typeof privyRoutes>[0] & Parameters<typeof oauthRoutes>[0]): Route[] {
  return [...privyRoutes(deps), ...oauthRoutes(deps)];
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

/** The routes by which an account reads and changes what is its own, orders apart. */
function accountRoutes(deps: RouteTableDeps): Route[] {
  const { isDemo, control, funding, views, engine, queries, clock, isDiskLow, chain, chainBounds, onError } = deps;
  const { accounts, accountStates, catalog, claimMarks, movements, publicProfiles, tradingTimeouts } = control;
  return [
    ...notificationRoutes({ ...control, views, queries, clock }),
    ...achievementRoutes({ ...control, queries, clock, isDiskLow }),
    ...profileRoutes({ accounts, accountStates }),
    ...publicProfileRoutes({ profiles: publicProfiles }),
    ...tradingTimeoutRoutes({ tradingTimeouts, clock }),
    ...demoFundRoutes({ isDemo, funding }),
    ...chainFundRoutes({ ...control, funding, views, clock, chainLink: deps.chainLink, chainBounds }),
    ...fundRoutes({ engine, views, catalog, accountStates, queries, chainBounds, onError }),
    ...claimRoutes({ engine, views, catalog, accountStates, claimMarks, chain }),
    ...pnlRoutes({ queries, views, engine, clock, sharedAnswers: deps.sharedAnswers, shards: control.shards }),
    ...positionRoutes({ accounts, catalog, views, queries, claimMarks, chain }),
    ...statementRoutes({ queries, movements, markets: views.markets, clock }),
    ...fundMovementRoutes({ queries, movements }),
    ...rewardRoutes({ queries, accounts, rebateRates: control.rebateRates }),
    ...historyRoutes({ queries, catalog }),
  ];
}
