/** Routes for one order: place it, or replace another order by it (RULES.md 2, 7.10). */
import {
  AMEND,
  AMEND_RESPONSE,
  CANCEL_REPLACE,
  CANCEL_REPLACE_RESPONSE,
  PLACEMENT,
  PLACEMENT_RESPONSE,
  type PlacementBody,
} from '../../shared/api/orders.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { EXT_ROUTE, REPLACE_MODE } from '../../shared/wire/commands.ts';
import type { Refusal } from '../base/refusal.ts';
import { HASH_PARAM, requireHash } from '../http/pathParams.ts';
import { ok, okBytes, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import { type ScannedBody, scannerOf } from './bodyScanner.ts';
import type { Order } from './order.ts';
import { ORDER_ERRORS, REPLACE_ERRORS } from './orderErrors.ts';
import { type OrderSender, SentOrder } from './orderSender.ts';
import type { Placed } from './placed.ts';
import { amendResponse, placementResponse, placementText } from './placementResponse.ts';
import { restingAnswer } from './restingAnswer.ts';

type PlacingDeps = { readonly sender: OrderSender };

const PLACING = {
  access: 'trade:orders',
  limit: 'placeOrder',
  risk: 'taken',
  hasDeadline: true,
} as const;

const PLACE_ORDER = {
  ...PLACING,
  method: 'POST',
  path: '/v1/orders',
  id: 'placeOrder',
  summary: 'Places a signed order.',
  idempotency: EXT_ROUTE.PLACE,
  body: PLACEMENT,
  answers: { 200: PLACEMENT_RESPONSE },
  errors: ORDER_ERRORS,
} as const satisfies RouteSpec;

const REPLACE_ORDER = {
  ...PLACING,
  method: 'POST',
  path: '/v1/orders/cancel-replace',
  id: 'replaceOrder',
  summary: 'Cancels an order and places another in one step, or does neither.',
  idempotency: EXT_ROUTE.CANCEL_REPLACE,
  body: CANCEL_REPLACE,
  answers: { 200: CANCEL_REPLACE_RESPONSE },
  errors: REPLACE_ERRORS,
} as const satisfies RouteSpec;

const AMEND_ORDER = {
  ...PLACING,
  method: 'PUT',
  path: '/v1/orders/:hash/amend',
  id: 'amendOrder',
  summary:
    'Replaces an order by one for what is still to be filled: of 10, of which 6 are filled, an amend to 4 keeps all ' +
    'that is left, with its time priority, and one to 10 asks for 10 more.',
  idempotency: EXT_ROUTE.AMEND,
  params: HASH_PARAM,
  body: AMEND,
  answers: { 200: AMEND_RESPONSE },
  errors: [...REPLACE_ERRORS, 'AMEND_RESIGN_REQUIRED'],
} as const satisfies RouteSpec;

export function placingRoutes(deps: PlacingDeps): Route[] {
  return [
    route(PLACE_ORDER, placeHandler(deps), scannerOf('order')),
    route(REPLACE_ORDER, replaceHandler(deps), scannerOf('replacement')),
    route(AMEND_ORDER, amendHandler(deps), scannerOf('amendment')),
  ];
}

/** The only order of its call. */
abstract class SingleOrder extends SentOrder {
  readonly call: AccountCall;

  constructor(call: AccountCall, order: Order) {
    super(order);
    this.call = call;
  }

  refused(refusal: Refusal): void {
    refuse(this.call, refusal);
  }
}

class NewOrder extends SingleOrder {
  override accepted(views: Views, reply: ShardReply): void {
    const answer = restingAnswer(views, reply, this.order);
    if (answer === null) super.accepted(views, reply);
    else okBytes(this.call, answer);
  }

  placed(placed: Placed): void {
    ok(this.call, placementText(placed, this.order));
  }
}

class ReplacingOrder extends SingleOrder {
  readonly #cancelHash: string;

  constructor(call: AccountCall, order: Order, cancelHash: string) {
    super(call, order);
    this.#cancelHash = cancelHash;
  }

  placed(placed: Placed): void {
    const cancelled_order_hash = this.#cancelHash.toLowerCase();
    ok(this.call, { cancelled_order_hash, order: placementResponse(placed, this.order), replaced_order: this.ended });
  }
}

class AmendingOrder extends SingleOrder {
  override get isAmend(): boolean {
    return true;
  }

  placed(placed: Placed): void {
    ok(this.call, amendResponse(placed, this.order, this.ended!));
  }
}

function placeHandler({ sender }: PlacingDeps): Handler<typeof PLACE_ORDER> {
  return (call) => {
    const order = sender.orderOf(scannedOrderOf(call) ?? call.body);
    const refusal = sender.tryPlace(new NewOrder(call, order));
    if (refusal !== null) refuse(call, refusal);
  };
}

/** The only order of a scanned body; null if the body was parsed. */
function scannedOrderOf({ scanned }: AccountCall): Order | null {
  return scanned === null ? null : (scanned as ScannedBody).orders[0];
}

function replaceHandler({ sender }: PlacingDeps): Handler<typeof REPLACE_ORDER> {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  return (call) => {
    const order = sender.orderOf(scannedOrderOf(call) ?? call.body.new_order);
    const cancelHash = (call.scanned as ScannedBody | null)?.cancelHash ?? call.body.cancel_hash;
    tryParseHex(cancelHash, HASH_BYTES, oldBytes, 0);
    const sent = new ReplacingOrder(call, order, cancelHash);
    const expected = call.scanned === null ? call.body.expected_remaining : undefined;
    const refusal = sender.tryReplace(sent, old, REPLACE_MODE.CANCEL_REPLACE, expected);
    if (refusal !== null) refuse(call, refusal);
  };
}

function amendHandler({ sender }: PlacingDeps): Handler<typeof AMEND_ORDER> {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  return (call) => {
    if (!requireHash(call, oldBytes)) return;
    const order = scannedOrderOf(call) ?? requireNewOrder(call);
    if (order === null) return;
    const expected = call.scanned === null ? call.body.expected_remaining : undefined;
    const refusal = sender.tryReplace(
      new AmendingOrder(call, sender.orderOf(order)),
      old,
      REPLACE_MODE.AMEND,
      expected,
    );
    if (refusal !== null) refuse(call, refusal);
  };
}

/** Null if the request has been refused. */
function requireNewOrder(call: CallOf<typeof AMEND_ORDER>): PlacementBody | null {
  const { body } = call;
  if ('maker_amount' in body || 'taker_amount' in body) {
    refuse(call, { row: ERRORS.AMEND_RESIGN_REQUIRED });
    return null;
  }
  if (body.new_order !== undefined) return body.new_order;
  const details = { field: 'new_order', rule: 'required' };
  refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'missing field: new_order', details });
  return null;
}
