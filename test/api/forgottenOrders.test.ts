/** RULES.md 2.13 on a real server: what the shards have forgotten of a decided market, history still knows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;

/** Orders that all shards remember. */
async function remembered(): Promise<number> {
  const answer = await fetch(`${server.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const lines = (await answer.text()).matchAll(
    /^exchange_bound_used\{bound="orders in memory of shard \d+"\} (\d+)$/gm,
  );
  const counts = [...lines].map(([, count]) => Number(count));
  assert.ok(counts.length > 0);
  return counts.reduce((sum, count) => sum + count, 0);
}

test('2.13 an order that its shard has forgotten is a duplicate, and cannot be cancelled', async () => {
  const before = await remembered();
  const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
  const bodies = ['0.50', '0.40', '0.30'].map((price) => alice.body(market, { price, size: '8' }));
  const hashes: string[] = [];
  for (const body of bodies) hashes.push((await alice.post(body)).body.order_hash);
  await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '8' });
  await alice.client.cancelOrder(hashes[1]!);
  await eventually('the metric counts the orders', async () => (await remembered()) >= before + 4);
  await server.admin.cancelMarket(market.id);
  await eventually('a sweep has passed', async () => (await remembered()) <= before);

  for (const body of bodies) assertRefused(await alice.post(body), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
  const fresh = alice.body(market, { price: '0.20', size: '8' });
  assertRefused(await alice.post(fresh), 400, 'MARKET_NOT_ACTIVE', 'market not active');
  const placed = await alice.client.placeOrders([bodies[0]!, fresh]);
  assert.deepEqual(
    placed.results.map((row) => 'code' in row && `${row.code}: ${row.error}`),
    ['ORDER_PLACEMENT_FAILED: duplicate order', 'MARKET_NOT_ACTIVE: market not active'],
  );

  const over = [409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled'] as const;
  for (const hash of hashes) {
    for (const query of ['', '?tombstone=1'])
      assertRefused(await alice.send('DELETE', `/v1/orders/${hash}${query}`), ...over);
    const strangers = await bob.send('DELETE', `/v1/orders/${hash}`);
    assertRefused(strangers, 404, 'NOT_FOUND', 'order not found');
  }
  const { results } = await alice.client.cancelOrders([...hashes, UNKNOWN_HASH]);
  assert.deepEqual(
    results.map((row) => 'code' in row && row.code),
    [over[1], over[1], over[1], 'NOT_FOUND'],
  );
});
