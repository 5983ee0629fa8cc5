/** RULES.md 2.12 on a real server with little memory for orders: they move to the disk, and are refused from there. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

/** A megabyte is for 10,000 orders, and the next snapshot after that many moves them. */
const ORDERS = 14_500;
const ROWS = 15;
const AT_ONCE = 4;
const SETTINGS = {
  ORDER_MEMORY_MB: '1',
  SNAPSHOT_EVERY: '3000',
  SHARDS: '1',
  RATE_LIMITS: 'off',
  MAX_OPEN_ORDERS: '100000',
  MAX_OPEN_ORDERS_PER_MARKET: '100000',
};

test('2.12 orders beyond the memory for them are on the disk, and duplicates before and after a restart', async () => {
  const server = await startServer({ after }, SETTINGS);
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const order = () => alice.body(market, { price: '0.01', size: '5' });
  const remembered = async (): Promise<number> => {
    const authorization = `Bearer ${server.adminToken}`;
    const text = await (await fetch(`${server.adminUrl}/metrics`, { headers: { authorization } })).text();
    return Number(/_used\{bound="orders in memory of shard 0"\} (\d+)/.exec(text)?.[1]);
  };
  const refuses = async (body: object): Promise<void> => {
    assertRefused(await alice.post(body as ReturnType<typeof order>), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
  };
  const [first, last] = [order(), order()];
  assert.equal((await alice.post(first)).status, 200);
  for (let placed = 0; placed < ORDERS; ) {
    const batches = Array.from({ length: AT_ONCE }, () =>
      alice.client.placeOrders(Array.from({ length: ROWS }, order)),
    );
    for (const { succeeded } of await Promise.all(batches)) placed += succeeded;
  }
  await eventually('the shard has given memory up', async () => (await remembered()) < ORDERS / 2);
  assert.ok(readdirSync(server.dataDir).some((name) => /^hashes-0-[0-9a-f]{16}\.run$/.test(name)));
  assert.equal((await alice.post(last)).status, 200);
  for (const body of [first, last]) await refuses(body);
  await server.restart();
  assert.ok((await remembered()) < ORDERS / 2, 'a start leaves them on the disk');
  for (const body of [first, last]) await refuses(body);
});
