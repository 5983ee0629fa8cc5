/** The answers to orders that were accepted (RULES.md 2.9, 7.3, 7.10). */
import type { AmendResponse, Fill, PlacementResponse, ReplacedOrder } from '../../shared/api/orders.ts';
import { MATCH_TYPE_NAMES, ORDER_STATUS, ORDER_STATUS_NAMES } from '../../shared/base/codes.ts';
import { toHex } from '../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { limitPrice, type OrderFacts, ownTicks, remainingAmount } from '../../shared/base/orderMath.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { kindOutcome } from '../../shared/wire/commands.ts';
import { openOrderFacts } from '../shardlink/orderFacts.ts';
import type { OpenOrders } from '../shardlink/orderViews.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { Order } from './order.ts';
import type { Placed, PlacedFill } from './placed.ts';

type Amounts = Pick<Order, 'makerAmount' | 'takerAmount'>;
type Tags = Pick<Order, 'clientId' | 'groupName'>;

/** The order that the record of this reply has placed. */
export function placedNow(views: Views, reply: ShardReply, order: Amounts, isAmend: boolean): Placed {
  const { shard, result, a, b } = reply;
  const orders = views.orders[shard];
  const facts = placedFacts(views, reply, order);
  const fills: PlacedFill[] = [];
  for (let at = 0; at < result.fills; at++) fills.push(fillAt(orders, result, at, facts.ticksPerUnit));
  return {
    facts,
    status: result.status(),
    fills,
    replaced: isAmend ? { keptPriority: a === 1, changedPrice: b === 1 } : null,
  };
}

export function placementResponse(placed: Placed, tags: Tags): PlacementResponse {
  const fills = renderedFills(placed);
  return { ...nameOf(placed, tags), matches: fills.length, fills, ...remainderOf(placed) };
}

/** The same as text, built without the object, which saves two thirds of the time; most requests use it. */
export function placementText(placed: Placed, tags: Tags): string {
  const hash = toHex(placed.facts.hash);
  return (
    `{${nameText(placed, hash, tags)}"matches":${placed.fills.length},"fills":${fillsText(placed)},` +
    `${remainderText(placed)}}`
  );
}

/** The row of a batch, as text likewise; `matches` are the fills themselves there. */
export function placedRowText(index: number, placed: Placed, tags: Tags): string {
  const hash = toHex(placed.facts.hash);
  return (
    `{"index":${index},"status":"success","order_hash":"${hash}","order_id":"${placed.facts.id}",` +
    `"response":{${nameText(placed, hash, tags)}"matches":${fillsText(placed)},${remainderText(placed)}}}`
  );
}

/** Members with a comma after each. */
function nameText({ facts, status }: Placed, hash: string, { clientId, groupName }: Tags): string {
  const tags = clientId === undefined && groupName === undefined ? '' : tagsText(clientId, groupName);
  return `"order_id":"${facts.id}","order_hash":"${hash}",${tags}"status":"${ORDER_STATUS_NAMES[status]}",`;
}

function fillsText(placed: Placed): string {
  return placed.fills.length === 0 ? '[]' : JSON.stringify(renderedFills(placed));
}

function remainderText(placed: Placed): string {
  const { remaining, remaining_status } = remainderOf(placed);
  return `"remaining":"${remaining}","remaining_status":"${remaining_status}"`;
}

/** Members with a comma after each. */
function tagsText(client_order_id: string | undefined, order_group: string | undefined): string {
  const members = JSON.stringify({ client_order_id, order_group });
  return `${members.slice(1, -1)},`;
}

/** The response to an amend, about the order that replaced another one. */
export function amendResponse(placed: Placed, order: Amounts & Tags, replaced_order: ReplacedOrder): AmendResponse {
  const { facts } = placed;
  const { keptPriority, changedPrice } = placed.replaced!;
  return {
    ...placementResponse(placed, order),
    price: limitPrice(facts),
    maker_amount: String(order.makerAmount),
    taker_amount: String(order.takerAmount),
    time_priority: keptPriority,
    price_changed: changedPrice,
    replaced_order,
  };
}

/** The remainder is in the maker's asset; the status shows what happened to it (RULES.md 2.9). */
function remainderOf({ facts }: Placed): Pick<PlacementResponse, 'remaining' | 'remaining_status'> {
  const isCancelled = facts.status === ORDER_STATUS.CANCELLED;
  const remaining_status = facts.remainingLots === 0 ? 'none' : isCancelled ? 'cancelled' : 'open';
  return { remaining: String(remainingAmount(facts)), remaining_status };
}

function nameOf({ facts, status }: Placed, { clientId, groupName }: Tags) {
  // Most orders have neither, and a spread is made for each order.
  if (clientId === undefined && groupName === undefined) {
    return { order_id: facts.id, order_hash: toHex(facts.hash), status: ORDER_STATUS_NAMES[status] };
  }
  return {
    order_id: facts.id,
    order_hash: toHex(facts.hash),
    ...(clientId === undefined ? {} : { client_order_id: clientId }),
    ...(groupName === undefined ? {} : { order_group: groupName }),
    status: ORDER_STATUS_NAMES[status],
  };
}

function renderedFills({ fills, facts: { ticksPerUnit } }: Placed): Fill[] {
  return fills.map(({ tradeId, makerOrderId, matchType, lots, ownTicks }) => ({
    trade_id: tradeId,
    price: tickToPrice(ownTicks, ticksPerUnit),
    token_quantity_atomic: String(lots * ticksPerUnit),
    notional_usdc_micro: String(lots * ownTicks),
    match_type: MATCH_TYPE_NAMES[matchType],
    maker_order_id: makerOrderId,
  }));
}

/** An order that never rests keeps the ratio it was signed with, and has no remainder. */
function placedFacts(views: Views, { shard, result }: ShardReply, { makerAmount, takerAmount }: Amounts): OrderFacts {
  const facts = openOrderFacts(views, views.orders[shard], result.slot);
  facts.makerAmount = makerAmount;
  facts.takerAmount = takerAmount;
  facts.status = result.finalStatus();
  return facts;
}

function fillAt(orders: OpenOrders, result: RecordResult, at: number, ticksPerUnit: number): PlacedFill {
  return {
    tradeId: timeOrderedId(result.timeMs, orders.shard, ID_KIND.TRADE, result.tradeSequence[at]),
    makerOrderId: orders.orderId(result.makerSlot[at]),
    matchType: result.matchType[at],
    lots: result.lots[at],
    ownTicks: ownTicks(kindOutcome(orders.kind[result.slot]), result.yesTicks[at], ticksPerUnit),
  };
}
