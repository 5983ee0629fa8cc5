/** The stages that each route passes: its declarations about pause, disk, deadline, limit and idempotency. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../../../gateway/http/route.ts';
import { routeTable } from '../../../../gateway/wiring/routeTable.ts';
import { anything } from '../../../support/anything.ts';

const ROUTES = new Map(routeTable(anything).map((route) => [`${route.method} ${route.path}`, route]));

function rowOf(name: string): Route {
  const route = ROUTES.get(name);
  assert.ok(route !== undefined, name);
  return route;
}

test('a pause refuses what takes new risk, and a trading timeout lets a merge pass (9.7, 11.2)', () => {
  const placing = [...ROUTES].filter(([, route]) => route.risk !== undefined).map(([name]) => name);
  for (const name of [
    'POST /v1/orders',
    'POST /v1/orders/batch',
    'POST /v1/orders/cancel-replace',
    'PUT /v1/orders/:hash/amend',
    'POST /v1/markets/:id/split',
    'POST /v1/markets/:id/merge',
  ]) {
    assert.ok(placing.includes(name), name);
    assert.equal(rowOf(name).risk === 'reduced', name.endsWith('/merge'), name);
  }
  // The ways out of a risk stay open.
  for (const name of placing) assert.doesNotMatch(name, /^DELETE|^GET|claim|heartbeat|withdrawals/);
});

test('what adds to the stored data is refused while the disk is nearly full, and the ways out are not (10.8)', () => {
  for (const name of [
    'PUT /v1/user/order-groups/:name',
    'POST /v1/user/order-groups/:name/reset',
    'PUT /v1/user/rg/preferences',
    'POST /v1/user/rg/timeout',
    'POST /v1/user/rg/timeout/cancel',
    'POST /v1/auth/wallet',
    'POST /v1/auth/privy',
    'POST /v1/auth/callback',
    'POST /admin/users',
    'POST /admin/users/:id/wallets',
    'POST /admin/users/:id/delegates',
    'POST /admin/users/:id/api-keys',
    'POST /admin/users/:id/deposits',
    'PUT /admin/users/:id/open-order-bounds',
    'POST /admin/events',
    'POST /admin/markets',
    'POST /admin/operators',
  ]) {
    assert.equal(rowOf(name).storing, true, name);
  }
  for (const [name, { storing, risk }] of ROUTES) {
    if (storing || risk !== undefined)
      assert.doesNotMatch(name, /^DELETE|^GET|withdrawals|\/claim|resolve|settle|pause|state$/, name);
  }
});

test('an idempotency key is stored under the number of its route, for good', () => {
  const numbers = [...ROUTES].flatMap(([name, { idempotency }]) =>
    idempotency === undefined ? [] : [[idempotency, name]],
  );
  assert.deepEqual(numbers.sort(), [
    [1, 'POST /v1/orders'],
    [2, 'POST /v1/orders/batch'],
    [3, 'POST /v1/orders/cancel-replace'],
    [4, 'PUT /v1/orders/:hash/amend'],
    [5, 'DELETE /v1/orders/batch'],
    [6, 'POST /v1/events/:slug/convert'],
    [6, 'POST /v1/markets/:id/merge'],
    [6, 'POST /v1/markets/:id/split'],
  ]);
});

test('only requests that place orders have a deadline (7.12)', () => {
  const names = [...ROUTES].filter(([, { hasDeadline }]) => hasDeadline).map(([name]) => name);
  assert.deepEqual(names.sort(), [
    'POST /v1/orders',
    'POST /v1/orders/batch',
    'POST /v1/orders/cancel-replace',
    'PUT /v1/orders/:hash/amend',
  ]);
});

test('probes answer at any time, and a stream needs a key that is right or none', () => {
  const probes = [...ROUTES].filter(([, { probe, isFile }]) => probe && !isFile).map(([name]) => name);
  assert.deepEqual(probes.sort(), [
    'GET /admin/cluster',
    'GET /admin/operations',
    'GET /health',
    'GET /health/polygon',
    'GET /metrics',
    'GET /openapi.json',
    'GET /ready',
    'GET /ready/metrics',
  ]);
  const strict = [...ROUTES].filter(([, { strictKey }]) => strictKey).map(([name]) => name);
  assert.deepEqual(strict, ['GET /v1/ws']);
});

test('batches have more room than other bodies, and no other body has (6.4)', () => {
  for (const [name, { maxBodyBytes }] of ROUTES) {
    if (/^(?:POST|DELETE) \/v1\/orders\/batch$/.test(name)) assert.equal(maxBodyBytes, 256 * 1024, name);
  }
});

test('a request that needs no member may come without a body', () => {
  for (const name of [
    'DELETE /v1/orders/cancel-all',
    'DELETE /v1/orders/:hash',
    'DELETE /v1/orders/by-client-id/:id',
    'POST /v1/orders/heartbeat',
    'POST /admin/markets/:id/cancel',
  ]) {
    assert.equal(rowOf(name).bodyOptional, true, name);
  }
  for (const name of ['POST /v1/orders', 'DELETE /v1/orders/cancel-market', 'POST /admin/markets/:id/resolve']) {
    assert.notEqual(rowOf(name).bodyOptional, true, name);
  }
  // Client ids have characters that a path must encode.
  assert.equal(rowOf('DELETE /v1/orders/by-client-id/:id').hasEncodedParams, true);
});
