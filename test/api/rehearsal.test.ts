/** A start with a rehearsal (RULES.md 10.25) leaves what one without it leaves. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const ON = { REHEARSE: 'on', SHARDS: '1', LOG_LEVEL: 'debug' };

/** All counters of orders, by gateway and shard. */
const OF_ORDERS =
  /^exchange_(command_seconds_count.*kind="(place|cancel)"|batch_.*_count|commit_.*_count|signature_|bad_)/;

async function countsOf({ baseUrl, adminToken }: TestServer): Promise<string[]> {
  const response = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  return (await response.text()).split('\n').filter((line) => OF_ORDERS.test(line));
}

/** The log says how many orders were placed in the rehearsals of this server. */
function rehearsedOrders({ stdout }: TestServer): number[] {
  return stdout.filter((line) => line.includes('"rehearsed"')).map((line) => JSON.parse(line).orders);
}

const server = await startServer(fileScope, ON);

test('10.25: a rehearsal leaves no file, no account, no market and no count', async () => {
  assert.equal(rehearsedOrders(server).length, 1);
  await eventually('its files are removed', async () => !readdirSync(server.dataDir).includes('rehearsal'));
  const counts = await countsOf(server);
  assert.ok(counts.length > 5, counts.join('\n'));
  for (const count of counts) assert.match(count, / 0$/);
  assert.equal((await server.request('GET', '/v1/markets')).body.total, 0);
  assert.deepEqual((await server.adminRequest('GET', '/admin/users')).body.users, []);
});

test('10.25: a rehearsal changes nothing in an exchange with orders', async () => {
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  const { order_hash } = await trader.place(market, { price: '0.40', size: '10' });
  const stateOf = async () => ({
    ledger: await server.admin.ledger(),
    order: await trader
      .reconnected()
      .send('GET', `/v1/orders/${order_hash}`)
      .then(({ body }) => body),
    book: (await server.request('GET', `/v1/orders/book/${market.id}`)).body.bids,
  });
  const before = await stateOf();
  await server.restart(ON);
  assert.deepEqual(await stateOf(), before);
  assert.equal(rehearsedOrders(server).length, 2);
});
