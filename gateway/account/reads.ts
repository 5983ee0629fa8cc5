/** The queries of read.db about one account. */
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import type { Asker } from '../base/askers.ts';
import type { HistoryPage } from '../base/page.ts';
import type { OfAccount, QueryResult, ReadsOfAccount } from '../base/reads.ts';
import type { KeyedOrder } from '../shardlink/journaledKeys.ts';
import type { NflPart, NflTask } from './achievementQueries.ts';
import type { OrderFilters } from './orderListsQueries.ts';
import type { prepareAccountQueries } from './queries.ts';

/** Queries that have a method of their own below. */
type Completed = 'orderByHash' | 'userOrders' | 'newestOrders' | 'nflPart';

export type AccountReads = ReadsOfAccount<Omit<ReturnType<typeof prepareAccountQueries>, Completed>> & {
  /** An order of the account in any state; null if it has none with this hash. */
  orderByHash(asker: OfAccount, hash: Uint8Array): Promise<QueryResult<OrderRecord | null>>;
  userOrders(asker: OfAccount, filters: OrderFilters): Promise<QueryResult<HistoryPage<OrderRecordV2>>>;
  /** The newest by creation. */
  newestOrders(asker: OfAccount, limit: number): Promise<QueryResult<OrderRecord[]>>;
  /** A part of the ranking of all accounts, which is public. */
  nflPart(asker: Asker, task: NflTask): Promise<QueryResult<NflPart>>;
  /** True if the split or merge with this idempotency key was carried out. */
  convertedWithKey(use: KeyedOrder): Promise<QueryResult<number>>;
};
