/** Attack: an account that leaves as many orders open as it can, by every way there is to place one (RULES.md 2.11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { BatchPlaceResponse } from '../../shared/client/types.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const server = await startServer(fileScope, { SHARDS: '2', MAX_OPEN_ORDERS: '6', MAX_OPEN_ORDERS_PER_MARKET: '4' });
const [rain, wind] = (await marketPerShard(server, 2)) as [OrderMarket, OrderMarket];
const QUOTE = { price: '0.40', size: '1' };
const assertTooMany = (answer: Parameters<typeof assertRefused>[0]): void =>
  assertRefused(answer, 400, 'TOO_MANY_OPEN_ORDERS', 'too many open orders');

const openOf = async (trader: Trader): Promise<number[]> =>
  Promise.all([rain, wind].map(async ({ id }) => (await trader.client.openOrders(id)).length));

test('no way of placing passes the bound of a market or of the account, and no other account notices', async () => {
  const [mallory, alice] = [await makeTrader(server), await makeTrader(server)];
  const inRain = await Promise.all(Array.from({ length: 9 }, () => mallory.post(mallory.body(rain, QUOTE))));
  assert.equal(inRain.filter(({ status }) => status === 200).length, 4);
  inRain.filter(({ status }) => status !== 200).forEach(assertTooMany);

  const orders = Array.from({ length: 15 }, () => mallory.body(wind, QUOTE));
  const batch: BatchPlaceResponse = (await mallory.send('POST', '/v1/orders/batch', { orders })).body;
  assert.deepEqual([batch.succeeded, batch.failed], [2, 13]);
  assert.ok(batch.results.every((row) => row.status === 'success' || row.code === 'TOO_MANY_OPEN_ORDERS'));
  assert.deepEqual(await openOf(mallory), [4, 2]);

  assertTooMany(await mallory.post(mallory.body(rain, QUOTE)));
  assertTooMany(await mallory.post(mallory.body(wind, QUOTE)));
  assertRefused(
    await mallory.post({ ...mallory.body(rain, { ...QUOTE, timeInForce: 'FOK' }), signature: '0x00' }),
    400,
    'INVALID_SIGNATURE',
    'invalid order signature',
  );
  assert.equal((await alice.post(alice.body(rain, QUOTE))).status, 200);
  await assertBalanced(server);
});

test('an order that takes the place of another is let in, one that cannot rest needs no room', async () => {
  const [mallory, alice] = [await makeTrader(server), await makeTrader(server)];
  const placed = [];
  for (const market of [rain, rain, rain, rain, wind, wind]) placed.push(await mallory.place(market, QUOTE));
  const hash = placed[0]!.order_hash;
  const body = (): unknown => mallory.body(rain, { ...QUOTE, price: '0.39' });
  const replaced = await mallory.send('POST', '/v1/orders/cancel-replace', { cancel_hash: hash, new_order: body() });
  assert.equal(replaced.status, 200);
  const next = replaced.body.order.order_hash;
  const amended = await mallory.send('PUT', `/v1/orders/${next}/amend`, { new_order: body() });
  assert.equal(amended.status, 200);
  // A closed order leaves no room, and neither does one in another market.
  const again = await mallory.send('POST', '/v1/orders/cancel-replace', { cancel_hash: hash, new_order: body() });
  assertRefused(again, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');

  await alice.place(wind, { ...QUOTE, outcomeIndex: 1, price: '0.55' });
  const taken = await mallory.place(wind, { price: '0.45', size: '1', timeInForce: 'FOK' });
  assert.equal(taken.status, 'filled');
  assert.equal((await mallory.send('DELETE', `/v1/orders/${placed[5]!.order_hash}`)).status, 200);
  assert.equal((await mallory.post(mallory.body(wind, QUOTE))).status, 200);
  assertTooMany(await mallory.post(mallory.body(wind, QUOTE)));
});

test('the administrator gives an account other bounds, and they and the counts survive a restart', async () => {
  const maker = await makeTrader(server);
  const path = `/admin/users/${maker.userId}/open-order-bounds`;
  const usual = { max_open_orders: 6, max_open_orders_per_market: 4 };
  assert.deepEqual((await server.adminRequest('GET', path)).body, usual);
  const own = { max_open_orders: null, max_open_orders_per_market: 5 };
  const set = await server.adminRequest('PUT', path, own);
  assert.deepEqual([set.status, set.body], [200, { ...usual, max_open_orders_per_market: 5 }]);
  for (const bad of [{}, { ...own, max_open_orders: 0 }, { ...own, max_open_orders: '5' }, { ...own, more: 1 }])
    assert.equal((await server.adminRequest('PUT', path, bad)).status, 400);
  assert.equal((await server.adminRequest('PUT', path.replace(maker.userId, 'nobody'), own)).status, 404);
  for (let i = 0; i < 5; i++) await maker.place(rain, QUOTE);
  assertTooMany(await maker.post(maker.body(rain, QUOTE)));

  await server.restart({ SHARDS: '2', MAX_OPEN_ORDERS: '6', MAX_OPEN_ORDERS_PER_MARKET: '4' });
  const later = maker.reconnected();
  assertTooMany(await later.post(later.body(rain, QUOTE)));
  assert.equal((await later.post(later.body(wind, QUOTE))).status, 200);
  assertTooMany(await later.post(later.body(wind, QUOTE)));
  assert.deepEqual((await server.adminRequest('GET', path)).body, { ...usual, max_open_orders_per_market: 5 });
});
