/** The queries of read.db about one account. */
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import type { AchievementFacts, AchievementsTask, NflPart, NflTask } from './achievements.ts';
import type { ActivityFilters, StoredActivity } from './activity.ts';
import type { Asker } from './askers.ts';
import type { StoredMovement } from './fundMovements.ts';
import type { KeyedOrder } from './journaledKeys.ts';
import type { FoundNotifications, NotificationsTask, Occurrence } from './notifications.ts';
import type { OrderFilters } from './orderLists.ts';
import type { HistoryPage, Page } from './page.ts';
import type { PortfolioSlice, PortfolioTask } from './portfolio.ts';
import type { PositionsSlice, PositionsTask } from './positions.ts';
import type { OfAccount, QueryResult, ReadsOfAccount } from './reads.ts';
import type { RebatesSlice, RebatesTask } from './rebates.ts';
import type { Earnings, EarningsTask } from './referrals.ts';
import type { TradeSettlementRecord } from './settlement.ts';
import type { StatementPage, StatementTask } from './statement.ts';
import type { StatementStart } from './statementStart.ts';
import type { LegacyTradeRecord, TradeFilters, TradeRecord } from './trades.ts';

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
};

export type AccountReads = ReadsOfAccount<AccountQueries> & {
  /** An order of the account in whatever state, null when it has none with this hash. */
  orderByHash(asker: OfAccount, hash: Uint8Array): Promise<QueryResult<OrderRecord | null>>;
  userOrders(asker: OfAccount, filters: OrderFilters): Promise<QueryResult<HistoryPage<OrderRecordV2>>>;
  /** The newest by creation. */
  newestOrders(asker: OfAccount, limit: number): Promise<QueryResult<OrderRecord[]>>;
  userTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<TradeRecord>>>;
  legacyTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<LegacyTradeRecord>>>;
  userActivity(asker: OfAccount, filters: ActivityFilters): Promise<QueryResult<HistoryPage<StoredActivity>>>;
  /** A part of the ranking of all accounts, which is public. */
  nflPart(asker: Asker, task: NflTask): Promise<QueryResult<NflPart>>;
  /** True if the split or merge with this key was carried out. */
  convertedWithKey(use: KeyedOrder): Promise<QueryResult<boolean>>;
};
