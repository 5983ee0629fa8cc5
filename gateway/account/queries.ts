/** The queries about one account, prepared on a connection to read.db by a thread of the pool. */
import type Database from 'better-sqlite3';
import { AchievementQueries, type AchievementsTask, type NflTask } from './achievementQueries.ts';
import { type ActivityFilters, ActivityQueries } from './activityQueries.ts';
import { FundMovementQueries } from './fundMovementQueries.ts';
import { NotificationQueries, type NotificationsTask } from './notificationQueries.ts';
import { type OrderFilters, OrderLists } from './orderListsQueries.ts';
import { OrderQueries } from './orderQueries.ts';
import { PortfolioQueries, type PortfolioTask } from './portfolioQueries.ts';
import { PositionQueries, type PositionsTask } from './positionQueries.ts';
import { RebateQueries, type RebatesTask } from './rebateQueries.ts';
import { type EarningsTask, ReferralQueries } from './referralQueries.ts';
import { ChainSettlements, LEDGER_SETTLEMENTS } from './settlementQueries.ts';
import { StatementQueries, type StatementTask } from './statementQueries.ts';
import { StatementStartQueries } from './statementStartQueries.ts';
import { type TradeFilters, TradeQueries } from './tradeQueries.ts';

type Filtered<F> = { readonly account: number; readonly filters: F };
type Named = { readonly account: number; readonly id: Uint8Array };

/** @param path null if the ledger settles without a chain (RULES.md 14.8) */
export function settlementsIn(path: string | null): ChainSettlements | typeof LEDGER_SETTLEMENTS {
  return path === null ? LEDGER_SETTLEMENTS : new ChainSettlements(path);
}

export function prepareAccountQueries(db: Database.Database, settlements: ReturnType<typeof settlementsIn>) {
  const orders = new OrderQueries(db);
  const orderLists = new OrderLists(db);
  const trades = new TradeQueries(db, settlements);
  const activity = new ActivityQueries(db);
  const achievements = new AchievementQueries(db);
  const movements = new FundMovementQueries(db, settlements);
  const positions = new PositionQueries(db);
  const portfolio = new PortfolioQueries(db);
  const notifications = new NotificationQueries(db);
  const rebates = new RebateQueries(db);
  const referrals = new ReferralQueries(db);
  const statement = new StatementQueries(db);
  const statementStart = new StatementStartQueries(db);
  return {
    orderByHash: (task: { readonly account: number; readonly hash: Uint8Array }) =>
      orders.byHash(task.account, task.hash),
    userOrders: (task: Filtered<OrderFilters>) => orderLists.list(task.account, task.filters),
    newestOrders: (task: { readonly account: number; readonly limit: number }) =>
      orderLists.newest(task.account, task.limit),
    nflPart: (task: NflTask) => achievements.nflPart(task),
    userTrades: (task: Filtered<TradeFilters>) => trades.list(task.account, task.filters),
    legacyTrades: (task: Filtered<TradeFilters>) => trades.legacyList(task.account, task.filters),
    userActivity: (task: Filtered<ActivityFilters>) => activity.list(task.account, task.filters),
    tradeSettlement: (task: Named) => trades.settlement(task.account, task.id),
    achievementFacts: (task: AchievementsTask) => achievements.facts(task),
    /** True if an order whose hash starts with these bytes was accepted, of the account or of any. */
    wasAccepted: (task: { readonly account: number; readonly start: Uint8Array; readonly isOwn: boolean }) =>
      orders.wasAccepted(task.start, task.isOwn ? task.account : null),
    fundMovements: (task: { readonly account: number; readonly limit: number; readonly offset: number }) =>
      movements.list(task.account, task.limit, task.offset),
    userPositions: (task: PositionsTask) => positions.slice(task),
    hasPosition: (task: { readonly account: number; readonly market: number }) =>
      positions.has(task.account, task.market),
    portfolioSlice: (task: PortfolioTask) => portfolio.slice(task),
    notifications: (task: NotificationsTask) => notifications.page(task),
    notification: (task: Named) => notifications.one(task.account, task.id),
    rebates: (task: RebatesTask) => rebates.slice(task),
    earnings: (task: EarningsTask) => referrals.earnings(task),
    statementStart: (task: { readonly account: number; readonly fromMs: number }) =>
      statementStart.start(task.account, task.fromMs),
    statementPage: (task: StatementTask) => statement.page(task),
  };
}
