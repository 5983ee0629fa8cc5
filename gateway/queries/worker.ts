/**
 * A thread of the query pool: one read-only connection to read.db and the statements prepared on it. The pool calls the
 * exported functions by name.
 */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import { Progress } from '../../shared/wire/progress.ts';
import {
  type AchievementFacts,
  AchievementQueries,
  type AchievementsTask,
  type NflPart,
  type NflTask,
} from './achievements.ts';
import { type ActivityFilters, ActivityQueries, type StoredActivity } from './activity.ts';
import { type BrowseFilters, BrowseQueries } from './browse.ts';
import { CandleQueries, type CandlesTask } from './candles.ts';
import { CatalogFacts, type CatalogMetadata, type SportsTaxonomy } from './catalogFacts.ts';
import { CatalogLists, type EventListTask, type IndexPage, type MarketListTask } from './catalogLists.ts';
import { type DayTask, DayTradingQueries, type MarketDay, type MarketDays, type MarketDayTask } from './dayTrading.ts';
import { FundMovementQueries, type StoredMovement } from './fundMovements.ts';
import type { KeyedOrder, KeyPage } from './journaledKeys.ts';
import { KeyQueries } from './keys.ts';
import { MarketQueries } from './markets.ts';
import {
  type FoundNotifications,
  NotificationQueries,
  type NotificationsTask,
  type Occurrence,
} from './notifications.ts';
import { type OrderFilters, OrderLists } from './orderLists.ts';
import { OrderQueries, type StoredOrder } from './orders.ts';
import type { HistoryPage, Page } from './page.ts';
import type { Placed } from './placed.ts';
import { PortfolioQueries, type PortfolioSlice, type PortfolioTask } from './portfolio.ts';
import { PositionQueries, type PositionsSlice, type PositionsTask } from './positions.ts';
import { type PrivateTailPage, PrivateTailQueries, type PrivateTailTask } from './privateTail.ts';
import { RebateQueries, type RebatesSlice, type RebatesTask } from './rebates.ts';
import { type Earnings, type EarningsTask, ReferralQueries } from './referrals.ts';
import { ChainSettlements, LEDGER_SETTLEMENTS, type TradeSettlementRecord } from './settlement.ts';
import { type StatementPage, StatementQueries, type StatementTask } from './statement.ts';
import { type StatementStart, StatementStartQueries } from './statementStart.ts';
import {
  type CategorySums,
  ExchangeQueries,
  type PulseSums,
  type PulseTask,
  type WindowTask,
} from './statsExchange.ts';
import { type Fill, FillQueries, type FillsTask } from './statsFills.ts';
import { type LeaderboardPart, LeaderboardQueries, type LeaderboardTask } from './statsLeaderboard.ts';
import { type HistoryTask, MarketHistoryQueries, type MarketTrade, type PricePoint } from './statsMarkets.ts';
import { type LegacyTradeRecord, type TradeFilters, TradeQueries, type TradeRecord } from './trades.ts';
import type { MarketVolumes } from './volumes.ts';

export type QueryWorkerData = {
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
  /** Null where the ledger settles (RULES.md 14.8). */
  readonly settlementDbPath: string | null;
};

export type SignedTask = { readonly address: string; readonly digest: Uint8Array; readonly signature: string };

type Queries = {
  readonly browse: BrowseQueries;
  readonly candles: CandleQueries;
  readonly catalogLists: CatalogLists;
  readonly dayTrading: DayTradingQueries;
  readonly catalogFacts: CatalogFacts;
  readonly keys: KeyQueries;
  readonly markets: MarketQueries;
  readonly orders: OrderQueries;
  readonly orderLists: OrderLists;
  readonly trades: TradeQueries;
  readonly fundMovements: FundMovementQueries;
  readonly activity: ActivityQueries;
  readonly positions: PositionQueries;
  readonly notifications: NotificationQueries;
  readonly portfolio: PortfolioQueries;
  readonly rebates: RebateQueries;
  readonly referrals: ReferralQueries;
  readonly statement: StatementQueries;
  readonly statementStart: StatementStartQueries;
  readonly achievements: AchievementQueries;
  readonly privateTail: PrivateTailQueries;
  readonly fills: FillQueries;
  readonly exchange: ExchangeQueries;
  readonly leaderboard: LeaderboardQueries;
  readonly marketHistory: MarketHistoryQueries;
};

const { readDbPath, settlementDbPath, progress: progressMemory } = workerData as QueryWorkerData;
const progress = new Progress(progressMemory);
const settlements = settlementDbPath === null ? LEDGER_SETTLEMENTS : new ChainSettlements(settlementDbPath);
let connection: Database.Database | null = null;
let opened: Queries | null = null;
let openedGeneration = 0;

// Reads of the past do not take processors from orders.
stepBack(NICE_FOLLOWER);

export function orderByHash(task: { account: number; hash: Uint8Array }): StoredOrder<OrderRecord> | null {
  return queries().orders.byHash(task.account, task.hash);
}

export function userOrders(task: { account: number; filters: OrderFilters }): HistoryPage<StoredOrder<OrderRecordV2>> {
  return queries().orderLists.list(task.account, task.filters);
}

export function newestOrders(task: { account: number; limit: number }): StoredOrder<OrderRecord>[] {
  return queries().orderLists.newest(task.account, task.limit);
}

export function userTrades(task: { account: number; filters: TradeFilters }): HistoryPage<TradeRecord> {
  return queries().trades.list(task.account, task.filters);
}

export function tradeSettlement(task: { account: number; id: Uint8Array }): TradeSettlementRecord | null {
  return queries().trades.settlement(task.account, task.id);
}

export function fundMovements(task: { account: number; limit: number; offset: number }): Page<StoredMovement> {
  return queries().fundMovements.list(task.account, task.limit, task.offset);
}

export function legacyTrades(task: { account: number; filters: TradeFilters }): HistoryPage<LegacyTradeRecord> {
  return queries().trades.legacyList(task.account, task.filters);
}

export function userActivity(task: { account: number; filters: ActivityFilters }): HistoryPage<StoredActivity> {
  return queries().activity.list(task.account, task.filters);
}

export function userPositions(task: PositionsTask): PositionsSlice {
  return queries().positions.slice(task);
}

export function portfolioSlice(task: PortfolioTask): PortfolioSlice {
  return queries().portfolio.slice(task);
}

export function hasPosition(task: { account: number; market: number }): boolean {
  return queries().positions.has(task.account, task.market);
}

export function rebates(task: RebatesTask): RebatesSlice {
  return queries().rebates.slice(task);
}

export function earnings(task: EarningsTask): Earnings {
  return queries().referrals.earnings(task);
}

export function statementStart(task: { account: number; fromMs: number }): StatementStart {
  return queries().statementStart.start(task.account, task.fromMs);
}

export function statementPage(task: StatementTask): StatementPage {
  return queries().statement.page(task);
}

export function notifications(task: NotificationsTask): FoundNotifications {
  return queries().notifications.page(task);
}

export function notification(task: { account: number; id: Uint8Array }): Occurrence | null {
  return queries().notifications.one(task.account, task.id);
}

export function achievementFacts(task: AchievementsTask): AchievementFacts {
  return queries().achievements.facts(task);
}

export function nflPart(task: NflTask): NflPart {
  return queries().achievements.nflPart(task);
}

export function browse(filters: BrowseFilters): Page<number> | null {
  return queries().browse.page(filters);
}

/** As text: a page is a thousand objects, which would be copied and written by the gateway thread. */
export function candles(task: CandlesTask): { readonly json: string; readonly nextMs: number | null } {
  const committed = progress.committed(task.shard);
  const { candles: page, nextMs } = queries().candles.page(task, committed);
  return { json: JSON.stringify(page), nextMs };
}

export function marketDay(task: MarketDayTask): MarketDay {
  return queries().dayTrading.one(task);
}

export function marketDays(task: DayTask): MarketDays {
  return queries().dayTrading.all(task);
}

export function lastTicks(markets: readonly number[]): number[] {
  return queries().browse.lastTicks(markets);
}

export function listMarkets(task: MarketListTask): IndexPage | null {
  return queries().catalogLists.markets(task);
}

export function listEvents(task: EventListTask): IndexPage | null {
  return queries().catalogLists.events(task);
}

export function catalogMetadata(_task: null): CatalogMetadata {
  return queries().catalogFacts.metadata();
}

export function sportsTaxonomy(_task: null): SportsTaxonomy {
  return queries().catalogFacts.taxonomy();
}

export function marketVolumes(): MarketVolumes {
  return queries().markets.volumes();
}

export function privateTail(task: PrivateTailTask): PrivateTailPage | null {
  return queries().privateTail.read(task);
}

export function recentFills(task: FillsTask): Fill[] {
  return queries().fills.recent(task);
}

export function pulse(task: PulseTask): PulseSums {
  return queries().exchange.pulse(task);
}

export function spotlight(task: PulseTask): CategorySums[] {
  return queries().exchange.spotlight(task);
}

export function volumesBetween(task: WindowTask): BigInt64Array {
  return queries().exchange.volumesBetween(task);
}

export function leaderboardPart(task: LeaderboardTask): LeaderboardPart {
  return queries().leaderboard.part(task);
}

export function priceHistory(task: HistoryTask): PricePoint[] {
  return queries().marketHistory.history(task);
}

export function marketTrades(task: { market: number }): MarketTrade[] {
  return queries().marketHistory.trades(task.market);
}

export function isSigned({ address, digest, signature }: SignedTask): boolean {
  return isDigestSignedBy(address, digest, signature);
}

export function journaledKeys(task: { sinceMs: number; after: number }): KeyPage {
  return queries().keys.journaled(task.sinceMs, task.after);
}

export function placedWithKey(task: { order: KeyedOrder }): Placed | null {
  return queries().keys.placed(task.order);
}

export function cancelledWithKey(task: { order: KeyedOrder; hash: Uint8Array }): boolean {
  return queries().keys.hasCancelled(task.order, task.hash);
}

export function convertedWithKey(task: { use: KeyedOrder }): boolean {
  return queries().keys.hasConverted(task.use);
}

/**
 * Opened by the first query, for the pool is made before the projector has made the file, and again when another file
 * may be in its place.
 */
function queries(): Queries {
  const generation = progress.generation();
  if (opened === null || openedGeneration !== generation) {
    opened = null;
    connection?.close();
    const db = openDatabase(readDbPath, { readonly: true, fileMustExist: true });
    connection = db;
    openedGeneration = generation;
    opened = {
      browse: new BrowseQueries(db),
      candles: new CandleQueries(db),
      catalogLists: new CatalogLists(db),
      dayTrading: new DayTradingQueries(db),
      catalogFacts: new CatalogFacts(db),
      keys: new KeyQueries(db),
      markets: new MarketQueries(db),
      orders: new OrderQueries(db),
      orderLists: new OrderLists(db),
      trades: new TradeQueries(db, settlements),
      fundMovements: new FundMovementQueries(db, settlements),
      activity: new ActivityQueries(db),
      positions: new PositionQueries(db),
      notifications: new NotificationQueries(db),
      portfolio: new PortfolioQueries(db),
      rebates: new RebateQueries(db),
      referrals: new ReferralQueries(db),
      statement: new StatementQueries(db),
      statementStart: new StatementStartQueries(db),
      achievements: new AchievementQueries(db),
      privateTail: new PrivateTailQueries(db),
      fills: new FillQueries(db),
      exchange: new ExchangeQueries(db),
      leaderboard: new LeaderboardQueries(db),
      marketHistory: new MarketHistoryQueries(db),
    };
    // Not earlier: some have tables of the connection (searchBudget.ts).
    db.pragma('query_only = ON');
  }
  return opened;
}
