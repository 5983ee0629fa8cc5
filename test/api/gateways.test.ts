/** A server with front threads (RULES.md 6.13): what a client notices of them, and what an operator sees. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { requestBytes } from '../support/wire.ts';

const server = await startServer(fileScope, { GATEWAYS: '3', ADMIN_PORT: '0' });
const market = await makeMarket(server);

/** The values of a metric of each thread. */
async function byThread(name: string): Promise<Record<string, number>> {
  const answer = await fetch(`${server.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const lines = [...(await answer.text()).matchAll(new RegExp(`^${name}\\{thread="(\\d+)"\\} (\\S+)$`, 'gm'))];
  return Object.fromEntries(lines.map(([, thread, value]) => [thread!, Number(value)]));
}

test('connections of traders are spread over the front threads, and all see the same exchange', async (t) => {
  const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  const streams = await Promise.all([1, 2, 3, 4].map(() => StreamClient.open(t, server.baseUrl)));
  for (const stream of streams) await stream.subscribe({ markets: [market.id], snapshot: true });
  const order = await alice.place(market, { side: 'BUY', price: '0.50', size: '2' });
  await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '2' });
  for (const stream of streams) await stream.until(({ channel }) => channel === 'trade');
  assert.equal((await alice.client.getOrder(order.order_hash)).status, 'filled');
  const open = await byThread('exchange_thread_connections');
  assert.equal(open['0'], 0, 'the gateway thread has none');
  assert.ok(open['1']! >= 2 && open['2']! >= 2, JSON.stringify(open));
  const calls = await byThread('exchange_front_calls_total');
  assert.ok(calls['1']! > 0 && calls['2']! > 0, JSON.stringify(calls));
});

test('a request before the answer to another closes the connection (RULES.md 6.13)', async () => {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  const read = requestBytes('GET', '/v1/time', [], Buffer.alloc(0));
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (part) => {
    text += part;
  });
  socket.write(Buffer.concat([read, read]));
  await once(socket, 'close');
  assert.equal(text, '');
  assert.equal((await server.request('GET', '/v1/time')).status, 200);
});

test('a stop closes the sockets of every front thread, and the process ends with code 0', async (t) => {
  const streams = [await StreamClient.open(t, server.baseUrl), await StreamClient.open(t, server.baseUrl)];
  assert.equal(await server.stop(), 0);
  for (const stream of streams) assert.equal((await stream.closed).code, 1001);
});
