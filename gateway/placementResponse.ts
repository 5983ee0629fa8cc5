/** What an order that was accepted is answered with (RULES.md 2.9, 7.3, 7.10). */
import { MATCH_TYPE_NAMES, ORDER_STATUS_NAMES } from '../shared/codes.ts';
import { HASH_BYTES, toHex } from '../shared/hex.ts';
import { ID_KIND, timeOrderedId } from '../shared/ids.ts';
import { limitPrice, type OrderFacts, remainingAmount } from '../shared/orderMath.ts';
import { tickToPrice } from '../shared/units.ts';
import type { Placement } from './encodeOrder.ts';
import type { EngineReply } from './engineClient.ts';
import type { Views } from './views/index.ts';
import { openOrderFacts } from './views/orderFacts.ts';
import { mirrorTicks, type OpenOrders } from './views/orders.ts';
import type { Outcome } from './views/outcome.ts';

/**
 * An order as the record that placed it left it: read from the views right behind that record, or much later from the
 * read model (queries/keys.ts), and rendered here either way, so that both give the same bytes.
 */
export type Placed = {
  readonly id: string;
  readonly hash: string;
  /** ORDER_STATUS, as a placement answers it. */
  readonly status: number;
  readonly ticksPerUnit: number;
  readonly fills: readonly PlacedFill[];
  /** Only of an amend: the whole order, and how it stands to the one it replaced. */
  readonly replaced: {
    readonly facts: OrderFacts;
    readonly keptPlace: boolean;
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

/** Of the order that the record now replied to has placed. */
export function placedNow(views: Views, reply: EngineReply, body: Placement, isAmend: boolean): Placed {
  const { shard, a, b } = reply;
  const orders = views.orders[shard]!;
  const outcome = views.outcomes[shard]!;
  const { slot } = outcome;
  const ticksPerUnit = views.markets.ticksPerUnit(orders.marketOf(slot));
  const fills: PlacedFill[] = [];
  for (let at = 0; at < outcome.fills; at++) fills.push(fillAt(orders, outcome, at, ticksPerUnit));
  return {
    id: orders.orderId(slot),
    hash: toHex(new Uint8Array(orders.hash.buffer, slot * HASH_BYTES, HASH_BYTES)),
    status: outcome.status(),
    ticksPerUnit,
    fills,
    replaced: isAmend ? { facts: placedFacts(views, shard, body), keptPlace: a === 1, changedPrice: b === 1 } : null,
  };
}

export function placementResponse(placed: Placed, body: Placement): object {
  const fills = renderedFills(placed);
  return { ...nameOf(placed, body), matches: fills.length, fills };
}

/** As a row of a batch has it: there `matches` are the fills themselves. */
export function nestedResponse(placed: Placed, body: Placement): object {
  return { ...nameOf(placed, body), matches: renderedFills(placed) };
}

/** Of the order that took another one's place. */
export function amendResponse(placed: Placed, body: Placement): object {
  const { facts, keptPlace, changedPrice } = placed.replaced!;
  return {
    ...placementResponse(placed, body),
    price: limitPrice(facts),
    maker_amount: body.maker_amount,
    taker_amount: body.taker_amount,
    remaining: String(remainingAmount(facts)),
    time_priority: keptPlace,
    price_changed: changedPrice,
  };
}

function nameOf({ id, hash, status }: Placed, { client_order_id, order_group }: Placement) {
  // What the order does not have is undefined, and no member of the answer.
  return { order_id: id, order_hash: hash, client_order_id, order_group, status: ORDER_STATUS_NAMES[status] };
}

function renderedFills({ fills, ticksPerUnit }: Placed): object[] {
  return fills.map(({ tradeId, makerOrderId, matchType, lots, ownTicks }) => ({
    trade_id: tradeId,
    price: tickToPrice(ownTicks, ticksPerUnit),
    token_quantity_atomic: String(lots * ticksPerUnit),
    notional_usdc_micro: String(lots * ownTicks),
    match_type: MATCH_TYPE_NAMES[matchType]!,
    maker_order_id: makerOrderId,
  }));
}

/** What never rests keeps the ratio it was signed with, and nothing of it remains. */
function placedFacts(views: Views, shard: number, body: Placement): OrderFacts {
  const outcome = views.outcomes[shard]!;
  const facts = openOrderFacts(views, views.orders[shard]!, outcome.slot);
  const makerAmount = Number(body.maker_amount);
  return { ...facts, makerAmount, takerAmount: Number(body.taker_amount), status: outcome.finalStatus() };
}

function fillAt(orders: OpenOrders, outcome: Outcome, at: number, ticksPerUnit: number): PlacedFill {
  return {
    tradeId: timeOrderedId(outcome.timeMs, orders.shard, ID_KIND.TRADE, outcome.tradeSequence[at]!),
    makerOrderId: orders.orderId(outcome.makerSlot[at]!),
    matchType: outcome.matchType[at]!,
    lots: outcome.lots[at]!,
    ownTicks: mirrorTicks(orders.kind[outcome.slot]!, outcome.yesTicks[at]!, ticksPerUnit),
  };
}
