/** Many orders in one request (RULES.md 7.3): each row succeeds or fails by itself. */
import { E, ERRORS, type ErrorRow, errorRow, OK } from '../../shared/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import { PLACEMENT_SCHEMA, type Placement } from '../encodeOrder.ts';
import type { EngineClient, ReplyHandler } from '../engineClient.ts';
import { nestedResponse } from '../placementResponse.ts';
import { type OrderResult, OrderTask, type Placements } from '../placements.ts';
import type { QueryPool } from '../queries/pool.ts';
import { errorFields, fail, ok, type Refusal } from '../respond.ts';
import type { Route } from '../route.ts';
import { compileBody } from '../validate.ts';
import type { Views } from '../views/index.ts';
import { cancelByHash } from './cancelling.ts';
import { INVALID_HASH } from './pathParams.ts';

export type BatchDeps = {
  readonly engine: EngineClient;
  readonly placements: Placements;
  readonly views: Views;
  readonly queries: Pick<QueryPool, 'cancelledWithKey'>;
  /** Whoever gets this owes the call its answer. */
  readonly onError: (error: unknown, call: Call) => void;
};

type PlaceBody = { readonly orders: readonly unknown[] };
type CancelBody = { readonly order_hashes: readonly string[] };
type RowOf = { readonly call: Call; readonly rows: Rows; readonly index: number };

const MAX_ORDERS = 15;
/** Beyond this the message is another one: clients match on both. */
const MANY_ORDERS = 50;
const MAX_HASHES = 200;
const MAX_BODY_BYTES = 256 * 1024;

/** Rows are judged one by one: a bad one is a failed row. */
const PLACE_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['orders'],
  properties: { orders: { type: 'array' } },
};
const CANCEL_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['order_hashes'],
  properties: { order_hashes: { type: 'array', items: { type: 'string' } } },
};
const BULK = {
  access: 'trade:bulk',
  path: '/v1/orders/batch',
  idempotent: true,
  maxBodyBytes: MAX_BODY_BYTES,
} as const;

export function batchRoutes(deps: BatchDeps): Route[] {
  return [
    {
      ...BULK,
      method: 'POST',
      limit: 'placeBatch',
      placing: true,
      hasDeadline: true,
      body: PLACE_BODY,
      handler: placeHandler(deps),
    },
    { ...BULK, method: 'DELETE', limit: 'cancelBatch', body: CANCEL_BODY, handler: cancelHandler(deps) },
  ];
}

/** They are filled in any order; the answer leaves with the last. */
class Rows {
  readonly #call: Call;
  readonly #rows: object[];
  /** The answer's name for how many went well. */
  readonly #done: 'succeeded' | 'cancelled';
  #waiting: number;
  #failed = 0;

  constructor(call: Call, count: number, done: 'succeeded' | 'cancelled') {
    this.#call = call;
    this.#rows = new Array(count);
    this.#done = done;
    this.#waiting = count;
  }

  succeed(index: number, row: object): void {
    this.#rows[index] = row;
    this.#waiting--;
    if (this.#waiting > 0) return;
    const total = this.#rows.length;
    ok(this.#call, { results: this.#rows, [this.#done]: total - this.#failed, failed: this.#failed, total });
  }

  fail(index: number, name: object, { row, options }: Refusal): void {
    this.#failed++;
    // What became of this row the same request finds out when it comes again.
    if (row === ERRORS.OUTCOME_UNKNOWN) this.#call.isUnresolved = true;
    this.succeed(index, { ...name, status: 'failed', ...errorFields(row, options) });
  }
}

class RowTask extends OrderTask {
  readonly rows: Rows;

  constructor(rows: Rows, call: Call, body: Placement, row: number, result: OrderResult) {
    super(call, body, result, row);
    this.rows = rows;
  }
}

function placeHandler({ engine, placements }: BatchDeps): Route['handler'] {
  const check = compileBody(PLACEMENT_SCHEMA);
  const result: OrderResult = {
    isAmend: false,
    placed: (placed, task) => {
      const { rows, row: index, body } = task as RowTask;
      const { hash: order_hash, id: order_id } = placed;
      rows.succeed(index, { index, status: 'success', order_hash, order_id, response: nestedResponse(placed, body) });
    },
    refused: (refusal, task) => {
      const { rows, row: index } = task as RowTask;
      rows.fail(index, { index }, refusal);
    },
  };
  const enqueue = (call: Call, rows: Rows, order: unknown, index: number): void => {
    const invalid = check(order);
    const { message, details } = invalid ?? {};
    const refusal =
      invalid === null
        ? placements.tryPlace(new RowTask(rows, call, order as Placement, index, result))
        : { row: ERRORS.VALIDATION_ERROR, options: { message, details } };
    if (refusal !== null) rows.fail(index, { index }, refusal);
  };
  return (call) => {
    const { orders } = call.json as PlaceBody;
    const refused = refuseOrders(orders.length);
    if (refused !== null) {
      fail(call, refused);
      return;
    }
    const rows = new Rows(call, orders.length, 'succeeded');
    engine.inOneGo(() => {
      for (const [index, order] of orders.entries()) enqueue(call, rows, order, index);
    });
  };
}

function cancelHandler({ engine, views, queries, onError }: BatchDeps): Route['handler'] {
  const hash = new Uint32Array(HASH_BYTES / 4);
  const hashBytes = new Uint8Array(hash.buffer);
  const tell = (code: number, { call, rows, index }: RowOf): void => {
    const order_hash = hashAt(call, index);
    if (code === OK) rows.succeed(index, { order_hash, status: 'cancelled' });
    else rows.fail(index, { order_hash }, { row: errorRow(code) });
  };
  /** It is off the book: by this very request, if the cancel had its key, and the answer was lost. */
  const findCancelled = async (of: RowOf): Promise<void> => {
    const { account, route, key, fingerprint } = of.call.idempotencyHold!.place;
    const orderHash = new Uint8Array(HASH_BYTES);
    tryParseHex(hashAt(of.call, of.index), HASH_BYTES, orderHash, 0);
    try {
      const found = await queries.cancelledWithKey({ account, route, key, fingerprint, row: 0 }, orderHash);
      if (!found.ok) tell(E.OUTCOME_UNKNOWN, of);
      else tell(found.value ? OK : E.ORDER_NOT_CANCELLABLE, of);
    } catch (error) {
      of.call.isUnresolved = true;
      onError(error, of.call);
    }
  };
  const onReply: ReplyHandler<RowOf> = ({ code }, of) => {
    if (code === E.ORDER_NOT_CANCELLABLE && of.call.idempotencyHold?.isUnresolved) void findCancelled(of);
    else tell(code, of);
  };
  const enqueue = (call: Call, rows: Rows, index: number): void => {
    const order_hash = hashAt(call, index);
    if (!tryParseHex(order_hash, HASH_BYTES, hashBytes, 0)) {
      rows.fail(index, { order_hash }, INVALID_HASH);
      return;
    }
    const key = call.idempotencyHold?.words;
    const code = cancelByHash(engine, views, call.key!.accountIndex, hash, onReply, { call, rows, index }, key);
    if (code !== OK) rows.fail(index, { order_hash }, { row: errorRow(code) });
  };
  return (call) => {
    const count = (call.json as CancelBody).order_hashes.length;
    if (count === 0) fail(call, ERRORS.NO_ORDER_HASHES);
    else if (count > MAX_HASHES) fail(call, ERRORS.TOO_MANY_HASHES);
    else {
      const rows = new Rows(call, count, 'cancelled');
      engine.inOneGo(() => {
        for (let index = 0; index < count; index++) enqueue(call, rows, index);
      });
    }
  };
}

function hashAt(call: Call, index: number): string {
  return (call.json as CancelBody).order_hashes[index]!.toLowerCase();
}

function refuseOrders(count: number): ErrorRow | null {
  if (count === 0) return ERRORS.NO_ORDERS;
  if (count > MANY_ORDERS) return ERRORS.FAR_TOO_MANY_ORDERS;
  return count > MAX_ORDERS ? ERRORS.TOO_MANY_ORDERS : null;
}
