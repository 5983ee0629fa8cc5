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

/** Of the order that the record now replied to has placed. */
export function placementResponse(views: Views, shard: number, body: Placement): object {
  const fills = fillsOf(views, shard);
  return { ...nameOf(views, shard, body), matches: fills.length, fills };
}

/** As a row of a batch has it: there `matches` are the fills themselves. */
export function nestedResponse(views: Views, shard: number, body: Placement): object {
  return { ...nameOf(views, shard, body), matches: fillsOf(views, shard) };
}

/** Of the order that took another one's place; reply `a` and `b` say how. */
export function amendResponse(views: Views, { shard, a, b }: EngineReply, body: Placement): object {
  const facts = placedFacts(views, shard, body);
  return {
    ...placementResponse(views, shard, body),
    price: limitPrice(facts),
    maker_amount: body.maker_amount,
    taker_amount: body.taker_amount,
    remaining: String(remainingAmount(facts)),
    time_priority: a === 1,
    price_changed: b === 1,
  };
}

export function placedHash(views: Views, shard: number): string {
  return hashText(views.orders[shard]!, views.outcomes[shard]!.slot);
}

export function placedId(views: Views, shard: number): string {
  return views.orders[shard]!.orderId(views.outcomes[shard]!.slot);
}

function nameOf(views: Views, shard: number, { client_order_id, order_group }: Placement) {
  const status = ORDER_STATUS_NAMES[views.outcomes[shard]!.status()];
  // What the order does not have is undefined, and no member of the answer.
  return {
    order_id: placedId(views, shard),
    order_hash: placedHash(views, shard),
    client_order_id,
    order_group,
    status,
  };
}

/** What never rests keeps the ratio it was signed with, and nothing of it remains. */
function placedFacts(views: Views, shard: number, body: Placement): OrderFacts {
  const outcome = views.outcomes[shard]!;
  const facts = openOrderFacts(views, views.orders[shard]!, outcome.slot);
  const makerAmount = Number(body.maker_amount);
  return { ...facts, makerAmount, takerAmount: Number(body.taker_amount), status: outcome.finalStatus() };
}

function fillsOf(views: Views, shard: number): object[] {
  const orders = views.orders[shard]!;
  const outcome = views.outcomes[shard]!;
  const ticksPerUnit = views.markets.ticksPerUnit(orders.marketOf(outcome.slot));
  const fills: object[] = [];
  for (let at = 0; at < outcome.fills; at++) fills.push(fillOf(orders, outcome, at, ticksPerUnit));
  return fills;
}

/** In terms of the placed order's own outcome (RULES.md 2). */
function fillOf(orders: OpenOrders, outcome: Outcome, at: number, ticksPerUnit: number): object {
  const lots = outcome.lots[at]!;
  const ownTicks = mirrorTicks(orders.kind[outcome.slot]!, outcome.yesTicks[at]!, ticksPerUnit);
  return {
    trade_id: timeOrderedId(outcome.timeMs, orders.shard, ID_KIND.TRADE, outcome.tradeSequence[at]!),
    price: tickToPrice(ownTicks, ticksPerUnit),
    token_quantity_atomic: String(lots * ticksPerUnit),
    notional_usdc_micro: String(lots * ownTicks),
    match_type: MATCH_TYPE_NAMES[outcome.matchType[at]!],
    maker_order_id: orders.orderId(outcome.makerSlot[at]!),
  };
}

function hashText(orders: OpenOrders, slot: number): string {
  return toHex(new Uint8Array(orders.hash.buffer, slot * HASH_BYTES, HASH_BYTES));
}
