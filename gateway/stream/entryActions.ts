/**
 * Requests about orders on a socket, each with its route (RULES.md 8.13). Fields of `data` that REST has in path, query
 * and headers are taken out; the rest is the body for the route.
 */

import { namesOf } from '../../shared/base/namesOf.ts';
import { EMPTY_VALUE } from '../http/headers.ts';
import type { Method } from '../http/spec.ts';

type Data = Readonly<Record<string, unknown>>;

/** A message as the equivalent HTTP request. */
export type OrderRequest = {
  readonly route: ActionRoute;
  readonly path: string;
  readonly query: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Data;
  /** Empty if absent, like the headers. */
  readonly idempotencyKey: string;
  readonly deadline: string;
};

type ActionRoute = {
  readonly method: Method;
  /** As the route declares it. */
  readonly path: string;
  readonly hasIdempotencyKey?: true;
  readonly hasDeadline?: true;
};

const PLACING = { hasIdempotencyKey: true, hasDeadline: true } as const;
const CANCEL_BY_CLIENT_ID: ActionRoute = { method: 'DELETE', path: '/v1/orders/by-client-id/:id' };

const ROUTES = {
  place: { ...PLACING, method: 'POST', path: '/v1/orders' },
  cancel: { method: 'DELETE', path: '/v1/orders/:hash' },
  cancel_replace: { ...PLACING, method: 'POST', path: '/v1/orders/cancel-replace' },
  amend: { ...PLACING, method: 'PUT', path: '/v1/orders/:hash/amend' },
  batch_place: { ...PLACING, method: 'POST', path: '/v1/orders/batch' },
  batch_cancel: { hasIdempotencyKey: true, method: 'DELETE', path: '/v1/orders/batch' },
  cancel_all: { method: 'DELETE', path: '/v1/orders/cancel-all' },
  cancel_market: { method: 'DELETE', path: '/v1/orders/cancel-market' },
  heartbeat: { method: 'POST', path: '/v1/orders/heartbeat' },
} as const satisfies Record<string, ActionRoute>;

type OrderAction = keyof typeof ROUTES;
/** The `data` of a message. */
export type OrderData = Data & { readonly action: OrderAction };
export const ORDER_ACTIONS = namesOf(ROUTES);

export function toOrderRequest({ action, ...data }: OrderData): OrderRequest {
  const isByClientId = action === 'cancel' && 'client_order_id' in data;
  const route: ActionRoute = isByClientId ? CANCEL_BY_CLIENT_ID : ROUTES[action];
  const idempotencyKey = route.hasIdempotencyKey ? takenHeader(data, 'idempotency_key') : '';
  const deadline = route.hasDeadline ? takenHeader(data, 'deadline') : '';
  let { path } = route;
  let query: string | null = null;
  let params: OrderRequest['params'] = {};
  if (isByClientId) {
    params = { id: encoded(taken(data, 'client_order_id')) };
    path = path.replace(':id', () => params['id']);
  } else if (action === 'cancel' || action === 'amend') {
    params = { hash: taken(data, 'order_hash') };
    path = path.replace(':hash', () => params['hash']);
  }
  if (action === 'cancel' && !isByClientId && 'tombstone' in data) {
    query = `tombstone=${encoded(taken(data, 'tombstone'))}`;
  }
  return { route, path, query, params, body: data, idempotencyKey, deadline };
}

/** Takes a field out of the data, as the text that a path or header would have; a value that is not text is refused. */
function taken(data: Record<string, unknown>, name: string): string {
  if (!(name in data)) return '';
  const value = data[name];
  delete data[name];
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The same for a field that REST has in a header: a present field is never confused with the empty text of an absent
 * one.
 */
function takenHeader(data: Record<string, unknown>, name: string): string {
  const isThere = name in data;
  const value = taken(data, name);
  return isThere && value === '' ? EMPTY_VALUE : value;
}

/** A lone surrogate has no encoding, and no client order id contains one. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '';
}
