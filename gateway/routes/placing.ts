/** One order at a time: placing it, and putting it in the place of another (RULES.md 2, 7.10). */
import { EXT_ROUTE, REPLACE_MODE } from '../../shared/commands.ts';
import { ERRORS, OK } from '../../shared/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import { PLACEMENT_SCHEMA, type Placement } from '../encodeOrder.ts';
import type { EngineReply } from '../engineClient.ts';
import { refuse } from '../engineRefusal.ts';
import { amendResponse, placementResponse } from '../placementResponse.ts';
import { OrderTask, type Placements } from '../placements.ts';
import { fail, ok, type Refusal } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { requireHashParam } from './pathParams.ts';

export type PlacingDeps = { readonly placements: Placements; readonly views: Views };

type CancelReplaceBody = { readonly cancel_hash: string; readonly new_order: Placement };
type AmendBody = { readonly new_order?: Placement };

const CANCEL_REPLACE_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['cancel_hash', 'new_order'],
  properties: { cancel_hash: { type: 'string', format: 'hash' }, new_order: PLACEMENT_SCHEMA },
};

/** Bare amounts are known only to be refused for what they are. */
const AMEND_BODY = {
  type: 'object',
  additionalProperties: false,
  properties: { new_order: PLACEMENT_SCHEMA, maker_amount: {}, taker_amount: {} },
};

const PLACE = {
  access: 'trade:orders',
  limit: 'placeOrder',
  idempotent: true,
  placing: true,
  hasDeadline: true,
} as const;

export function placingRoutes(deps: PlacingDeps): Route[] {
  return [
    { ...PLACE, method: 'POST', path: '/v1/orders', body: PLACEMENT_SCHEMA, handler: placeHandler(deps) },
    {
      ...PLACE,
      method: 'POST',
      path: '/v1/orders/cancel-replace',
      body: CANCEL_REPLACE_BODY,
      handler: cancelReplaceHandler(deps),
    },
    { ...PLACE, method: 'PUT', path: '/v1/orders/:hash/amend', body: AMEND_BODY, handler: amendHandler(deps) },
  ];
}

function placeHandler({ placements, views }: PlacingDeps): Route['handler'] {
  const onReply = answering((reply, { body }) => placementResponse(views, reply.shard, body));
  return (call) => {
    refuseWith(call, placements.tryPlace(new OrderTask(call, call.json as Placement, EXT_ROUTE.PLACE, onReply)));
  };
}

function cancelReplaceHandler({ placements, views }: PlacingDeps): Route['handler'] {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  const onReply = answering((reply, { call, body }) => ({
    cancelled_order_hash: (call.json as CancelReplaceBody).cancel_hash.toLowerCase(),
    order: placementResponse(views, reply.shard, body),
  }));
  return (call) => {
    const { cancel_hash, new_order } = call.json as CancelReplaceBody;
    tryParseHex(cancel_hash, HASH_BYTES, oldBytes, 0);
    const task = new OrderTask(call, new_order, EXT_ROUTE.CANCEL_REPLACE, onReply);
    refuseWith(call, placements.tryReplace(task, old, REPLACE_MODE.CANCEL_REPLACE));
  };
}

function amendHandler({ placements, views }: PlacingDeps): Route['handler'] {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  const onReply = answering((reply, { body }) => amendResponse(views, reply, body));
  return (call) => {
    if (!requireHashParam(call, oldBytes)) return;
    const body = call.json as AmendBody;
    if ('maker_amount' in body || 'taker_amount' in body) {
      fail(call, ERRORS.AMEND_RESIGN_REQUIRED);
    } else if (body.new_order === undefined) {
      const details = { field: 'new_order', rule: 'required' };
      fail(call, ERRORS.VALIDATION_ERROR, { message: 'missing field: new_order', details });
    } else {
      const task = new OrderTask(call, body.new_order, EXT_ROUTE.AMEND, onReply);
      refuseWith(call, placements.tryReplace(task, old, REPLACE_MODE.AMEND));
    }
  };
}

/** The one order of the call was accepted, and this is said of it, or it was refused. */
function answering(describe: (reply: EngineReply, task: OrderTask) => object): OrderTask['onReply'] {
  return (reply, task) => {
    if (reply.code === OK) ok(task.call, describe(reply, task));
    else refuse(task.call, reply, task.asset);
  };
}

function refuseWith(call: Call, refusal: Refusal | null): void {
  if (refusal !== null) fail(call, refusal.row, refusal.options);
}
