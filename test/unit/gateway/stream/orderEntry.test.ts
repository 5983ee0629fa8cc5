/** The socket's own part of requests about orders, before any route sees them (RULES.md 8.13 to 8.16). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../../../gateway/http/call.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import type { RouteRow } from '../../../../gateway/http/stages.ts';
import { Connection } from '../../../../gateway/stream/connection.ts';
import { ORDER_ACTIONS, toOrderRequest } from '../../../../gateway/stream/entryActions.ts';
import { MAX_ORDERS_IN_FLIGHT } from '../../../../gateway/stream/entryLimits.ts';
import { type LoggedInCalls, OrderEntry } from '../../../../gateway/stream/orderEntry.ts';
import { apiKey } from '../../../support/apiKeys.ts';
import { callHost } from '../../../support/callHost.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import type { Json } from '../../../support/server.ts';

/** A connection whose requests wait until the test answers them. */
class Rig {
  readonly waiting: Call[] = [];
  readonly frames: Json[] = [];
  readonly connection: Connection;
  readonly #entry: OrderEntry;

  constructor() {
    const clock = new ManualClock(1_790_000_000_000);
    const calls: LoggedInCalls = {
      ...callHost(),
      rowOf: () => ({}) as RouteRow,
      runLoggedIn: (call) => void this.waiting.push(call),
      isInForce: () => true,
    };
    this.#entry = new OrderEntry({ calls: () => calls, clock });
    const nowMs = (): number => clock.nowMs();
    const host = { nowMs, steadyMs: nowMs, pushed() {}, buffered() {}, waiting() {}, failed: () => assert.fail() };
    const origin = { subject: '192.0.2.1', peer: new Uint8Array(4), forwardedFor: '' };
    this.connection = new Connection(apiKey(1), origin, host);
    this.connection.opened({
      send: (frame: Buffer) => this.frames.push(JSON.parse(frame.toString())),
      cork: (write: () => void) => write(),
      getBufferedAmount: () => 0,
    } as never);
  }

  cancel(id: number): void {
    this.#entry.request(this.connection, { id, data: { action: 'cancel_all' } });
  }
}

test(`${MAX_ORDERS_IN_FLIGHT} requests may wait on a connection; the next is refused until one is answered`, () => {
  const rig = new Rig();
  for (let id = 1; id <= MAX_ORDERS_IN_FLIGHT + 1; id++) rig.cancel(id);
  rig.connection.flush();
  assert.equal(rig.waiting.length, MAX_ORDERS_IN_FLIGHT);
  const [{ id, data }] = rig.frames;
  assert.deepEqual([id, data.status, data.body.code], [MAX_ORDERS_IN_FLIGHT + 1, 429, 'RATE_LIMITED']);
  ok(rig.waiting[0]!, { cancelled: 0 });
  rig.cancel(2000);
  assert.equal(rig.waiting.length, MAX_ORDERS_IN_FLIGHT + 1);
});

test('an answer after the end of its connection is sent nowhere', () => {
  const rig = new Rig();
  rig.cancel(1);
  rig.connection.closed();
  assert.equal(rig.waiting[0]!.transport.isGone, true);
  ok(rig.waiting[0]!, { cancelled: 0 });
  rig.connection.flush();
  assert.deepEqual(rig.frames, []);
});

test('fields that REST has in path, query and headers are taken from the body, of any type', () => {
  for (const action of ORDER_ACTIONS) assert.deepEqual(toOrderRequest({ action, more: 1 }).body, { more: 1 }, action);
  const amend = toOrderRequest({
    action: 'amend',
    order_hash: '0x$&',
    deadline: 5,
    idempotency_key: null,
    new_order: 1,
  });
  assert.equal(amend.path, '/v1/orders/0x$&/amend');
  assert.deepEqual([amend.deadline, amend.idempotencyKey, amend.body], ['5', 'null', { new_order: 1 }]);
  const cancel = toOrderRequest({ action: 'cancel', order_hash: ['x'], tombstone: 'a&b' });
  assert.deepEqual([cancel.params, cancel.query], [{ hash: '["x"]' }, 'tombstone=a%26b']);
  const byId = toOrderRequest({ action: 'cancel', client_order_id: 'a/b', order_hash: '0x12' });
  assert.deepEqual([byId.route.path, byId.params], ['/v1/orders/by-client-id/:id', { id: 'a%2Fb' }]);
  assert.deepEqual(byId.body, { order_hash: '0x12' }, 'refused by the route as an unknown field');
  assert.equal(toOrderRequest({ action: 'cancel', client_order_id: '\ud800' }).params['id'], '');
  assert.deepEqual(toOrderRequest({ action: 'cancel_all', deadline: 5 }).body, { deadline: 5 }, 'a route without one');
});
