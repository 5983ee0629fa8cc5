/** The queries of read.db about placements and cancels that were sent with an idempotency key. */

import type { QueryResult } from '../base/reads.ts';
import type { KeyedOrder } from '../shardlink/journaledKeys.ts';
import type { Placed } from './placed.ts';

export type PlacementReads = {
  /** The order placed by the command with this key; null if another command placed it. */
  placedWithKey(order: KeyedOrder): Promise<QueryResult<Placed | null>>;
  cancelledWithKey(order: KeyedOrder, hash: Uint8Array): Promise<QueryResult<boolean>>;
};
