/** Taking orders off the book: one by its hash or its client's name for it, or many (RULES.md 7.2, 7.11). */
import { OUTCOME, type Outcome } from '../../shared/codes.ts';
import { BOTH_OUTCOMES } from '../../shared/commands.ts';
import { ERRORS, OK } from '../../shared/errors.ts';
import { HASH_BYTES } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import type { ClientOrderIds } from '../clientOrderIds.ts';
import type { Catalog } from '../control/catalog.ts';
import { CLIENT_ORDER_ID_FORM } from '../encodeOrder.ts';
import type { CommandKey, EngineClient, ReplyHandler } from '../engineClient.ts';
import { refuseCode } from '../engineRefusal.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { NONE } from '../views/columns.ts';
import type { Views } from '../views/index.ts';
import { requireHashParam, requireMarket } from './pathParams.ts';

export type CancellingDeps = {
  readonly engine: EngineClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly clientIds: ClientOrderIds;
};

type CancelMarketBody = { readonly market_id: string; readonly outcome_index?: Outcome };

const TOMBSTONE_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: { tombstone: { type: 'boolean', default: false } },
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

const CLIENT_ORDER_ID = new RegExp(CLIENT_ORDER_ID_FORM);
const ORDER_CANCELLED = JSON.stringify({ message: 'order cancelled' });
const ACCEPTED = 202;

export function cancellingRoutes(deps: CancellingDeps): Route[] {
  const one = { method: 'DELETE', access: 'trade:orders', limit: 'cancelOrder' } as const;
  const many = { method: 'DELETE', access: 'trade:bulk', limit: 'massCancel' } as const;
  return [
    { ...many, path: '/v1/orders/cancel-all', handler: cancelAllHandler(deps) },
    { ...many, path: '/v1/orders/cancel-market', body: CANCEL_MARKET_BODY, handler: cancelMarketHandler(deps) },
    { ...one, path: '/v1/orders/:hash', query: TOMBSTONE_QUERY, handler: cancelHandler(deps) },
    {
      ...one,
      path: '/v1/orders/by-client-id/:id',
      hasEncodedParams: true,
      handler: cancelByClientIdHandler(deps),
    },
  ];
}

/** Wherever the order is, and whether or not it has come already. `hash` is eight words. @returns OK or ENGINE_BUSY. */
export function cancelByHash<C>(
  engine: EngineClient,
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

const onCancelled: ReplyHandler<Call> = (reply, call) => {
  if (reply.code === OK) ok(call, ORDER_CANCELLED);
  else refuseCode(call, reply.code);
};

function cancelHandler({ engine, views }: CancellingDeps): Route['handler'] {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  const onBuried: ReplyHandler<Call> = (reply, call) => {
    if (reply.code !== OK || reply.a === 0) onCancelled(reply, call);
    else ok(call, { message: 'order will be refused', tombstone_until: new Date(reply.a).toISOString() }, ACCEPTED);
  };
  return (call) => {
    if (!requireHashParam(call, hashBytes)) return;
    const account = call.key!.accountIndex;
    const code =
      call.query['tombstone'] === true
        ? engine.cancelOrBury(account, hash, onBuried, call)
        : cancelByHash(engine, views, account, hash, onCancelled, call);
    if (code !== OK) refuseCode(call, code);
  };
}

function cancelByClientIdHandler({ engine, clientIds }: CancellingDeps): Route['handler'] {
  const cancelOpen = (call: Call, account: number, clientId: string): void => {
    const open = clientIds.find(account, clientId);
    if (open === null) {
      fail(call, ERRORS.ORDER_NOT_FOUND);
      return;
    }
    const { orders, slot } = open;
    const code = engine.cancel(orders.shard, account, orders.hashOf(slot), onCancelled, call);
    if (code !== OK) refuseCode(call, code);
  };
  return (call) => {
    const clientId = decoded(call.params['id']!);
    if (!CLIENT_ORDER_ID.test(clientId)) {
      const details = { field: 'id', rule: 'pattern', value: clientId.slice(0, 100) };
      fail(call, ERRORS.VALIDATION_ERROR, { message: 'invalid client_order_id', details });
      return;
    }
    const account = call.key!.accountIndex;
    const state = clientIds.stateOf(account, clientId);
    if (state === 'free') cancelOpen(call, account, clientId);
    else if (state === 'unknown') fail(call, ERRORS.ENGINE_BUSY);
    // Behind the order that has the name, as a cancel by its hash would be.
    else clientIds.whenAnswered(account, clientId, () => cancelOpen(call, account, clientId));
  };
}

function cancelAllHandler({ engine }: CancellingDeps): Route['handler'] {
  const onReply: ReplyHandler<Call> = (reply, call) => {
    if (reply.code === OK) ok(call, { cancelled: reply.a, message: 'all open orders cancelled' });
    else refuseCode(call, reply.code);
  };
  return (call) => {
    const code = engine.cancelAll(call.key!.accountIndex, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

function cancelMarketHandler(deps: CancellingDeps): Route['handler'] {
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

/** The empty string for bytes that are no text. */
function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return '';
  }
}
