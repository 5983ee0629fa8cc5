/** Many orders in one request (RULES.md 7.3): each row succeeds or fails by itself. */
import {
  BATCH_CANCEL,
  BATCH_CANCEL_DOCUMENTED,
  BATCH_CANCEL_RESPONSE,
  BATCH_PLACE,
  BATCH_PLACE_DOCUMENTED,
  BATCH_PLACE_RESPONSE,
  PLACEMENT,
  type PlacementBody,
} from '../../shared/api/orders.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Call } from '../http/call.ts';
import { INVALID_HASH } from '../http/pathParams.ts';
import { errorFields, ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { compileBodyLater } from '../http/validate.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import { MOST_ORDERS, type ScannedBody, scannerOf } from './bodyScanner.ts';
import { cancelByHash } from './cancellingRoutes.ts';
import { Order } from './order.ts';
import { type OrderSender, SentOrder } from './orderSender.ts';
import { type PastOrders, refusalAfter } from './pastOrders.ts';
import type { Placed } from './placed.ts';
import { placedRowText } from './placementResponse.ts';
import type { PlacementReads } from './reads.ts';

type BatchDeps = {
  readonly engine: ShardClient;
  readonly sender: OrderSender;
  readonly views: Views;
  readonly queries: Pick<PlacementReads, 'cancelledWithKey'>;
  readonly past: PastOrders;
  /** Answers a call whose handler has thrown. */
  readonly onError: (error: unknown, call: Call) => void;
};

type CancelCall = CallOf<typeof CANCEL_BATCH>;
type RowOf = { readonly call: CancelCall; readonly rows: Rows; readonly index: number; readonly order_hash: string };

/** Batches larger than this receive another message (FAR_TOO_MANY_ORDERS): clients match on both texts. */
const MANY_ORDERS = 50;
const MAX_HASHES = 200;
const MAX_BODY_BYTES = 256 * 1024;

const BULK = { access: 'trade:bulk', path: '/v1/orders/batch', maxBodyBytes: MAX_BODY_BYTES } as const;

const PLACE_BATCH = {
  ...BULK,
  method: 'POST',
  id: 'placeOrders',
  summary: 'Places up to 15 orders; each succeeds or fails by itself.',
  limit: 'placeBatch',
  idempotency: EXT_ROUTE.BATCH,
  risk: 'taken',
  hasDeadline: true,
  body: BATCH_PLACE,
  documentedBody: BATCH_PLACE_DOCUMENTED,
  answers: { 200: BATCH_PLACE_RESPONSE },
  errors: ['NO_ORDERS', 'TOO_MANY_ORDERS', 'FAR_TOO_MANY_ORDERS', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const CANCEL_BATCH = {
  ...BULK,
  method: 'DELETE',
  id: 'cancelOrders',
  summary: 'Cancels up to 200 orders by their hashes; each succeeds or fails by itself.',
  limit: 'cancelBatch',
  early: 'carriedOut',
  idempotency: EXT_ROUTE.BATCH_CANCEL,
  body: BATCH_CANCEL,
  documentedBody: BATCH_CANCEL_DOCUMENTED,
  answers: { 200: BATCH_CANCEL_RESPONSE },
  errors: ['NO_ORDER_HASHES', 'TOO_MANY_HASHES', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function batchRoutes(deps: BatchDeps): Route[] {
  return [route(PLACE_BATCH, placeHandler(deps), scannerOf('batch')), route(CANCEL_BATCH, cancelHandler(deps))];
}

/** The rows of an answer, filled in in any order; the answer is sent with the last one. */
class Rows {
  readonly #call: AccountCall;
  /** Each is the text that the answer has. */
  readonly #rows: string[];
  /** The member of the answer that counts the rows that succeeded. */
  readonly #done: 'succeeded' | 'cancelled';
  #waiting: number;
  #failed = 0;

  constructor(call: AccountCall, count: number, done: 'succeeded' | 'cancelled') {
    this.#call = call;
    this.#rows = new Array(count);
    this.#done = done;
    this.#waiting = count;
  }

  succeed(index: number, row: string): void {
    this.#rows[index] = row;
    this.#waiting--;
    if (this.#waiting > 0) return;
    const total = this.#rows.length;
    const counts = `"${this.#done}":${total - this.#failed},"failed":${this.#failed},"total":${total}`;
    ok(this.#call, `{"results":[${this.#rows.join(',')}],${counts}}`);
  }

  fail(index: number, name: object, refusal: Refusal): void {
    this.#failed++;
    // A batch of which nothing was carried out counts as refused, whatever its status.
    if (this.#failed === this.#rows.length) this.#call.refusedAs = refusal.row;
    // A retry of the same request finds out the outcome of this row.
    if (refusal.row === ERRORS.OUTCOME_UNKNOWN) this.#call.idempotencyHold?.leaveUnresolved();
    this.succeed(index, JSON.stringify({ ...name, status: 'failed', ...errorFields(refusal) }));
  }
}

class RowOrder extends SentOrder {
  readonly call: AccountCall;
  readonly #rows: Rows;

  constructor(call: AccountCall, rows: Rows, order: Order, row: number) {
    super(order, row);
    this.call = call;
    this.#rows = rows;
  }

  placed(placed: Placed): void {
    this.#rows.succeed(this.row, placedRowText(this.row, placed, this.order));
  }

  refused(refusal: Refusal): void {
    this.#rows.fail(this.row, { index: this.row }, refusal);
  }
}

function placeHandler({ engine, sender }: BatchDeps): Handler<typeof PLACE_BATCH> {
  const check = compileBodyLater(PLACEMENT);
  const enqueue = (call: AccountCall, rows: Rows, order: unknown, index: number): void => {
    const invalid = order instanceof Order ? null : check(order);
    const { message, details } = invalid ?? {};
    const refusal =
      invalid === null
        ? sender.tryPlace(new RowOrder(call, rows, sender.orderOf(order as PlacementBody | Order), index))
        : { row: ERRORS.VALIDATION_ERROR, message, details };
    if (refusal !== null) rows.fail(index, { index }, refusal);
  };
  return (call) => {
    const orders = (call.scanned as ScannedBody | null)?.orders ?? call.body.orders;
    const refused = refuseOrders(orders.length);
    if (refused !== null) return refuse(call, refused);
    const rows = new Rows(call, orders.length, 'succeeded');
    engine.batch(() => {
      for (const [index, order] of orders.entries()) enqueue(call, rows, order, index);
    });
  };
}

function cancelHandler({ engine, views, queries, past, onError }: BatchDeps): Handler<typeof CANCEL_BATCH> {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  const report = (code: number, { rows, index, order_hash }: RowOf): void => {
    if (code === OK) rows.succeed(index, `{"order_hash":"${order_hash}","status":"cancelled"}`);
    else rows.fail(index, { order_hash }, { row: errorRow(code) });
  };
  /** The order is not open: perhaps this same request has cancelled it, and its answer was lost. */
  const findCancelled = async (of: RowOf): Promise<void> => {
    const { account, route, key, fingerprint } = of.call.idempotencyHold!.use;
    const orderHash = new Uint8Array(HASH_BYTES);
    tryParseHex(of.order_hash, HASH_BYTES, orderHash, 0);
    try {
      const found = await queries.cancelledWithKey({ account, route, key, fingerprint, row: 0 }, orderHash);
      if (!found.ok) report(E.OUTCOME_UNKNOWN, of);
      else report(found.value ? OK : E.ORDER_NOT_CANCELLABLE, of);
    } catch (error) {
      of.call.idempotencyHold?.leaveUnresolved();
      onError(error, of.call);
    }
  };
  /** No shard remembers the order: it is unknown, unless history knows it. */
  const findForgotten = async (of: RowOf): Promise<void> => {
    const orderHash = new Uint8Array(HASH_BYTES);
    tryParseHex(of.order_hash, HASH_BYTES, orderHash, 0);
    try {
      const found = await past.ownOrder(of.call.principal.accountIndex, orderHash);
      const row = found === 'accepted' ? ERRORS.ORDER_NOT_CANCELLABLE : ERRORS.ORDER_NOT_FOUND;
      of.rows.fail(of.index, { order_hash: of.order_hash }, refusalAfter(found, { row }));
    } catch (error) {
      onError(error, of.call);
    }
  };
  const onReply: ReplyHandler<RowOf> = ({ code }, of) => {
    if (code === E.ORDER_NOT_CANCELLABLE && of.call.idempotencyHold?.mayHaveRun) void findCancelled(of);
    else if (code === E.ORDER_NOT_FOUND) void findForgotten(of);
    else report(code, of);
  };
  const enqueue = (call: CancelCall, rows: Rows, index: number): void => {
    const element = call.body.order_hashes[index];
    if (typeof element !== 'string' || !tryParseHex(element, HASH_BYTES, hashBytes, 0)) {
      rows.fail(index, { order_hash: null }, INVALID_HASH);
      return;
    }
    const order_hash = element.toLowerCase();
    const of = { call, rows, index, order_hash };
    const key = call.idempotencyHold?.words;
    const code = cancelByHash(engine, views, call.principal.accountIndex, hash, onReply, of, key);
    if (code !== OK) rows.fail(index, { order_hash }, { row: errorRow(code) });
  };
  return (call) => {
    const count = call.body.order_hashes.length;
    if (count === 0)
      refuse(call, { row: ERRORS.NO_ORDER_HASHES, details: { field: 'order_hashes', rule: 'minItems' } });
    else if (count > MAX_HASHES) refuse(call, { row: ERRORS.TOO_MANY_HASHES });
    else {
      const rows = new Rows(call, count, 'cancelled');
      engine.batch(() => {
        for (let index = 0; index < count; index++) enqueue(call, rows, index);
      });
    }
  };
}

function refuseOrders(count: number): Refusal | null {
  if (count === 0) return { row: ERRORS.NO_ORDERS, details: { field: 'orders', rule: 'minItems' } };
  if (count > MANY_ORDERS) return { row: ERRORS.FAR_TOO_MANY_ORDERS };
  return count > MOST_ORDERS ? { row: ERRORS.TOO_MANY_ORDERS } : null;
}
