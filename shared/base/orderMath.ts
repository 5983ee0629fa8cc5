/**
 * The amounts in an order's record: projections of its fills onto the signed amounts (RULES.md 1.6). This file serves
 * open orders in the gateway's memory and closed ones in read.db, so the numbers of an order keep their meaning when it
 * closes.
 *
 * The signed amounts are a ratio. On the grid it divides evenly; FOK and FAK may sign any ratio, and their fills are
 * projected with a floor.
 */
import {
  isImmediate,
  ORDER_STATUS,
  ORDER_STATUS_NAMES,
  OUTCOME,
  SIDE,
  SIDE_NAMES,
  TIME_IN_FORCE_NAMES,
} from './codes.ts';
import { toHex } from './hex.ts';
import { mulDivFloor, mulSafe } from './int.ts';
import { ratioToPrice8Floor, tickToPrice8 } from './units.ts';

/** One order, from the gateway's views or from read.db; codes as in codes.ts. */
export type OrderFacts = Readonly<{
  id: string;
  hash: Uint8Array;
  marketId: string;
  ticksPerUnit: number;
  side: number;
  outcome: number;
  timeInForce: number;
  postOnly: boolean;
  /** In terms of the order's own outcome. */
  limitTicks: number;
  makerAmount: number;
  takerAmount: number;
  quantityLots: number;
  remainingLots: number;
  /** The USDC of all fills, at the prices of the order's own outcome. */
  filledNotionalMicro: number;
  status: number;
  createdMs: number;
  orderSequence: number;
  /** Null if the order has none. */
  clientOrderId: string | null;
}>;

/** The fields of an order on which its amounts depend. */
export type OrderAmounts = Readonly<
  Pick<
    OrderFacts,
    | 'side'
    | 'timeInForce'
    | 'ticksPerUnit'
    | 'makerAmount'
    | 'takerAmount'
    | 'quantityLots'
    | 'remainingLots'
    | 'status'
  >
>;

export type OrderRecord = Readonly<{
  id: string;
  order_hash: string;
  market_id: string;
  side: string;
  price: string;
  status: string;
  remaining: string;
  filled_amount: string;
  time_in_force: string;
  post_only: boolean;
  created_at: string;
  filled_token_quantity_atomic: string;
  average_fill_price: string | null;
  sequence: number;
  outcome_index: number;
  /** Present only if the order has one (RULES.md 7.7, 7.9). */
  client_order_id?: string;
  order_group?: string;
}>;

/** The signed USDC amount and its parts; absent if the facts about the order contradict each other. */
type LimitNotionals = {
  readonly [Part in 'initial' | 'filled' | 'remaining' as `${Part}_limit_notional_usdc_micro`]: string | null;
};

export type OrderRecordV2 = OrderRecord & LimitNotionals & Readonly<{ updated_at: string }>;

export function orderRecord(order: OrderFacts): OrderRecord {
  return {
    id: order.id,
    order_hash: toHex(order.hash),
    market_id: order.marketId,
    side: SIDE_NAMES[order.side],
    price: limitPrice(order),
    status: ORDER_STATUS_NAMES[order.status],
    remaining: String(remainingAmount(order)),
    filled_amount: String(filledAmount(order)),
    time_in_force: TIME_IN_FORCE_NAMES[order.timeInForce],
    post_only: order.postOnly,
    created_at: new Date(order.createdMs).toISOString(),
    filled_token_quantity_atomic: String(filledTokens(order)),
    average_fill_price: averageFillPrice(order),
    sequence: order.orderSequence,
    outcome_index: order.outcome,
    ...(order.clientOrderId === null ? {} : { client_order_id: order.clientOrderId }),
  };
}

export function orderRecordV2(order: OrderFacts, updatedMs: number): OrderRecordV2 {
  const notional = (amountOf: (order: OrderFacts) => number): string | null =>
    isConsistent(order) ? String(amountOf(order)) : null;
  return {
    ...orderRecord(order),
    initial_limit_notional_usdc_micro: notional(signedNotional),
    filled_limit_notional_usdc_micro: notional(filledLimitNotional),
    remaining_limit_notional_usdc_micro: notional(remainingLimitNotional),
    updated_at: new Date(updatedMs).toISOString(),
  };
}

/** True if status, quantity and fills of an order agree. */
function isConsistent({ status, quantityLots, remainingLots, filledNotionalMicro }: OrderFacts): boolean {
  if (remainingLots < 0 || remainingLots > quantityLots) return false;
  const hasFills = remainingLots < quantityLots;
  if (hasFills !== filledNotionalMicro > 0) return false;
  if (status === ORDER_STATUS.FILLED) return hasFills && remainingLots === 0;
  if (status === ORDER_STATUS.OPEN) return !hasFills;
  return remainingLots > 0 && (hasFills || status !== ORDER_STATUS.PARTIALLY_FILLED);
}

/** The atomic tokens of all fills, before fees. */
export function filledTokens(order: OrderAmounts): number {
  return mulSafe(order.quantityLots - order.remainingLots, order.ticksPerUnit);
}

/** In the maker's asset: USDC for a BUY, tokens for a SELL. The part below a lot of a filled order counts as filled. */
export function filledAmount(order: OrderAmounts): number {
  if (order.status === ORDER_STATUS.FILLED) return order.makerAmount;
  const tokens = filledTokens(order);
  return order.side === SIDE.BUY ? mulDivFloor(order.makerAmount, tokens, order.takerAmount) : tokens;
}

/** In the maker's asset. */
export function remainingAmount(order: OrderAmounts): number {
  return isSpent(order) ? 0 : order.makerAmount - filledAmount(order);
}

export function filledLimitNotional(order: OrderFacts): number {
  if (order.status === ORDER_STATUS.FILLED) return signedNotional(order);
  return mulDivFloor(signedNotional(order), filledTokens(order), signedTokens(order));
}

export function remainingLimitNotional(order: OrderFacts): number {
  return isSpent(order) ? 0 : signedNotional(order) - filledLimitNotional(order);
}

/** A price with 8 digits. Orders that may rest are on the grid; other orders have the signed ratio. */
export function limitPrice(order: OrderFacts): string {
  return isImmediate(order.timeInForce)
    ? ratioToPrice8Floor(signedNotional(order), signedTokens(order))
    : tickToPrice8(order.limitTicks, order.ticksPerUnit);
}

/** A price with 8 digits, rounded down; null before the first fill. */
export function averageFillPrice(order: OrderFacts): string | null {
  const tokens = filledTokens(order);
  return tokens === 0 ? null : ratioToPrice8Floor(order.filledNotionalMicro, tokens);
}

/** Converts a price in Yes terms to the terms of an outcome, or back: the mirror is its own inverse. */
export function ownTicks(outcome: number, yesTicks: number, ticksPerUnit: number): number {
  return outcome === OUTCOME.YES ? yesTicks : ticksPerUnit - yesTicks;
}

function signedNotional(order: OrderFacts): number {
  return order.side === SIDE.BUY ? order.makerAmount : order.takerAmount;
}

function signedTokens(order: OrderFacts): number {
  return order.side === SIDE.BUY ? order.takerAmount : order.makerAmount;
}

/** Nothing remains of a filled order, or of an order that may not rest and whose remainder was killed. */
function isSpent(order: OrderAmounts): boolean {
  return (
    order.status === ORDER_STATUS.FILLED || (order.status === ORDER_STATUS.CANCELLED && isImmediate(order.timeInForce))
  );
}
