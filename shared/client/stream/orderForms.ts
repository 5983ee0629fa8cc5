/**
 * Requests about orders on a socket in two forms, JSON and records; each is made from the request over HTTP.
 *
 * Invariant:
 *   ORDERFORMS-1  A record is sent only if it says everything that the body says and if the exchange binds the record's
 *                 key to the text of that body: so exactly the requested action is done, and a repeat over HTTP is the
 *                 same request. Every other request goes over HTTP, which carries it out or refuses it.
 */
import { ratioToPrice8Floor } from '../../base/units.ts';
import type { HeaderFields } from '../request.ts';
import type { PlacementBody } from '../types.ts';
import * as records from './orderRecords.ts';

export type OrderForm = 'json' | 'binary';
export type Encoded = string | Uint8Array<ArrayBuffer>;

/** An answer, whose body may still be a record. */
export type Received = {
  readonly id: number;
  readonly status: number;
  readonly retryAfterSec: number;
  readonly body: unknown;
  readonly placed: records.RecordAnswer['placed'];
};

type SocketRequest = {
  readonly encode: (id: number) => Encoded;
  /** The body of the route over HTTP. */
  readonly bodyOf: (received: Received) => unknown;
};

type Form = {
  /** Null for a request that this form cannot carry. */
  toRequest(method: string, path: string, payload: unknown, headers: HeaderFields): SocketRequest | null;
  /** Returns the messages that carry these requests together. */
  joined(requests: readonly Encoded[]): Encoded[];
  answersIn(data: unknown): Received[];
};

type Payload = Readonly<Record<string, unknown>>;

const ACTIONS: Readonly<Record<string, string>> = {
  'POST /v1/orders': 'place',
  'POST /v1/orders/cancel-replace': 'cancel_replace',
  'POST /v1/orders/batch': 'batch_place',
  'DELETE /v1/orders/batch': 'batch_cancel',
  'DELETE /v1/orders/cancel-all': 'cancel_all',
  'DELETE /v1/orders/cancel-market': 'cancel_market',
  'POST /v1/orders/heartbeat': 'heartbeat',
};
const BY_CLIENT_ID = /^\/v1\/orders\/by-client-id\/([^/?]+)$/;
const BY_HASH = /^\/v1\/orders\/(0x[0-9a-fA-F]{64})(\/amend|\?tombstone=1)?$/;
/** A frame of records has at most 64 KiB. */
const MOST_FRAME_BYTES = 65_536;

/** The `data` of a message: the action and the parts that REST has in the path; null for another route. */
function actionOf(method: string, path: string): Payload | null {
  const action = ACTIONS[`${method} ${path}`];
  if (action !== undefined) return { action };
  const [, clientId] = BY_CLIENT_ID.exec(path) ?? [];
  if (method === 'DELETE' && clientId !== undefined) {
    return { action: 'cancel', client_order_id: decodeURIComponent(clientId) };
  }
  const [, order_hash, rest] = BY_HASH.exec(path) ?? [];
  if (order_hash === undefined) return null;
  if (method === 'PUT' && rest === '/amend') return { action: 'amend', order_hash };
  if (method !== 'DELETE' || rest === '/amend') return null;
  return { action: 'cancel', order_hash, ...(rest === undefined ? {} : { tombstone: true }) };
}

/** Members of `data` that are not part of a body: inside a body they would replace the path or a header. */
const NOT_OF_BODIES = ['action', 'order_hash', 'tombstone', 'idempotency_key', 'deadline'];

const json: Form = {
  toRequest(method, path, payload, headers) {
    const action = actionOf(method, path);
    if (action === null || NOT_OF_BODIES.some((name) => Object.hasOwn(payload ?? {}, name))) return null;
    const key = headers['idempotency-key'];
    const deadline = headers['x-svc-deadline'];
    const data = {
      ...action,
      ...(payload as Payload | undefined),
      ...(key === undefined ? {} : { idempotency_key: key }),
      ...(deadline === undefined ? {} : { deadline }),
    };
    return { encode: (id) => JSON.stringify({ channel: 'order', id, data }), bodyOf: ({ body }) => body };
  },
  joined: (requests) => [...requests],
  answersIn(data) {
    const frame = JSON.parse(String(data));
    if (frame.channel !== 'order_result') return [];
    const { status, body, retry_after: retryAfterSec = 0 } = frame.data;
    return [{ id: frame.id, status, body, retryAfterSec, placed: null }];
  },
};

const binary: Form = {
  toRequest(method, path, payload, headers) {
    const found = actionOf(method, path);
    if (found === null) return null;
    const { action, order_hash, tombstone } = found as Record<string, never>;
    const options = optionsOf(headers);
    if (options === null) return null;
    switch (action) {
      case 'place':
        return ofOrder(
          payload as PlacementBody,
          (id, body) => records.placeRecord(id, body, options),
          (order) => order,
        );
      case 'amend': {
        const { new_order } = payload as { new_order: PlacementBody };
        if (!isOnly(payload, 'new_order') || !isLowerCase(order_hash)) return null;
        const encode = (id: number): Uint8Array<ArrayBuffer> =>
          records.replaceRecord(id, order_hash, new_order, 'AMEND', options);
        return ofOrder(new_order, encode, null);
      }
      case 'cancel_replace': {
        const { cancel_hash, new_order } = payload as { cancel_hash: string; new_order: PlacementBody };
        if (!isOnly(payload, 'cancel_hash', 'new_order') || !isLowerCase(cancel_hash)) return null;
        const encode = (id: number): Uint8Array<ArrayBuffer> =>
          records.replaceRecord(id, cancel_hash, new_order, 'CANCEL_REPLACE', options);
        return ofOrder(new_order, encode, (order) => ({ cancelled_order_hash: cancel_hash.toLowerCase(), order }));
      }
      case 'cancel':
        if (order_hash === undefined) return null;
        return plain((id) => records.cancelRecord(id, order_hash, tombstone));
      case 'cancel_all':
        return plain(records.cancelAllRecord);
      case 'cancel_market': {
        const { market_id, outcome_index } = payload as { market_id: string; outcome_index?: number };
        if (outcome_index !== undefined && outcome_index !== 0 && outcome_index !== 1) return null;
        return plain((id) => records.cancelMarketRecord(id, market_id, outcome_index));
      }
      case 'heartbeat':
        return plain(records.heartbeatRecord);
      default:
        return null;
    }
  },
  joined(requests) {
    const frames: Uint8Array<ArrayBuffer>[] = [];
    let frame: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    for (const record of requests as readonly Uint8Array<ArrayBuffer>[]) {
      if (bytes + record.length > MOST_FRAME_BYTES) {
        frames.push(concatenated(frame, bytes));
        frame = [];
        bytes = 0;
      }
      frame.push(record);
      bytes += record.length;
    }
    return [...frames, concatenated(frame, bytes)];
  },
  answersIn(data) {
    const answers = records.answersIn(new Uint8Array(data as ArrayBuffer));
    return answers.map(({ requestId, ...rest }) => ({ id: requestId, ...rest }));
  },
};

export const FORMS: Readonly<Record<OrderForm, Form>> = { json, binary };

type Placed = NonNullable<Received['placed']>;

/** A key of zeros counts as no key in a record, and a deadline of zero as no deadline. */
const KEY_FORM = /^(?!0{8}-0{4}-0{4}-0{4}-0{12})[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DEADLINE_FORM = /^[1-9][0-9]{0,13}$/;

/** Null for a value that the exchange refuses over HTTP. */
function optionsOf(headers: HeaderFields): { idempotencyKey: string | null; deadlineMs?: number } | null {
  const { 'idempotency-key': key, 'x-svc-deadline': deadline } = headers;
  if (key !== undefined && !KEY_FORM.test(key)) return null;
  if (deadline !== undefined && !DEADLINE_FORM.test(deadline)) return null;
  return { idempotencyKey: key ?? null, ...(deadline === undefined ? {} : { deadlineMs: Number(deadline) }) };
}

/** A key is bound to exactly these names in this order. */
function isOnly(payload: unknown, ...names: readonly string[]): boolean {
  return Object.keys(payload as Payload).join() === names.join();
}

function isLowerCase(hash: unknown): boolean {
  return typeof hash === 'string' && hash === hash.toLowerCase();
}

/**
 * ORDERFORMS-1.
 * @param wrap null if the body of the route has more than the record
 * @returns null if the record would not carry the body exactly
 */
function ofOrder(
  body: PlacementBody,
  encode: (id: number, body: PlacementBody) => Uint8Array<ArrayBuffer>,
  wrap: ((order: Placed['order']) => unknown) | null,
): SocketRequest | null {
  const record = encodedOrNull((id) => encode(id, body));
  if (record === null || JSON.stringify(records.bodyIn(record, body.market_id)) !== JSON.stringify(body)) return null;
  const { client_order_id } = body;
  return {
    encode: (id) => encode(id, body),
    bodyOf: ({ body: text, placed }) => {
      if (placed === null) return text;
      const order = { ...placed.order, ...(client_order_id === undefined ? {} : { client_order_id }) };
      return wrap === null ? amendedBody(order, placed, body) : wrap(order);
    },
  };
}

function encodedOrNull(encode: (id: number) => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null {
  try {
    return encode(0);
  } catch {
    return null;
  }
}

/** The answer to an amend also has the signed terms. */
function amendedBody(order: object, { keptPriority, changedPrice }: Placed, body: PlacementBody): object {
  const { maker_amount, taker_amount, side } = body;
  const [usdc, tokens] = side === 'BUY' ? [maker_amount, taker_amount] : [taker_amount, maker_amount];
  const price = ratioToPrice8Floor(Number(usdc), Number(tokens));
  return { ...order, price, maker_amount, taker_amount, time_priority: keptPriority, price_changed: changedPrice };
}

function plain(encode: (id: number) => Uint8Array<ArrayBuffer>): SocketRequest | null {
  if (encodedOrNull(encode) === null) return null;
  return { encode, bodyOf: ({ body }) => body };
}

function concatenated(parts: readonly Uint8Array<ArrayBuffer>[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
