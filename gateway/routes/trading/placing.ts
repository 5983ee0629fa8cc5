/** One order at a time: placing it, and replacing another by it (RULES.md 2, 7.10). */
import {
  AMEND,
  AMEND_RESPONSE,
  CANCEL_REPLACE,
  CANCEL_REPLACE_RESPONSE,
  PLACEMENT,
  PLACEMENT_RESPONSE,
  type PlacementBody,
} from '../../../shared/api/orders.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../../shared/base/hex.ts';
import { EXT_ROUTE, REPLACE_MODE } from '../../../shared/wire/commands.ts';
import type { Refusal } from '../../http/refusal.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type AccountCall, type CallOf, type Handler, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import type { Placed } from '../../queries/placed.ts';
import type { OrderTerms } from '../../trading/orderTerms.ts';
import { amendResponse, placementResponse, placementText } from '../../trading/placementResponse.ts';
import { OrderTask, type Placements } from '../../trading/placements.ts';
import { type ReadPlacement, type UsualOrder, UsualPlacements } from '../../trading/usualPlacement.ts';
import { HASH_PARAM, requireHash } from '../json/pathParams.ts';
import { ORDER_ERRORS, REPLACE_ERRORS } from './orderErrors.ts';

type PlacingDeps = { readonly placements: Placements };

const PLACING = {
  access: 'trade:orders',
  limit: 'placeOrder',
  placing: true,
  hasDeadline: true,
} as const;

const PLACE_ORDER = {
  ...PLACING,
  method: 'POST',
  path: '/v1/orders',
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
  return [placeRoute(deps), route(REPLACE_ORDER, replaceHandler(deps)), route(AMEND_ORDER, amendHandler(deps))];
}

/** The only order of its call. */
abstract class SingleTask<C extends AccountCall> extends OrderTask {
  readonly call: C;

  constructor(call: C, order: PlacementBody | OrderTerms) {
    super(order);
    this.call = call;
  }

  refused(refusal: Refusal): void {
    refuse(this.call, refusal);
  }
}

class PlaceTask extends SingleTask<AccountCall> {
  placed(placed: Placed): void {
    ok(this.call, placementText(placed, this.terms));
  }
}

class ReplaceTask extends SingleTask<CallOf<typeof REPLACE_ORDER>> {
  placed(placed: Placed): void {
    const cancelled_order_hash = this.call.body.cancel_hash.toLowerCase();
    ok(this.call, { cancelled_order_hash, order: placementResponse(placed, this.body) });
  }
}

class AmendTask extends SingleTask<AccountCall> {
  override get isAmend(): boolean {
    return true;
  }

  placed(placed: Placed): void {
    ok(this.call, amendResponse(placed, this.body));
  }
}

function placeRoute({ placements }: PlacingDeps): Route {
  const usual = new UsualPlacements();
  const handler: Handler<typeof PLACE_ORDER> = (call) => {
    const order = (call.usual as UsualOrder | null) ?? call.body;
    const refusal = placements.tryPlace(new PlaceTask(call, order));
    if (refusal !== null) refuse(call, refusal);
  };
  return route(PLACE_ORDER, handler, (body, ahead) => {
    return ahead === null ? usual.read(body) : usual.take(ahead as ReadPlacement);
  });
}

function replaceHandler({ placements }: PlacingDeps): Handler<typeof REPLACE_ORDER> {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  return (call) => {
    const { cancel_hash, new_order } = call.body;
    tryParseHex(cancel_hash, HASH_BYTES, oldBytes, 0);
    const refusal = placements.tryReplace(new ReplaceTask(call, new_order), old, REPLACE_MODE.CANCEL_REPLACE);
    if (refusal !== null) refuse(call, refusal);
  };
}

function amendHandler({ placements }: PlacingDeps): Handler<typeof AMEND_ORDER> {
  const old = new Uint32Array(HASH_BYTES / 4);
  const oldBytes = new Uint8Array(old.buffer);
  return (call) => {
    if (!requireHash(call, oldBytes)) return;
    const { body } = call;
    if ('maker_amount' in body || 'taker_amount' in body) {
      refuse(call, { row: ERRORS.AMEND_RESIGN_REQUIRED });
      return;
    }
    if (body.new_order === undefined) {
      const details = { field: 'new_order', rule: 'required' };
      refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'missing field: new_order', details });
      return;
    }
    const refusal = placements.tryReplace(new AmendTask(call, body.new_order), old, REPLACE_MODE.AMEND);
    if (refusal !== null) refuse(call, refusal);
  };
}
