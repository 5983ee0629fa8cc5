/** An account's own orders (RULES.md 7.1) and an order's position in its queue (RULES.md 7.14). */
import {
  OPEN_ORDERS,
  OPEN_ORDERS_QUERY,
  ORDER_RECORD,
  QUEUE_POSITION,
  type QueuePosition,
} from '../../shared/api/orders.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { HASH_BYTES } from '../../shared/base/hex.ts';
import { productToString } from '../../shared/base/int.ts';
import { type OrderRecord, orderRecord } from '../../shared/base/orderMath.ts';
import { HASH_PARAM, MARKET_ID_PARAM, requireHash } from '../http/pathParams.ts';
import { ok, okArray, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import { requireMarket } from '../markets/requireMarket.ts';
import { NONE } from '../shardlink/growingColumn.ts';
import { OrderCopies } from '../shardlink/orderCopies.ts';
import { type OrderColumns, openOrderFacts } from '../shardlink/orderFacts.ts';
import { OrderTexts } from '../shardlink/orderTexts.ts';
import { type OpenOrders, ORDER_STATE } from '../shardlink/orderViews.ts';
import { queuePosition } from '../shardlink/queuePosition.ts';
import type { Views } from '../shardlink/views.ts';
import type { AccountReads } from './reads.ts';

type OrderReadDeps = {
  readonly views: Views;
  readonly catalog: Catalog;
  readonly groups: { named<R extends object>(record: R, group: number): R };
  readonly queries: Pick<AccountReads, 'orderByHash'>;
};

const READ = { method: 'GET', access: 'read:account' } as const;

const SHOW_ORDER = {
  ...READ,
  path: '/v1/orders/:hash',
  id: 'getOrder',
  summary: 'One order of the account, open or closed.',
  limit: 'orderByHash',
  params: HASH_PARAM,
  answers: { 200: ORDER_RECORD },
  errors: ['VALIDATION_ERROR', 'ORDER_NOT_FOUND'],
} as const satisfies RouteSpec;

const SHOW_QUEUE_POSITION = {
  ...READ,
  path: '/v1/orders/:hash/queue',
  id: 'getQueuePosition',
  summary: 'The position of a resting order in the queue of its price.',
  params: HASH_PARAM,
  answers: { 200: QUEUE_POSITION },
  errors: ['VALIDATION_ERROR', 'ORDER_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

const LIST_OPEN_ORDERS = {
  ...READ,
  path: '/v1/orders/open/:market_id',
  id: 'listOpenOrders',
  summary: 'The open orders of the account in one market, oldest first.',
  params: MARKET_ID_PARAM,
  query: OPEN_ORDERS_QUERY,
  answers: { 200: OPEN_ORDERS },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

export function orderReadRoutes(deps: OrderReadDeps): Route[] {
  const texts = new OrderTexts();
  return [
    route(SHOW_ORDER, orderHandler(deps)),
    route(SHOW_QUEUE_POSITION, queueHandler(deps)),
    route(LIST_OPEN_ORDERS, (call) => showOpenOrders(call, deps, texts)),
  ];
}

/**
 * The views show open orders, read.db closed ones. The views see a close first, and the query waits until read.db has
 * it too, so an order is always found.
 */
function orderHandler(deps: OrderReadDeps): Handler<typeof SHOW_ORDER> {
  const whereOf = finder(deps);
  return async (call) => {
    const where = whereOf(call);
    if (where === null) return;
    if ('slot' in where) ok(call, recordOf(deps, where.orders, where.slot));
    else await answerClosed(call, deps, where.hash, (record) => ok(call, record));
  };
}

function queueHandler(deps: OrderReadDeps): Handler<typeof SHOW_QUEUE_POSITION> {
  const whereOf = finder(deps);
  return async (call) => {
    const where = whereOf(call);
    if (where === null) return;
    const isResting = 'slot' in where && where.orders.state[where.slot] === ORDER_STATE.RESTING;
    if (isResting) ok(call, positionOf(deps.views, where.orders, where.slot));
    else if ('slot' in where) refuseQueue(call);
    else await answerClosed(call, deps, where.hash, () => refuseQueue(call));
  };
}

type OrderCall = CallOf<typeof SHOW_ORDER | typeof SHOW_QUEUE_POSITION>;
type Where = { readonly orders: OpenOrders; readonly slot: number } | { readonly hash: Uint8Array };

/** The open order of the call, or the hash of an order that is not open; null if the call was answered. */
function finder({ views }: OrderReadDeps): (call: OrderCall) => Where | null {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  return (call) => {
    if (!requireHash(call, hashBytes)) return null;
    for (const orders of views.orders) {
      const slot = orders.find(hash, 0);
      if (slot === NONE) continue;
      if (orders.accountOf(slot) === call.principal.accountIndex) return { orders, slot };
      refuse(call, { row: ERRORS.ORDER_NOT_FOUND });
      return null;
    }
    // A copy, because the next call parses its hash into the same bytes.
    return { hash: hashBytes.slice() };
  };
}

async function answerClosed(
  call: AccountCall,
  { queries }: OrderReadDeps,
  hash: Uint8Array,
  show: (record: OrderRecord) => void,
): Promise<void> {
  const result = await queries.orderByHash(call, hash);
  if (!result.ok) refuse(call, { row: result.row });
  else if (result.value === null) refuse(call, { row: ERRORS.ORDER_NOT_FOUND });
  else show(result.value);
}

function refuseQueue(call: AccountCall): void {
  refuse(call, { row: ERRORS.CONFLICT, message: 'order is not in the book' });
}

function positionOf(views: Views, orders: OpenOrders, slot: number): QueuePosition {
  const market = orders.marketOf(slot);
  const ticksPerUnit = views.markets.ticksPerUnit(market);
  const { ahead, levelLots } = queuePosition(views.books.open(market, ticksPerUnit), orders, slot);
  return {
    ahead_orders: ahead === null ? null : ahead.orders,
    ahead_token_quantity_atomic: ahead === null ? null : productToString(ahead.lots, ticksPerUnit),
    level_token_quantity_atomic: productToString(levelLots, ticksPerUnit),
    sequence: views.markets.sequence(market),
  };
}

function recordOf({ views, groups }: OrderReadDeps, orders: OrderColumns, slot: number): OrderRecord {
  return groups.named(orderRecord(openOrderFacts(views, orders, slot)), orders.groupOf(slot));
}

function showOpenOrders(call: CallOf<typeof LIST_OPEN_ORDERS>, deps: OrderReadDeps, texts: OrderTexts): void {
  const market = requireMarket(call, deps, call.params.market_id);
  if (market === null) return;
  const orders = deps.views.orders[market.shard];
  const { limit, cursor } = call.query;
  const pair = deps.views.pairs.find(call.principal.accountIndex, market.index);
  const slots = pair === NONE ? [] : orders.openAfter(pair, cursor ?? 0, limit ?? Number.POSITIVE_INFINITY);
  const copies = new OrderCopies(orders, market.index, slots);
  okArray(call, textsOf(copies, orders, deps, texts));
}

/** All texts show the moment at which the orders were copied. */
function* textsOf(copies: OrderCopies, orders: OpenOrders, deps: OrderReadDeps, texts: OrderTexts): Generator<string> {
  const { count, slots, changes } = copies;
  for (let row = 0; row < count; row++) {
    let text = texts.find(orders, slots[row], changes[row]);
    if (text === undefined) {
      text = JSON.stringify(recordOf(deps, copies, row));
      texts.keep(orders, slots[row], changes[row], text);
    }
    yield text;
  }
}
