/** Placing, cancelling and reading orders, and the book (RULES.md 7). */
import type { Clock } from '../../shared/clock.ts';
import { MATCH_TYPE_NAMES, ORDER_STATUS_NAMES, OUTCOME, type Outcome } from '../../shared/codes.ts';
import { BOTH_OUTCOMES } from '../../shared/commands.ts';
import { ERRORS, OK } from '../../shared/errors.ts';
import { HASH_BYTES, toHex } from '../../shared/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/ids.ts';
import { type OrderRecord, orderRecord } from '../../shared/orderMath.ts';
import { tickToPrice } from '../../shared/units.ts';
import type { Call } from '../call.ts';
import type { Accounts } from '../control/accounts.ts';
import type { Catalog, MarketEntry } from '../control/catalog.ts';
import { OrderEncoder, PLACEMENT_SCHEMA, type Placement, type PlacementExtras } from '../encodeOrder.ts';
import type { EngineClient, ReplyHandler } from '../engineClient.ts';
import { refuse, refuseCode } from '../engineRefusal.ts';
import type { QueryPool } from '../queries/pool.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { type BookLevels, bookLevels } from '../views/bookLevels.ts';
import { NONE } from '../views/columns.ts';
import type { Views } from '../views/index.ts';
import { openOrderFacts } from '../views/orderFacts.ts';
import { mirrorTicks, type OpenOrders } from '../views/orders.ts';
import type { Outcome as RecordOutcome } from '../views/outcome.ts';
import { requireHashParam, requireMarket, requireMarketParam } from './pathParams.ts';
import { RenderedBooks } from './renderedBooks.ts';

export type OrderDeps = {
  readonly engine: EngineClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly queries: Pick<QueryPool, 'orderByHash'>;
};

type BookQuery = { readonly outcome_index: Outcome; readonly levels: number; readonly both: boolean };
type CancelMarketBody = { readonly market_id: string; readonly outcome_index?: Outcome };

const BOOK_QUERY = {
  type: 'object',
  properties: {
    outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO], default: OUTCOME.YES },
    levels: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    both: { type: 'boolean', default: false },
  },
};

const CANCEL_MARKET_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['market_id'],
  properties: {
    market_id: { type: 'string', format: 'uuid' },
    outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO] },
  },
};

/** Books of one depth: of either outcome, and of both. */
const BOOKS_PER_DEPTH = 3;
const BOTH_BOOKS = 2;

const ORDER_CANCELLED = JSON.stringify({ message: 'order cancelled' });

export function orderRoutes(deps: OrderDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/orders',
      access: 'trade:orders',
      limit: 'placeOrder',
      idempotent: true,
      placing: true,
      body: PLACEMENT_SCHEMA,
      handler: placeHandler(deps),
    },
    {
      method: 'DELETE',
      path: '/v1/orders/cancel-all',
      access: 'trade:bulk',
      limit: 'massCancel',
      handler: cancelAllHandler(deps),
    },
    {
      method: 'DELETE',
      path: '/v1/orders/cancel-market',
      access: 'trade:bulk',
      limit: 'massCancel',
      body: CANCEL_MARKET_BODY,
      handler: cancelMarketHandler(deps),
    },
    {
      method: 'DELETE',
      path: '/v1/orders/:hash',
      access: 'trade:orders',
      limit: 'cancelOrder',
      handler: cancelHandler(deps),
    },
    {
      method: 'GET',
      path: '/v1/orders/:hash',
      access: 'read:account',
      limit: 'orderByHash',
      handler: orderHandler(deps),
    },
    {
      method: 'GET',
      path: '/v1/orders/open/:market_id',
      access: 'read:account',
      limit: 'unlisted',
      handler: (call) => showOpenOrders(call, deps),
    },
    {
      method: 'GET',
      path: '/v1/orders/book/:market_id',
      access: 'public',
      limit: 'unlisted',
      query: BOOK_QUERY,
      handler: bookHandler(deps),
    },
  ];
}

function placeHandler({ engine, views, catalog, accounts }: OrderDeps): Route['handler'] {
  const encoder = new OrderEncoder(catalog, accounts);
  const onReply: ReplyHandler<Call> = (reply, call) => {
    if (reply.code === OK) ok(call, placementResponse(views, reply.shard));
    else refuse(call, reply, (call.json as Placement).side === 'BUY' ? 'USDC' : 'TOKEN');
  };
  const extrasOf = ({ client_order_id: id }: Placement, account: number): PlacementExtras | undefined =>
    id === undefined ? undefined : { isClientIdTaken: views.findByClientId(account, id) !== null };
  return (call) => {
    const key = call.key!;
    const body = call.json as Placement;
    const encoded = encoder.tryEncode(body, key, extrasOf(body, key.accountIndex));
    if ('row' in encoded) {
      fail(call, encoded.row, encoded.options);
      return;
    }
    const code = engine.place(encoded.shard, key.accountIndex, encoded.index, encoder.record, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

/** Of the order that the record now replied to has placed. */
function placementResponse(views: Views, shard: number): object {
  const orders = views.orders[shard]!;
  const outcome = views.outcomes[shard]!;
  const { slot } = outcome;
  const ticksPerUnit = views.markets.ticksPerUnit(orders.marketOf(slot));
  const fills: object[] = [];
  for (let at = 0; at < outcome.fills; at++) fills.push(fillOf(orders, outcome, at, ticksPerUnit));
  return {
    order_id: orders.orderId(slot),
    order_hash: hashText(orders, slot),
    ...clientIdField(orders, slot),
    status: ORDER_STATUS_NAMES[outcome.status()],
    matches: fills.length,
    fills,
  };
}

/** In terms of the placed order's own outcome (RULES.md 2). */
function fillOf(orders: OpenOrders, outcome: RecordOutcome, at: number, ticksPerUnit: number): object {
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

function cancelHandler({ engine, views }: OrderDeps): Route['handler'] {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  const onReply: ReplyHandler<Call> = (reply, call) => {
    if (reply.code === OK) ok(call, ORDER_CANCELLED);
    else refuseCode(call, reply.code);
  };
  return (call) => {
    if (!requireHashParam(call, hashBytes)) return;
    const account = call.key!.accountIndex;
    const open = views.orders.find((orders) => orders.find(hash, 0) !== NONE);
    const code =
      open === undefined
        ? engine.cancelAnywhere(account, hash, onReply, call)
        : engine.cancel(open.shard, account, hash, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

function cancelAllHandler({ engine }: OrderDeps): Route['handler'] {
  const onReply: ReplyHandler<Call> = (reply, call) => {
    if (reply.code === OK) ok(call, { cancelled: reply.a, message: 'all open orders cancelled' });
    else refuseCode(call, reply.code);
  };
  return (call) => {
    const code = engine.cancelAll(call.key!.accountIndex, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

function cancelMarketHandler(deps: OrderDeps): Route['handler'] {
  const onReply: ReplyHandler<Call> = (reply, call) => {
    const { market_id } = call.json as CancelMarketBody;
    if (reply.code !== OK) refuseCode(call, reply.code);
    else ok(call, { message: 'open orders cancelled', market_id: market_id.toLowerCase(), cancelled: reply.a });
  };
  return (call) => {
    const { market_id, outcome_index } = call.json as CancelMarketBody;
    const market = requireMarket(call, deps, market_id);
    if (market === null) return;
    const account = call.key!.accountIndex;
    const outcome = outcome_index ?? BOTH_OUTCOMES;
    const code = deps.engine.cancelMarket(market.shard, account, market.index, outcome, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

/** An order is open here or closed there; between the two it is never nowhere, since a closing is told here first. */
function orderHandler({ views, queries }: OrderDeps): Route['handler'] {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  return async (call) => {
    if (!requireHashParam(call, hashBytes)) return;
    const account = call.key!.accountIndex;
    for (const orders of views.orders) {
      const slot = orders.find(hash, 0);
      if (slot === NONE) continue;
      if (orders.accountOf(slot) === account) ok(call, orderRecord(openOrderFacts(views, orders, slot)));
      else fail(call, ERRORS.ORDER_NOT_FOUND);
      return;
    }
    // A copy: the next call parses its hash into the same bytes.
    const result = await queries.orderByHash(account, hashBytes.slice());
    if (!result.ok) fail(call, result.row);
    else if (result.value === null) fail(call, ERRORS.ORDER_NOT_FOUND);
    else ok(call, result.value);
  };
}

function showOpenOrders(call: Call, deps: OrderDeps): void {
  const market = requireMarketParam(call, deps, 'market_id');
  if (market === null) return;
  const { views } = deps;
  const orders = views.orders[market.shard]!;
  const records: OrderRecord[] = [];
  const pair = views.pairs.find(call.key!.accountIndex, market.index);
  if (pair !== NONE) {
    for (let slot = orders.oldestOf(pair); slot !== NONE; slot = orders.nextInList(slot)) {
      records.push(orderRecord(openOrderFacts(views, orders, slot)));
    }
  }
  ok(call, records);
}

function bookHandler({ catalog, views, clock }: OrderDeps): Route['handler'] {
  const rendered = new RenderedBooks();
  return (call) => {
    const market = requireMarketParam(call, { catalog, views }, 'market_id');
    if (market === null) return;
    const { outcome_index, levels, both } = call.query as BookQuery;
    const sequence = views.markets.sequence(market.index);
    const variant = levels * BOOKS_PER_DEPTH + (both ? BOTH_BOOKS : outcome_index);
    const render = (): object => bookAnswer(views, market, call.query as BookQuery, sequence);
    ok(call, rendered.show(market.index, variant, sequence, clock.nowMs(), render));
  };
}

function bookAnswer(views: Views, market: MarketEntry, query: BookQuery, sequence: number): object {
  const { outcome_index, levels, both } = query;
  const book = views.books.of(market.index);
  const levelsOf = (outcome: Outcome): BookLevels => bookLevels(book, outcome, levels);
  if (!both) return { market_id: market.id, outcome_index, ...levelsOf(outcome_index), sequence };
  return { market_id: market.id, outcome_0: levelsOf(OUTCOME.YES), outcome_1: levelsOf(OUTCOME.NO), sequence };
}

/** Echoed where the order has one (RULES.md 7.7). */
function clientIdField(orders: OpenOrders, slot: number): { client_order_id?: string } {
  const clientId = orders.clientIdOf(slot);
  return clientId === null ? {} : { client_order_id: clientId };
}

function hashText(orders: OpenOrders, slot: number): string {
  return toHex(new Uint8Array(orders.hash.buffer, slot * HASH_BYTES, HASH_BYTES));
}
