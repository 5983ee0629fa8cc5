/**
 * A thread of the query pool: one read-only connection to read.db and the statements prepared on it. The pool calls
 * QUERIES by name.
 */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import { Progress } from '../../shared/wire/progress.ts';
import type { AccountQueries } from './accountReads.ts';
import { AchievementQueries, type NflPart, type NflTask } from './achievements.ts';
import { type ActivityFilters, ActivityQueries, type StoredActivity } from './activity.ts';
import { BrowseQueries } from './browse.ts';
import { CandleQueries } from './candles.ts';
import { CatalogFacts } from './catalogFacts.ts';
import { CatalogLists } from './catalogLists.ts';
import { DayTradingQueries } from './dayTrading.ts';
import { FundMovementQueries } from './fundMovements.ts';
import type { KeyedOrder, KeyPage } from './journaledKeys.ts';
import { KeyQueries } from './keys.ts';
import type { MarketQueries } from './marketReads.ts';
import { VolumeQueries } from './markets.ts';
import { NotificationQueries } from './notifications.ts';
import { type OrderFilters, OrderLists } from './orderLists.ts';
import { OrderQueries, type StoredOrder } from './orders.ts';
import type { HistoryPage } from './page.ts';
import type { Placed } from './placed.ts';
import { PortfolioQueries } from './portfolio.ts';
import { PositionQueries } from './positions.ts';
import { type PrivateTailPage, PrivateTailQueries, type PrivateTailTask } from './privateTail.ts';
import { RebateQueries } from './rebates.ts';
import { ReferralQueries } from './referrals.ts';
import { ChainSettlements, LEDGER_SETTLEMENTS } from './settlement.ts';
import { StatementQueries } from './statement.ts';
import { StatementStartQueries } from './statementStart.ts';
import { ExchangeQueries, type WindowTask } from './statsExchange.ts';
import { FillQueries } from './statsFills.ts';
import { LeaderboardQueries } from './statsLeaderboard.ts';
import { MarketHistoryQueries } from './statsMarkets.ts';
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
  readonly markets: VolumeQueries;
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

const OF_ACCOUNTS: AccountQueries = {
  tradeSettlement: (task) => queries().trades.settlement(task.account, task.id),
  fundMovements: (task) => queries().fundMovements.list(task.account, task.limit, task.offset),
  userPositions: (task) => queries().positions.slice(task),
  portfolioSlice: (task) => queries().portfolio.slice(task),
  hasPosition: (task) => queries().positions.has(task.account, task.market),
  rebates: (task) => queries().rebates.slice(task),
  earnings: (task) => queries().referrals.earnings(task),
  statementStart: (task) => queries().statementStart.start(task.account, task.fromMs),
  statementPage: (task) => queries().statement.page(task),
  notifications: (task) => queries().notifications.page(task),
  notification: (task) => queries().notifications.one(task.account, task.id),
  achievementFacts: (task) => queries().achievements.facts(task),
};

const OF_MARKETS: MarketQueries = {
  browse: (filters) => queries().browse.page(filters),
  candles: (task) => {
    const committed = progress.committed(task.shard);
    const { candles: page, nextMs } = queries().candles.page(task, committed);
    return { json: JSON.stringify(page), nextMs };
  },
  marketDay: (task) => queries().dayTrading.one(task),
  marketDays: (task) => queries().dayTrading.all(task),
  lastTicks: (markets) => queries().browse.lastTicks(markets),
  listMarkets: (task) => queries().catalogLists.markets(task),
  listEvents: (task) => queries().catalogLists.events(task),
  catalogMetadata: () => queries().catalogFacts.metadata(),
  sportsTaxonomy: () => queries().catalogFacts.taxonomy(),
  recentFills: (task) => queries().fills.recent(task),
  pulse: (task) => queries().exchange.pulse(task),
  spotlight: (task) => queries().exchange.spotlight(task),
  leaderboardPart: (task) => queries().leaderboard.part(task),
  priceHistory: (task) => queries().marketHistory.history(task),
  marketTrades: (task) => queries().marketHistory.trades(task.market),
};

export const QUERIES = {
  ...OF_ACCOUNTS,
  ...OF_MARKETS,
  orderByHash(task: { account: number; hash: Uint8Array }): StoredOrder<OrderRecord> | null {
    return queries().orders.byHash(task.account, task.hash);
  },
  userOrders(task: { account: number; filters: OrderFilters }): HistoryPage<StoredOrder<OrderRecordV2>> {
    return queries().orderLists.list(task.account, task.filters);
  },
  newestOrders(task: { account: number; limit: number }): StoredOrder<OrderRecord>[] {
    return queries().orderLists.newest(task.account, task.limit);
  },
  userTrades(task: { account: number; filters: TradeFilters }): HistoryPage<TradeRecord> {
    return queries().trades.list(task.account, task.filters);
  },
  legacyTrades(task: { account: number; filters: TradeFilters }): HistoryPage<LegacyTradeRecord> {
    return queries().trades.legacyList(task.account, task.filters);
  },
  userActivity(task: { account: number; filters: ActivityFilters }): HistoryPage<StoredActivity> {
    return queries().activity.list(task.account, task.filters);
  },
  nflPart(task: NflTask): NflPart {
    return queries().achievements.nflPart(task);
  },
  marketVolumes(): MarketVolumes {
    return queries().markets.volumes();
  },
  privateTail(task: PrivateTailTask): PrivateTailPage | null {
    return queries().privateTail.read(task);
  },
  volumesBetween(task: WindowTask): BigInt64Array {
    return queries().exchange.volumesBetween(task);
  },
  isSigned({ address, digest, signature }: SignedTask): boolean {
    return isDigestSignedBy(address, digest, signature);
  },
  journaledKeys(task: { sinceMs: number; after: number }): KeyPage {
    return queries().keys.journaled(task.sinceMs, task.after);
  },
  placedWithKey(task: { order: KeyedOrder }): Placed | null {
    return queries().keys.placed(task.order);
  },
  cancelledWithKey(task: { order: KeyedOrder; hash: Uint8Array }): boolean {
    return queries().keys.hasCancelled(task.order, task.hash);
  },
  convertedWithKey(task: { use: KeyedOrder }): boolean {
    return queries().keys.hasConverted(task.use);
  },
};

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
      markets: new VolumeQueries(db),
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
