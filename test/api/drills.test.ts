/** Pause and drills: what places is refused, what takes risk away goes on (RULES.md 9.7, 9.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const market = await makeMarket(server);
const alice = await makeTrader(server);
const ORDER = { price: '0.40', size: '10' };
const HASH = `0x${'12'.repeat(32)}`;

/** The answer of every placing route; bodies are complete where a route exists, so only the drill can refuse them. */
const PLACING: [method: string, path: string, body: () => unknown][] = [
  ['POST', '/v1/orders', () => alice.body(market, ORDER)],
  ['POST', '/v1/orders/batch', () => ({ orders: [alice.body(market, ORDER)] })],
  ['POST', '/v1/orders/cancel-replace', () => ({ order_hash: HASH, new_order: alice.body(market, ORDER) })],
  ['PUT', `/v1/orders/${HASH}/amend`, () => ({ new_order: alice.body(market, ORDER) })],
  ['POST', `/v1/markets/${market.id}/split`, () => ({ amount: '1000000' })],
  ['POST', `/v1/markets/${market.id}/merge`, () => ({ amount: '1000000' })],
];

const REFUSALS = {
  PLATFORM_PAUSED: [
    'platform is paused',
    (enabled: boolean) => (enabled ? server.admin.pause() : server.admin.resume()),
  ],
  NOT_MATCHING_LEADER: [
    'not the matching leader',
    (enabled: boolean) => server.admin.setDrill('NOT_MATCHING_LEADER', enabled),
  ],
  SETTLEMENT_UNHEALTHY: [
    'settlement is unhealthy',
    (enabled: boolean) => server.admin.setDrill('SETTLEMENT_UNHEALTHY', enabled),
  ],
} as const;

for (const [code, [message, set]] of Object.entries(REFUSALS)) {
  test(`${code}: placing routes are 503 with Retry-After; cancels, heartbeats, claims and reads go on`, async () => {
    const { order_hash } = await alice.place(market, ORDER);
    await set(true);
    for (const [method, path, body] of PLACING)
      assertRefused(await alice.send(method, path, body()), 503, code, message);
    await alice.client.heartbeat();
    await alice.client.cancelOrder(order_hash);
    await alice.client.cancelAll();
    await alice.client.balances();
    await set(false);
    assert.equal((await alice.place(market, ORDER)).status, 'open');
  });
}

test('of several refusals the first one in the error table is answered; the status lists all of them', async () => {
  await server.admin.setDrill('SETTLEMENT_UNHEALTHY', true);
  await server.admin.setDrill('NOT_MATCHING_LEADER', true);
  const body = alice.body(market, ORDER);
  assertRefused(await alice.post(body), 503, 'NOT_MATCHING_LEADER', 'not the matching leader');
  await server.admin.pause();
  assertRefused(await alice.post(body), 503, 'PLATFORM_PAUSED', 'platform is paused');
  const status = await server.admin.platform();
  assert.equal(status.paused, true);
  assert.deepEqual(status.drills, ['NOT_MATCHING_LEADER', 'SETTLEMENT_UNHEALTHY']);
  assert.deepEqual(status.shards, [
    { shard: 0, ready: true },
    { shard: 1, ready: true },
  ]);
});

test('a restart ends the drills and keeps the pause', async () => {
  await server.restart();
  const status = await server.admin.platform();
  assert.deepEqual([status.drills, status.paused], [[], true]);
  await server.admin.resume();
  assert.equal((await alice.reconnected().place(market, ORDER)).status, 'open');
});

test('a test of the alerts is for superusers, has no fields, and is over after its two minutes', async () => {
  const path = '/admin/platform/alert-test';
  const viewer = await server.admin.createOperator({ name: 'watcher', roles: ['viewer', 'treasury'] });
  const asViewer = { authorization: `Bearer ${viewer.token}` };
  const alerted = async (): Promise<string | undefined> =>
    /^exchange_alert_test (\d)$/m.exec(await (await fetch(`${server.baseUrl}/metrics`)).text())?.[1];
  assert.equal((await server.request('POST', path)).body.code, 'UNAUTHORIZED');
  const refused = await server.request('POST', path, undefined, asViewer);
  assert.deepEqual([refused.status, refused.body.code], [403, 'INSUFFICIENT_ROLE']);
  for (const body of [{ minutes: 5 }, [], '{']) {
    const answer = await server.adminRequest('POST', path, body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
  }
  assert.equal((await server.adminRequest('GET', path)).status, 405);
  assert.equal(await alerted(), '0');
  const beforeMs = Date.now();
  const { until } = await server.admin.testAlert();
  assert.ok(Date.parse(until) - beforeMs >= 119_000 && Date.parse(until) - Date.now() <= 120_000, until);
  assert.equal(await alerted(), '1');
  await server.restart();
  assert.equal(await alerted(), '0', 'a restart ends it');
});

test('only known refusals can be drilled', async () => {
  for (const body of [{ refusal: 'ENGINE_BUSY', enabled: true }, { refusal: 'NOT_MATCHING_LEADER' }, {}]) {
    const answer = await server.adminRequest('POST', '/admin/platform/drills', body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'VALIDATION_ERROR']);
  }
});
