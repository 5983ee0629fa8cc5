/** One order at a time: placing it, and putting it in the place of another (RULES.md 2, 7.10). */
import { REPLACE_MODE } from '../../shared/commands.ts';
import { ERRORS } from '../../shared/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import { PLACEMENT_SCHEMA, type Placement } from '../encodeOrder.ts';
import { amendResponse, type Placed, placementResponse } from '../placementResponse.ts';
import { type OrderResult, OrderTask, type Placements } from '../placements.ts';
import { fail, ok, type Refusal } from '../respond.ts';
import type { Route } from '../route.ts';
import { requireHashParam } from './pathParams.ts';

export type PlacingDeps = { readonly placements: Placements };

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

function placeHandler({ placements }: PlacingDeps): Route['handler'] {
  const result = answering((placed, { body }) => placementResponse(placed, body));
  return (call) => {
    refuseWith(call, placements.tryPlace(new OrderTask(call, call.json as Placement, result)));
  };
}

function cancelReplaceHandler({ placements }: PlacingDeps): Route['handler'] {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  const result = answering((placed, { call, body }) => ({
    cancelled_order_hash: (call.json as CancelReplaceBody).cancel_hash.toLowerCase(),
    order: placementResponse(placed, body),
  }));
  return (call) => {
    const { cancel_hash, new_order } = call.json as CancelReplaceBody;
    tryParseHex(cancel_hash, HASH_BYTES, oldBytes, 0);
    const task = new OrderTask(call, new_order, result);
    refuseWith(call, placements.tryReplace(task, old, REPLACE_MODE.CANCEL_REPLACE));
  };
}

function amendHandler({ placements }: PlacingDeps): Route['handler'] {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  const result = answering((placed, { body }) => amendResponse(placed, body), true);
  return (call) => {
    if (!requireHashParam(call, oldBytes)) return;
    const body = call.json as AmendBody;
    if ('maker_amount' in body || 'taker_amount' in body) {
      fail(call, ERRORS.AMEND_RESIGN_REQUIRED);
    } else if (body.new_order === undefined) {
      const details = { field: 'new_order', rule: 'required' };
      fail(call, ERRORS.VALIDATION_ERROR, { message: 'missing field: new_order', details });
    } else {
      const task = new OrderTask(call, body.new_order, result);
      refuseWith(call, placements.tryReplace(task, old, REPLACE_MODE.AMEND));
    }
  };
}

/** The one order of the call was accepted, and this is said of it, or it was refused. */
function answering(describe: (placed: Placed, task: OrderTask) => object, isAmend = false): OrderResult {
  return {
    isAmend,
    placed: (placed, task) => ok(task.call, describe(placed, task)),
    refused: (refusal, task) => refuseWith(task.call, refusal),
  };
}

function refuseWith(call: Call, refusal: Refusal | null): void {
  if (refusal !== null) fail(call, refusal.row, refusal.options);
}
