/** GET /admin/events on a real server (RULES.md 9.11). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { type Json, sharedServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();

type Event = { type: string; data: Json };

async function* events(from: TestServer): AsyncGenerator<Event> {
  const headers = { authorization: `Bearer ${from.adminToken}` };
  const response = await fetch(`${from.baseUrl}/admin/events`, { headers });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, type, data] = /^id: \d+\nevent: (.*)\ndata: (.*)$/.exec(text.slice(0, end))!;
      text = text.slice(end + 2);
      yield { type: type!, data: JSON.parse(data!) };
    }
  }
}

/** Returns the next event of one of these types. */
async function next(feed: AsyncGenerator<Event>, ...types: string[]): Promise<Event> {
  for (;;) {
    const { value, done } = await feed.next();
    assert.ok(!done, `the feed ended before ${types.join(', ')}`);
    if (types.includes(value.type)) return value;
  }
}

test('begins with how things stand, tells it every second, and every change in between', async (t) => {
  const feed = events(server);
  t.after(() => void feed.return(undefined));
  const first = await feed.next();
  assert.equal(first.value.type, 'stats');
  const { time, shards, open_orders } = first.value.data;
  assert.ok(Number.isInteger(time) && Number.isInteger(open_orders));
  assert.deepEqual(Object.keys(shards[0]).sort(), [
    'command_ring_bytes',
    'command_ring_capacity_bytes',
    'event_ring_bytes',
    'journal_lag_commands',
    'journal_sequence',
    'open_orders',
    'projector_lag_records',
    'ready',
    'shard',
  ]);
  assert.deepEqual([shards.length, shards[1].ready], [2, true]);

  const market = await makeMarket(server);
  assert.deepEqual(await next(feed, 'market_status'), {
    type: 'market_status',
    data: { market_id: market.id, status: 'active' },
  });
  const alice = await makeTrader(server);
  await alice.place(market, { price: '0.40', size: '10' });
  for (;;) if ((await next(feed, 'stats')).data.open_orders === open_orders + 1) break;

  await server.admin.pause();
  await server.admin.resume();
  await server.admin.setDrill('NOT_MATCHING_LEADER', true);
  await server.admin.setDrill('NOT_MATCHING_LEADER', false);
  const exchange = checksumAddress(`0x${'a7'.repeat(20)}`);
  await server.admin.changeContracts({ exchange_address: exchange });
  await server.admin.patchMarket(market.id, { status: 'locked' });
  assert.deepEqual(await next(feed, 'platform_paused'), { type: 'platform_paused', data: {} });
  await next(feed, 'platform_resumed');
  assert.deepEqual((await next(feed, 'drills')).data, { drills: ['NOT_MATCHING_LEADER'] });
  assert.deepEqual((await next(feed, 'drills')).data, { drills: [] });
  assert.equal((await next(feed, 'contracts_changed')).data.exchange_address, exchange);
  assert.deepEqual((await next(feed, 'market_status')).data, { market_id: market.id, status: 'locked' });
});

test('is for the administrator alone', async () => {
  for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
    const { status, body } = await server.request('GET', '/admin/events', undefined, headers);
    assert.deepEqual([status, body.code], [401, 'UNAUTHORIZED']);
  }
});

test('SIGTERM ends it with a last event, and the server stops in order', async () => {
  const feed = events(server);
  await feed.next();
  const stopped = server.stop();
  await next(feed, 'draining');
  assert.equal((await feed.next()).done, true);
  assert.equal(await stopped, 0);
});
