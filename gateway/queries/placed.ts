/**
 * An order right after the command that placed it. The gateway's views provide it directly after the record
 * (trading/placementResponse.ts), the read model long afterwards (keys.ts). Both answers are rendered from this type,
 * so a retry gets the bytes of the first answer.
 */
import type { OrderFacts } from '../../shared/base/orderMath.ts';

export type Placed = {
  readonly id: string;
  readonly hash: string;
  /** ORDER_STATUS, as a placement answers it. */
  readonly status: number;
  readonly ticksPerUnit: number;
  readonly fills: readonly PlacedFill[];
  /** Of an amend only: the whole order, and how it compares with the one it replaced. */
  readonly replaced: {
    readonly facts: OrderFacts;
    readonly keptPriority: boolean;
    readonly changedPrice: boolean;
  } | null;
};

/** Ticks are in terms of the placed order's own outcome (RULES.md 2). */
export type PlacedFill = {
  readonly tradeId: string;
  readonly makerOrderId: string;
  readonly matchType: number;
  readonly lots: number;
  readonly ownTicks: number;
};
