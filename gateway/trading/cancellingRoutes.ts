/** Cancelling orders: one by its hash or its client order id, or many (RULES.md 7.2, 7.11). */
import { CLIENT_ORDER_ID_FORM, CLIENT_ORDER_ID as CLIENT_ORDER_ID_SCHEMA } from '../../shared/api/fields.ts';
import {
  CANCEL_ALL_RESPONSE,
  CANCEL_MARKET,
  CANCEL_MARKET_RESPONSE,
  MESSAGE,
  NO_BODY,
  TOMBSTONE_QUERY,
  TOMBSTONE_RESPONSE,
} from '../../shared/api/orders.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { BOTH_OUTCOMES } from '../../shared/wire/commands.ts';
import type { Call } from '../http/call.ts';
import { HASH_PARAM, requireHash } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import { requireMarket } from '../markets/requireMarket.ts';
import type { CommandKey, ShardClient } from '../shardlink/client.ts';
import { NONE } from '../shardlink/growingColumn.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { ClientOrderIds } from './clientOrderIds.ts';
import { type Past, type PastOrders, refusalAfter } from './pastOrders.ts';

type CancellingDeps = {
  readonly engine: ShardClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly clientIds: ClientOrderIds;
  readonly isDiskLow: () => boolean;
  readonly past: PastOrders;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_FORM);
const ORDER_CANCELLED = JSON.stringify({ message: 'order cancelled' });
const ACCEPTED = 202;

const ONE = {
  method: 'DELETE',
  access: 'trade:orders',
  limit: 'cancelOrder',
  body: NO_BODY,
  bodyOptional: true,
} as const;
/** A person may cancel everything at once, as they may cancel each order. */
const MANY = {
  method: 'DELETE',
  access: 'trade:bulk',
  sessionScope: 'trade:orders',
  limit: 'massCancel',
  early: 'whileSetBack',
} as const;

const CANCEL_ALL = {
  ...MANY,
  path: '/v1/orders/cancel-all',
  id: 'cancelAllOrders',
  summary: 'Cancels all open orders of the account.',
  body: NO_BODY,
  bodyOptional: true,
  answers: { 200: CANCEL_ALL_RESPONSE },
  errors: ['OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const CANCEL_ORDERS_OF_MARKET = {
  ...MANY,
  path: '/v1/orders/cancel-market',
  id: 'cancelMarketOrders',
  summary: 'Cancels the open orders of the account in one market, of both outcomes or of one.',
  body: CANCEL_MARKET,
  answers: { 200: CANCEL_MARKET_RESPONSE },
  errors: ['MARKET_NOT_FOUND', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const CANCEL_ORDER = {
  ...ONE,
  path: '/v1/orders/:hash',
  early: 'carriedOut',
  id: 'cancelOrder',
  summary: 'Cancels one order; with `tombstone` an order that has not arrived yet will be refused.',
  params: HASH_PARAM,
  query: TOMBSTONE_QUERY,
  answers: { 200: MESSAGE, 202: TOMBSTONE_RESPONSE },
  errors: ['VALIDATION_ERROR', 'ORDER_NOT_FOUND', 'ORDER_NOT_CANCELLABLE', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

type CancelCall = CallOf<typeof CANCEL_ORDER>;

const CANCEL_BY_CLIENT_ID = {
  ...ONE,
  path: '/v1/orders/by-client-id/:id',
  early: 'whileSetBack',
  id: 'cancelOrderByClientId',
  summary: 'Cancels the open order with this client order id.',
  hasEncodedParams: true,
  params: { id: CLIENT_ORDER_ID_SCHEMA },
  answers: { 200: MESSAGE },
  errors: ['VALIDATION_ERROR', 'ORDER_NOT_FOUND', 'ORDER_NOT_CANCELLABLE', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function cancellingRoutes(deps: CancellingDeps): Route[] {
  return [
    route(CANCEL_ALL, cancelAllHandler(deps)),
    route(CANCEL_ORDERS_OF_MARKET, cancelMarketHandler(deps)),
    route(CANCEL_ORDER, cancelHandler(deps)),
    route(CANCEL_BY_CLIENT_ID, cancelByClientIdHandler(deps)),
  ];
}

/**
 * Cancels an order wherever it is, even if its placement has not reached its shard yet.
 * @param hash eight words
 * @returns OK or ENGINE_BUSY
 */
export function cancelByHash<C>(
  engine: ShardClient,
  views: Views,
  account: number,
  hash: Uint32Array,
  onReply: ReplyHandler<C>,
  context: C,
  key?: CommandKey,
): number {
  const open = views.orders.find((orders) => orders.find(hash, 0) !== NONE);
  if (open === undefined) return engine.cancelAnywhere(account, hash, onReply, context, key);
  return engine.cancel(open.shard, account, hash, onReply, context, 0, key);
}

const onCancelled: ReplyHandler<AccountCall> = (reply, call) => {
  if (reply.code === OK) ok(call, ORDER_CANCELLED);
  else refuse(call, { row: errorRow(reply.code) });
};

function cancelHandler({ engine, views, isDiskLow, past, onError }: CancellingDeps): Handler<typeof CANCEL_ORDER> {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  /** No shard remembers the order: `answer` is right unless history knows it. */
  const afterHistory = async (call: CancelCall, answer: (past: Past) => void): Promise<void> => {
    const asked = new Uint8Array(HASH_BYTES);
    tryParseHex(call.params.hash, HASH_BYTES, asked, 0);
    try {
      const found = await past.ownOrder(call.principal.accountIndex, asked);
      if (found === 'accepted') refuse(call, { row: ERRORS.ORDER_NOT_CANCELLABLE });
      else answer(found);
    } catch (error) {
      onError(error, call);
    }
  };
  const onPlain: ReplyHandler<CancelCall> = (reply, call) => {
    if (reply.code !== E.ORDER_NOT_FOUND) onCancelled(reply, call);
    else
      void afterHistory(call, (found) => {
        refuse(call, refusalAfter(found, { row: ERRORS.ORDER_NOT_FOUND }));
      });
  };
  /** It is set already; only its answer waits, so that none is confirmed for an order that traded. */
  const onTombstone: ReplyHandler<CancelCall> = (reply, call) => {
    if (reply.code !== OK || reply.a === 0) return onCancelled(reply, call);
    const tombstone_until = new Date(reply.a).toISOString();
    void afterHistory(call, (found) => {
      if (found === 'never') ok(call, { message: 'order will be refused', tombstone_until }, ACCEPTED);
      else refuse(call, refusalAfter(found, { row: ERRORS.ENGINE_BUSY, details: { tombstone_until } }));
    });
  };
  /** A tombstone uses disk space: while the disk is nearly full, only an order that has arrived is cancelled. */
  const onWithoutTombstone: ReplyHandler<AccountCall> = (reply, call) => {
    if (reply.code === E.ORDER_NOT_FOUND) refuse(call, { row: ERRORS.ENGINE_BUSY });
    else onCancelled(reply, call);
  };
  return (call) => {
    if (!requireHash(call, hashBytes)) return;
    const account = call.principal.accountIndex;
    const wantsTombstone = call.query.tombstone;
    const code =
      wantsTombstone && !isDiskLow()
        ? engine.cancelOrTombstone(account, hash, onTombstone, call)
        : cancelByHash(engine, views, account, hash, wantsTombstone ? onWithoutTombstone : onPlain, call);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
}

function cancelByClientIdHandler({ engine, clientIds }: CancellingDeps): Handler<typeof CANCEL_BY_CLIENT_ID> {
  const cancelOpen = (call: AccountCall, account: number, clientId: string): void => {
    const open = clientIds.find(account, clientId);
    if (open === null) return refuse(call, { row: ERRORS.ORDER_NOT_FOUND });
    const { orders, slot } = open;
    const code = engine.cancel(orders.shard, account, orders.hashOf(slot), onCancelled, call);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
  return (call) => {
    const clientId = decoded(call.params.id);
    if (!CLIENT_ORDER_ID.test(clientId)) {
      const details = { field: 'id', rule: 'pattern', value: clientId.slice(0, 100) };
      refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid client_order_id', details });
      return;
    }
    const account = call.principal.accountIndex;
    const state = clientIds.stateOf(account, clientId);
    if (state === 'free') cancelOpen(call, account, clientId);
    else if (state === 'unknown') refuse(call, { row: ERRORS.ENGINE_BUSY });
    // The order is on its way to its shard: its cancel follows it, like a cancel by hash.
    else clientIds.whenAnswered(account, clientId, () => cancelOpen(call, account, clientId));
  };
}

function cancelAllHandler({ engine }: CancellingDeps): Handler<typeof CANCEL_ALL> {
  const onReply: ReplyHandler<AccountCall> = (reply, call) => {
    if (reply.code === OK) ok(call, { cancelled: reply.a, message: 'all open orders cancelled' });
    else refuse(call, { row: errorRow(reply.code) });
  };
  return (call) => {
    const code = engine.cancelAll(call.principal.accountIndex, onReply, call);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
}

function cancelMarketHandler(deps: CancellingDeps): Handler<typeof CANCEL_ORDERS_OF_MARKET> {
  const onReply: ReplyHandler<CallOf<typeof CANCEL_ORDERS_OF_MARKET>> = (reply, call) => {
    const { market_id } = call.body;
    if (reply.code !== OK) refuse(call, { row: errorRow(reply.code) });
    else ok(call, { message: 'open orders cancelled', market_id: market_id.toLowerCase(), cancelled: reply.a });
  };
  return (call) => {
    const { market_id, outcome_index } = call.body;
    const market = requireMarket(call, deps, market_id);
    if (market === null) return;
    const account = call.principal.accountIndex;
    const { USER } = CLOSE_REASON;
    const outcome = outcome_index ?? BOTH_OUTCOMES;
    const code = deps.engine.cancelMany(market.shard, account, USER, onReply, call, market.index, outcome);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
}

/** The decoded text, or the empty string when the bytes are not UTF-8. */
function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return '';
  }
}
