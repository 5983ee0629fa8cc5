/** Attack: an address without a key asks for the same book as fast as it can (RULES.md 6.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { measureVictim } from '../support/victim.ts';

const server = await startServer(fileScope, { SHARDS: '1', RATE_LIMITS: 'on' });
const REQUESTS = timesOf({ suite: 200, soak: 5_000 });
const CONNECTIONS = 20;
const SAMPLES = timesOf({ suite: 5, soak: 50 });

test('an address that floods public reads is refused, while a trader at the same address trades', async (t) => {
  const market = await makeMarket(server);
  const trader = await makeTrader(server, { requestsPerSecond: 1000 });
  const statuses = new Set<number>();
  let sent = 0;
  const flood = async (): Promise<void> => {
    while (sent++ < REQUESTS) statuses.add((await server.request('GET', `/v1/orders/book/${market.id}`)).status);
  };
  await measureVictim(t, {
    send: async () => {
      const { status, order_hash } = await trader.place(market, { price: '0.40', size: '10' });
      assert.equal(status, 'open');
      await trader.client.cancelOrder(order_hash);
    },
    attack: () => Promise.all(Array.from({ length: CONNECTIONS }, flood)),
    samples: SAMPLES,
  });
  assert.deepEqual([...statuses].sort(), [200, 429]);
});
