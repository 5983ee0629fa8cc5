/** The queries about one account, prepared on a connection to read.db by a thread of the pool. */
import type Database from 'better-sqlite3';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import type { HistoryPage } from '../base/page.ts';
import { AchievementQueries, type NflPart, type NflTask } from './achievementQueries.ts';
import { type ActivityFilters, ActivityQueries, type StoredActivity } from './activityQueries.ts';
import { FundMovementQueries } from './fundMovementQueries.ts';
import { NotificationQueries } from './notificationQueries.ts';
import { type OrderFilters, OrderLists } from './orderListsQueries.ts';
import { OrderQueries, type StoredOrder } from './orderQueries.ts';
import { PortfolioQueries } from './portfolioQueries.ts';
import { PositionQueries } from './positionQueries.ts';
import type { AccountQueries } from './reads.ts';
import { RebateQueries } from './rebateQueries.ts';
import { ReferralQueries } from './referralQueries.ts';
import { ChainSettlements, LEDGER_SETTLEMENTS } from './settlementQueries.ts';
import { StatementQueries } from './statementQueries.ts';
import { StatementStartQueries } from './statementStartQueries.ts';
import { type LegacyTradeRecord, type TradeFilters, TradeQueries, type TradeRecord } from './tradeQueries.ts';

type Filtered<F> = { readonly account: number; readonly filters: F };

/** Queries whose answers the pool completes. */
type HistoryQueries = {
  orderByHash(task: { account: number; hash: Uint8Array }): StoredOrder<OrderRecord> | null;
  userOrders(task: Filtered<OrderFilters>): HistoryPage<StoredOrder<OrderRecordV2>>;
  newestOrders(task: { account: number; limit: number }): StoredOrder<OrderRecord>[];
  userTrades(task: Filtered<TradeFilters>): HistoryPage<TradeRecord>;
  legacyTrades(task: Filtered<TradeFilters>): HistoryPage<LegacyTradeRecord>;
  userActivity(task: Filtered<ActivityFilters>): HistoryPage<StoredActivity>;
  nflPart(task: NflTask): NflPart;
};

/** @param path null if the ledger settles without a chain (RULES.md 14.8) */
export function settlementsIn(path: string | null): ChainSettlements | typeof LEDGER_SETTLEMENTS {
  return path === null ? LEDGER_SETTLEMENTS : new ChainSettlements(path);
}

export function prepareAccountQueries(
  db: Database.Database,
  settlements: ReturnType<typeof settlementsIn>,
): AccountQueries & HistoryQueries {
  const orders = new OrderQueries(db);
  const orderLists = new OrderLists(db);
  const trades = new TradeQueries(db, settlements);
  const activity = new ActivityQueries(db);
  const achievements = new AchievementQueries(db);
  return {
    ...prepareOthers(db, settlements),
    orderByHash: (task) => orders.byHash(task.account, task.hash),
    userOrders: (task) => orderLists.list(task.account, task.filters),
    newestOrders: (task) => orderLists.newest(task.account, task.limit),
    userTrades: (task) => trades.list(task.account, task.filters),
    legacyTrades: (task) => trades.legacyList(task.account, task.filters),
    userActivity: (task) => activity.list(task.account, task.filters),
    tradeSettlement: (task) => trades.settlement(task.account, task.id),
    achievementFacts: (task) => achievements.facts(task),
    nflPart: (task) => achievements.nflPart(task),
    wasAccepted: (task) => orders.wasAccepted(task.start, task.isOwn ? task.account : null),
  };
}

function prepareOthers(
  db: Database.Database,
  settlements: ReturnType<typeof settlementsIn>,
): Omit<AccountQueries, 'achievementFacts' | 'tradeSettlement' | 'wasAccepted'> {
  const movements = new FundMovementQueries(db, settlements);
  const positions = new PositionQueries(db);
  const portfolio = new PortfolioQueries(db);
  const notifications = new NotificationQueries(db);
  const rebates = new RebateQueries(db);
  const referrals = new ReferralQueries(db);
  const statement = new StatementQueries(db);
  const statementStart = new StatementStartQueries(db);
  return {
    fundMovements: (task) => movements.list(task.account, task.limit, task.offset),
    userPositions: (task) => positions.slice(task),
    hasPosition: (task) => positions.has(task.account, task.market),
    portfolioSlice: (task) => portfolio.slice(task),
    notifications: (task) => notifications.page(task),
    notification: (task) => notifications.one(task.account, task.id),
    rebates: (task) => rebates.slice(task),
    earnings: (task) => referrals.earnings(task),
    statementStart: (task) => statementStart.start(task.account, task.fromMs),
    statementPage: (task) => statement.page(task),
  };
}
