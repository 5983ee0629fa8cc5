/** The types of the HTTP interface, as they follow from its schemas (shared/api). */
export type {
  AccountStateName,
  ApiKeyList,
  Balances,
  CancelledTimeout,
  ClaimResponse,
  Delegate,
  Delegates,
  FullSets,
  FundMovement,
  IssuedApiKey,
  Ledger,
  NewApiKey,
  NewMovement,
  NewTimeout,
  NewUser,
  Preferences,
  Profile,
  ProfileWithBalance,
  RateLimit,
  RateLimits,
  Redeemable,
  Redeemables,
  Referral,
  Restricted,
  RotatedApiKey,
  Scope,
  TierName,
  TradingTimeout,
  UserPage,
  Wallets,
} from '../api/accounts.ts';
export type { Approval, Approvals, ApprovalsQuery } from '../api/approvals.ts';
export type { AuditPage, AuditQuery, AuditRecord } from '../api/audit.ts';
export type { BackupOrder, BackupReport } from '../api/backups.ts';
export type { Book, BookLevel, BookOfOrders, BookOrder, BookSides, BothBooks } from '../api/books.ts';
export type { BrowsedEvents, BrowsedQuotes, BrowseQuery } from '../api/browse.ts';
export type { Candle, Candles, CandlesQuery } from '../api/candles.ts';
export type { CatalogueLine, ImportReport, LineReport } from '../api/catalogue.ts';
export type { DepositAuthorization, NewWithdrawal } from '../api/chainFunds.ts';
export type { WaitingMoney, WaitingMoneyQuery } from '../api/chainMoney.ts';
export type { ClusterState, HandedOver } from '../api/cluster.ts';
export type {
  EventSet,
  EventsQuery,
  EventView,
  EventWithMarkets,
  ImpliedPrice,
  LiveScore,
  MarketEvent,
  MarketEvents,
  NewEvent,
  NewEventSet,
  NewScore,
  RelatedMarkets,
  SetConversion,
  SetConverted,
  SetResolution,
} from '../api/events.ts';
export type { FailedTrades, FailedTradesQuery, MendedTrade } from '../api/failedTrades.ts';
export type {
  CreatedFiatSession,
  FiatKind,
  FiatSessionPage,
  FiatSessionRecord,
  FiatStatus,
  FiatTransaction,
  FiatTransfer,
  LaunchToken,
  OperatedFiatSession,
  OperatedFiatSessions,
} from '../api/fiat.ts';
export type { FiatDifference, FiatDifferences, StatementBody, StatementReport } from '../api/fiatStatements.ts';
export type {
  Activity,
  LegacyUserOrders,
  LegacyUserTrade,
  LegacyUserTrades,
  LegacyUserTradesQuery,
  Page,
  TradeSettlement,
  UserActivity,
  UserActivityQuery,
  UserOrder,
  UserOrders,
  UserOrdersQuery,
  UserTrade,
  UserTrades,
  UserTradesQuery,
} from '../api/history.ts';
export type { Leaderboard, Pulse } from '../api/leaderboards.ts';
export type {
  AccountMovement,
  FundMovements,
  FundMovementsQuery,
  Statement,
  StatementEntry,
  StatementQuery,
} from '../api/ledger.ts';
export type {
  Bbo,
  Bbos,
  CatalogMetadata,
  FeeRate,
  Market,
  MarketDeployment,
  MarketPatch,
  MarketStatusName,
  Markets,
  MarketsQuery,
  NewMarket,
  Payouts,
  Resolution,
  SplitParams,
  SportsTaxonomy,
  TickSize,
} from '../api/markets.ts';
export type {
  Achievement,
  Achievements,
  Notification,
  NotificationRead,
  Notifications,
  NotificationsMarked,
  NotificationsQuery,
  NotificationType,
  Unread,
} from '../api/notifications.ts';
export type { Operations } from '../api/operations.ts';
export type { IssuedOperator, NewOperator, Operator, OperatorRole, Operators } from '../api/operators.ts';
export type {
  AmendResponse,
  BatchCancelResponse,
  BatchPlaceResponse,
  CancelAllResponse,
  CancelMarketResponse,
  CancelReplaceResponse,
  Fill,
  HeartbeatResponse,
  MatchTypeName,
  Message,
  OpenOrders,
  OpenOrdersQuery,
  OrderGroup,
  OrderGroupSettings,
  OrderGroups,
  OrderRecord,
  OrderStatusName,
  PlacedRow,
  PlacementBody,
  PlacementResponse,
  QueuePosition,
  SelfTradeName,
  SideName,
  TimeInForceName,
  TombstoneResponse,
} from '../api/orders.ts';
export type {
  ActiveDrills,
  AlertTestAnswer,
  ChainHealth,
  DrillName,
  Health,
  NewContracts,
  PlatformConfig,
  PlatformContracts,
  PlatformStatus,
  Readiness,
  ServerTime,
} from '../api/platform.ts';
export type { MarketHolders, Pnl24h, Position, Positions, PositionsQuery } from '../api/positions.ts';
export type { Indication, NewIndication } from '../api/quotes.ts';
export type { Earnings, EarningsQuery, MarketRebate, Rebates, RebatesQuery } from '../api/rewards.ts';
export type {
  AdminSessions,
  OwnSessions,
  RevokedSessions,
  SessionAnswer,
  SessionMessage,
  WalletMessage,
} from '../api/sessions.ts';
export type { EventStages, PlatformStages, StageStep } from '../api/stages.ts';
export type { MarketTrades, PriceHistory, RecentFills } from '../api/statistics.ts';
export type { Ticker, Tickers } from '../api/tickers.ts';
export type { NonceFloor, RaisedNonceFloor, StepUp, WalletDelegates } from '../api/wallets.ts';
export type { StageName } from '../base/codes.ts';
