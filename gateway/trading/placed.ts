/**
 * An order right after the command that placed it. The gateway's views provide it directly after the record
 * (trading/placementResponse.ts), the read model long afterwards (keyQueries.ts). Both answers are rendered from this
 * type, so a retry receives the same bytes as the first answer.
 */
import type { OrderFacts } from '../../shared/base/orderMath.ts';

export type Placed = {
  /** The order in its record, where its status is cancelled when its remainder was. */
  readonly facts: OrderFacts;
  /** ORDER_STATUS, as a placement answers it. */
  readonly status: number;
  readonly fills: readonly PlacedFill[];
  /** Of an amend only: how the order compares with the one it replaced. */
  readonly replaced: { readonly keptPriority: boolean; readonly changedPrice: boolean } | null;
};

/** Ticks are in terms of the placed order's own outcome (RULES.md 2). */
export type PlacedFill = {
  readonly tradeId: string;
  readonly makerOrderId: string;
  readonly matchType: number;
  readonly lots: number;
  readonly ownTicks: number;
};
