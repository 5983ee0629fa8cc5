/**
 * A thread of the query pool: one read-only connection to read.db and the statements prepared on it. The pool calls the
 * exported functions by name.
 */
import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import { type BrowseFilters, BrowseQueries } from './browse.ts';
import { CatalogFacts, type CatalogMetadata, type SportsTaxonomy } from './catalogFacts.ts';
import { CatalogLists, type EventListTask, type IndexPage, type MarketListTask } from './catalogLists.ts';
import { type KeyedOrder, type KeyPage, KeyQueries } from './keys.ts';
import { MarketQueries } from './markets.ts';
import { type OrderFilters, OrderQueries, type StoredOrder } from './orders.ts';
import type { Page } from './page.ts';
import type { Placed } from './placed.ts';
import { type PrivateTailPage, PrivateTailQueries, type PrivateTailTask } from './privateTail.ts';
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
import { type TradeFilters, TradeQueries, type TradeRecord } from './trades.ts';
import type { MarketVolumes } from './volumes.ts';

export type QueryWorkerData = { readonly readDbPath: string };

type Queries = {
  readonly browse: BrowseQueries;
  readonly catalogLists: CatalogLists;
  readonly catalogFacts: CatalogFacts;
  readonly keys: KeyQueries;
  readonly markets: MarketQueries;
  readonly orders: OrderQueries;
  readonly trades: TradeQueries;
  readonly privateTail: PrivateTailQueries;
  readonly fills: FillQueries;
  readonly exchange: ExchangeQueries;
  readonly leaderboard: LeaderboardQueries;
  readonly marketHistory: MarketHistoryQueries;
};

let opened: Queries | null = null;

// Reads of the past do not take processors from orders.
stepBack(NICE_FOLLOWER);

export function orderByHash(task: { account: number; hash: Uint8Array }): StoredOrder<OrderRecord> | null {
  return queries().orders.byHash(task.account, task.hash);
}

export function userOrders(task: { account: number; filters: OrderFilters }): Page<StoredOrder<OrderRecordV2>> {
  return queries().orders.list(task.account, task.filters);
}

export function userTrades(task: { account: number; filters: TradeFilters }): Page<TradeRecord> {
  return queries().trades.list(task.account, task.filters);
}

export function browse(filters: BrowseFilters): Page<number> {
  return queries().browse.page(filters);
}

export function lastTicks(markets: readonly number[]): number[] {
  return queries().browse.lastTicks(markets);
}

export function listMarkets(task: MarketListTask): IndexPage {
  return queries().catalogLists.markets(task);
}

export function listEvents(task: EventListTask): IndexPage {
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

export function journaledKeys(task: { sinceMs: number; after: number }): KeyPage {
  return queries().keys.journaled(task.sinceMs, task.after);
}

export function placedWithKey(task: { order: KeyedOrder }): Placed | null {
  return queries().keys.placed(task.order);
}

export function cancelledWithKey(task: { order: KeyedOrder; hash: Uint8Array }): boolean {
  return queries().keys.hasCancelled(task.order, task.hash);
}

/** Opened by the first query: the pool is made before the projector has made the file. */
function queries(): Queries {
  if (opened === null) {
    const { readDbPath } = workerData as QueryWorkerData;
    const db = new Database(readDbPath, { readonly: true, fileMustExist: true });
    db.pragma('query_only = ON');
    opened = {
      browse: new BrowseQueries(db),
      catalogLists: new CatalogLists(db),
      catalogFacts: new CatalogFacts(db),
      keys: new KeyQueries(db),
      markets: new MarketQueries(db),
      orders: new OrderQueries(db),
      trades: new TradeQueries(db),
      privateTail: new PrivateTailQueries(db),
      fills: new FillQueries(db),
      exchange: new ExchangeQueries(db),
      leaderboard: new LeaderboardQueries(db),
      marketHistory: new MarketHistoryQueries(db),
    };
  }
  return opened;
}
