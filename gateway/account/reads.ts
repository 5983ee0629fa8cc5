/** The queries of read.db about one account. */
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import type { Asker } from '../base/askers.ts';
import type { HistoryPage, Page } from '../base/page.ts';
import type { OfAccount, QueryResult, ReadsOfAccount } from '../base/reads.ts';
import type { KeyedOrder } from '../shardlink/journaledKeys.ts';
import type { AchievementFacts, AchievementsTask, NflPart, NflTask } from './achievementQueries.ts';
import type { ActivityFilters, StoredActivity } from './activityQueries.ts';
import type { StoredMovement } from './fundMovementQueries.ts';
import type { FoundNotifications, NotificationsTask, Occurrence } from './notificationQueries.ts';
import type { OrderFilters } from './orderListsQueries.ts';
import type { PortfolioSlice, PortfolioTask } from './portfolioQueries.ts';
import type { PositionsSlice, PositionsTask } from './positionQueries.ts';
import type { RebatesSlice, RebatesTask } from './rebateQueries.ts';
import type { Earnings, EarningsTask } from './referralQueries.ts';
import type { TradeSettlementRecord } from './settlementQueries.ts';
import type { StatementPage, StatementTask } from './statementQueries.ts';
import type { StatementStart } from './statementStartQueries.ts';
import type { LegacyTradeRecord, TradeFilters, TradeRecord } from './tradeQueries.ts';

export type AccountQueries = {
  achievementFacts(task: AchievementsTask): AchievementFacts;
  earnings(task: EarningsTask): Earnings;
  fundMovements(task: { account: number; limit: number; offset: number }): Page<StoredMovement>;
  hasPosition(task: { account: number; market: number }): boolean;
  notification(task: { account: number; id: Uint8Array }): Occurrence | null;
  notifications(task: NotificationsTask): FoundNotifications;
  portfolioSlice(task: PortfolioTask): PortfolioSlice;
  rebates(task: RebatesTask): RebatesSlice;
  statementPage(task: StatementTask): StatementPage;
  statementStart(task: { account: number; fromMs: number }): StatementStart;
  tradeSettlement(task: { account: number; id: Uint8Array }): TradeSettlementRecord | null;
  userPositions(task: PositionsTask): PositionsSlice;
  /** True if an order whose hash starts with these bytes was accepted, of the account or of any. */
  wasAccepted(task: { account: number; start: Uint8Array; isOwn: boolean }): boolean;
};

export type AccountReads = ReadsOfAccount<AccountQueries> & {
  /** An order of the account in any state; null if it has none with this hash. */
  orderByHash(asker: OfAccount, hash: Uint8Array): Promise<QueryResult<OrderRecord | null>>;
  userOrders(asker: OfAccount, filters: OrderFilters): Promise<QueryResult<HistoryPage<OrderRecordV2>>>;
  /** The newest by creation. */
  newestOrders(asker: OfAccount, limit: number): Promise<QueryResult<OrderRecord[]>>;
  userTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<TradeRecord>>>;
  legacyTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<LegacyTradeRecord>>>;
  userActivity(asker: OfAccount, filters: ActivityFilters): Promise<QueryResult<HistoryPage<StoredActivity>>>;
  /** A part of the ranking of all accounts, which is public. */
  nflPart(asker: Asker, task: NflTask): Promise<QueryResult<NflPart>>;
  /** True if the split or merge with this idempotency key was carried out. */
  convertedWithKey(use: KeyedOrder): Promise<QueryResult<boolean>>;
};
