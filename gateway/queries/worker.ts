/**
 * A thread of the query pool: one read-only connection to read.db and the statements prepared on it. The pool calls the
 * exported functions by name.
 */
import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import { type KeyedOrder, type KeyPage, KeyQueries } from './keys.ts';
import { MarketQueries } from './markets.ts';
import { type OrderFilters, OrderQueries, type StoredOrder } from './orders.ts';
import type { Page } from './page.ts';
import type { Placed } from './placed.ts';
import { type PrivateTailPage, PrivateTailQueries, type PrivateTailTask } from './privateTail.ts';
import { type TradeFilters, TradeQueries, type TradeRecord } from './trades.ts';
import type { MarketVolumes } from './volumes.ts';

export type QueryWorkerData = { readonly readDbPath: string };

type Queries = {
  readonly keys: KeyQueries;
  readonly markets: MarketQueries;
  readonly orders: OrderQueries;
  readonly trades: TradeQueries;
  readonly privateTail: PrivateTailQueries;
};

let opened: Queries | null = null;

export function orderByHash(task: { account: number; hash: Uint8Array }): StoredOrder<OrderRecord> | null {
  return queries().orders.byHash(task.account, task.hash);
}

export function userOrders(task: { account: number; filters: OrderFilters }): Page<StoredOrder<OrderRecordV2>> {
  return queries().orders.list(task.account, task.filters);
}

export function userTrades(task: { account: number; filters: TradeFilters }): Page<TradeRecord> {
  return queries().trades.list(task.account, task.filters);
}

export function marketVolumes(): MarketVolumes {
  return queries().markets.volumes();
}

export function privateTail(task: PrivateTailTask): PrivateTailPage | null {
  return queries().privateTail.read(task);
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
      keys: new KeyQueries(db),
      markets: new MarketQueries(db),
      orders: new OrderQueries(db),
      trades: new TradeQueries(db),
      privateTail: new PrivateTailQueries(db),
    };
  }
  return opened;
}
