/** An account's own orders (RULES.md 7.1) and where one stands in its queue (RULES.md 7.14). */
import { ERRORS } from '../../shared/errors.ts';
import { HASH_BYTES } from '../../shared/hex.ts';
import { productToString } from '../../shared/int.ts';
import { type OrderRecord, orderRecord } from '../../shared/orderMath.ts';
import type { Call } from '../call.ts';
import type { Catalog } from '../control/catalog.ts';
import type { GroupDesk } from '../groupDesk.ts';
import type { QueryPool } from '../queries/pool.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { NONE } from '../views/columns.ts';
import type { Views } from '../views/index.ts';
import { openOrderFacts } from '../views/orderFacts.ts';
import { type OpenOrders, ORDER_STATE } from '../views/orders.ts';
import { queuePlace } from '../views/queuePlace.ts';
import { requireHashParam, requireMarketParam } from './pathParams.ts';

export type OrderReadDeps = {
  readonly views: Views;
  readonly catalog: Catalog;
  readonly groups: GroupDesk;
  readonly queries: Pick<QueryPool, 'orderByHash'>;
};

const READ = { method: 'GET', access: 'read:account' } as const;

export function orderReadRoutes(deps: OrderReadDeps): Route[] {
  return [
    { ...READ, path: '/v1/orders/:hash', limit: 'orderByHash', handler: orderHandler(deps) },
    { ...READ, path: '/v1/orders/:hash/queue', limit: 'unlisted', handler: queueHandler(deps) },
    {
      ...READ,
      path: '/v1/orders/open/:market_id',
      limit: 'unlisted',
      handler: (call) => showOpenOrders(call, deps),
    },
  ];
}

/** An order is open here or closed there; between the two it is never nowhere, since a closing is told here first. */
function orderHandler(deps: OrderReadDeps): Route['handler'] {
  const whereOf = finder(deps);
  return async (call) => {
    const where = whereOf(call);
    if (where === null) return;
    if ('slot' in where) ok(call, recordOf(deps, where.orders, where.slot));
    else await answerClosed(call, deps, where.hash, (record) => ok(call, record));
  };
}

function queueHandler(deps: OrderReadDeps): Route['handler'] {
  const whereOf = finder(deps);
  return async (call) => {
    const where = whereOf(call);
    if (where === null) return;
    const isResting = 'slot' in where && where.orders.state[where.slot] === ORDER_STATE.RESTING;
    if (isResting) ok(call, placeOf(deps.views, where.orders, where.slot));
    else if ('slot' in where) refuseQueue(call);
    else await answerClosed(call, deps, where.hash, () => refuseQueue(call));
  };
}

type Where = { readonly orders: OpenOrders; readonly slot: number } | { readonly hash: Uint8Array };

/** The open order of the call, or the hash of one that is not; null when the call was answered. */
function finder({ views }: OrderReadDeps): (call: Call) => Where | null {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  return (call) => {
    if (!requireHashParam(call, hashBytes)) return null;
    for (const orders of views.orders) {
      const slot = orders.find(hash, 0);
      if (slot === NONE) continue;
      if (orders.accountOf(slot) === call.key!.accountIndex) return { orders, slot };
      fail(call, ERRORS.ORDER_NOT_FOUND);
      return null;
    }
    // A copy: the next call parses its hash into the same bytes.
    return { hash: hashBytes.slice() };
  };
}

async function answerClosed(
  call: Call,
  { queries }: OrderReadDeps,
  hash: Uint8Array,
  show: (record: OrderRecord) => void,
): Promise<void> {
  const result = await queries.orderByHash(call.key!.accountIndex, hash);
  if (!result.ok) fail(call, result.row);
  else if (result.value === null) fail(call, ERRORS.ORDER_NOT_FOUND);
  else show(result.value);
}

function refuseQueue(call: Call): void {
  fail(call, ERRORS.CONFLICT, { message: 'order is not in the book' });
}

function placeOf(views: Views, orders: OpenOrders, slot: number): object {
  const market = orders.marketOf(slot);
  const ticksPerUnit = views.markets.ticksPerUnit(market);
  const { ahead, levelLots } = queuePlace(views.books.open(market, ticksPerUnit), orders, slot);
  return {
    ahead_orders: ahead === null ? null : ahead.orders,
    ahead_token_quantity_atomic: ahead === null ? null : productToString(ahead.lots, ticksPerUnit),
    level_token_quantity_atomic: productToString(levelLots, ticksPerUnit),
    sequence: views.markets.sequence(market),
  };
}

function recordOf({ views, groups }: OrderReadDeps, orders: OpenOrders, slot: number): OrderRecord {
  return groups.named(orderRecord(openOrderFacts(views, orders, slot)), orders.groupOf(slot));
}

function showOpenOrders(call: Call, deps: OrderReadDeps): void {
  const market = requireMarketParam(call, deps, 'market_id');
  if (market === null) return;
  const { views } = deps;
  const orders = views.orders[market.shard]!;
  const records: OrderRecord[] = [];
  const pair = views.pairs.find(call.key!.accountIndex, market.index);
  if (pair !== NONE) {
    for (let slot = orders.oldestOf(pair); slot !== NONE; slot = orders.nextInList(slot)) {
      records.push(recordOf(deps, orders, slot));
    }
  }
  ok(call, records);
}
