/** Responsible gaming over HTTP (RULES.md 11). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Answer, sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const market = await makeMarket(server);
const PREFERENCES = '/v1/user/rg/preferences';
const TIMEOUT = '/v1/user/rg/timeout';
const CANCEL = `${TIMEOUT}/cancel`;
const HOUR_MS = 3_600_000;

function assertInvalidInput(answer: Answer, error: string): void {
  assertRefused(answer, 400, 'INVALID_INPUT', error);
}

async function assertScopes(method: string, path: string, body: unknown, scope: 'read:account' | 'manage:account') {
  const others = (['read:account', 'trade:orders', 'trade:bulk', 'manage:account'] as const).filter((s) => s !== scope);
  const trader = await makeTrader(server, { scopes: others });
  const answer = await trader.send(method, path, body);
  assertRefused(answer, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
  assert.equal((await server.request(method, path, body)).status, 401);
}

describe('preferences', () => {
  test('are off at first, and what was put, field by field', async () => {
    const alice = await makeTrader(server);
    const put = async (body: unknown) => (await alice.send('PUT', PREFERENCES, body)).body;
    const off = { reality_check_interval_minutes: null, session_timeout_minutes: null };
    assert.deepEqual((await alice.send('GET', PREFERENCES)).body, off);
    const both = { reality_check_interval_minutes: 30, session_timeout_minutes: 240 };
    assert.deepEqual(await put(both), both);
    assert.deepEqual(await put({}), both);
    const one = { reality_check_interval_minutes: null, session_timeout_minutes: 240 };
    assert.deepEqual(await put({ reality_check_interval_minutes: null }), one);
    assert.deepEqual((await alice.send('GET', PREFERENCES)).body, one);
    assert.deepEqual((await (await makeTrader(server)).send('GET', PREFERENCES)).body, off, 'each account has its own');
  });

  test('are one of the documented intervals', async () => {
    const alice = await makeTrader(server);
    for (const minutes of [15, 30, 60, 120]) {
      assert.equal((await alice.send('PUT', PREFERENCES, { reality_check_interval_minutes: minutes })).status, 200);
    }
    for (const minutes of [60, 120, 240, 480]) {
      assert.equal((await alice.send('PUT', PREFERENCES, { session_timeout_minutes: minutes })).status, 200);
    }
    for (const minutes of [0, 14, 45, 480, -15, '30', true, [], 15.5]) {
      const body = { reality_check_interval_minutes: minutes, session_timeout_minutes: 120 };
      assertInvalidInput(await alice.send('PUT', PREFERENCES, body), 'invalid reality_check_interval_minutes');
    }
    for (const minutes of [0, 15, 30, 481, '60', {}]) {
      const body = { session_timeout_minutes: minutes };
      assertInvalidInput(await alice.send('PUT', PREFERENCES, body), 'invalid session_timeout_minutes');
    }
    assertInvalidInput(await alice.send('PUT', PREFERENCES, { minutes: 15 }), 'unknown field: minutes');
    const kept = { reality_check_interval_minutes: 120, session_timeout_minutes: 480 };
    assert.deepEqual((await alice.send('GET', PREFERENCES)).body, kept, 'a refusal changes nothing');
    assert.equal((await alice.send('PUT', PREFERENCES, '[1]')).body.code, 'VALIDATION_ERROR');
  });

  test('are read and managed with the scopes for it', async () => {
    await assertScopes('GET', PREFERENCES, undefined, 'read:account');
    await assertScopes('PUT', PREFERENCES, {}, 'manage:account');
  });
});

describe('timeouts', () => {
  const begin = (trader: Trader, body: unknown) => trader.send('POST', TIMEOUT, body);

  for (const [body, hours] of [
    [{ duration_label: '24h' }, 24],
    [{ duration_label: '7d' }, 168],
    [{ duration_label: '30d', custom_hours: null }, 720],
    [{ duration_label: 'custom', custom_hours: 1 }, 1],
    [{ duration_label: 'custom', custom_hours: 8760 }, 8760],
  ] as const) {
    test(`${JSON.stringify(body)} lasts ${hours} hours`, async () => {
      const alice = await makeTrader(server);
      assert.equal((await alice.send('GET', TIMEOUT)).body, null);
      const begun = await begin(alice, body);
      assert.equal(begun.status, 201);
      const { id, started_at, ends_at, ...rest } = begun.body;
      assert.deepEqual(rest, { duration_label: body.duration_label });
      assert.match(id, /^[0-9a-f-]{36}$/);
      assert.ok(Math.abs(Date.parse(started_at) - Date.now()) < HOUR_MS / 2);
      assert.equal(Date.parse(ends_at) - Date.parse(started_at), hours * HOUR_MS);
      assert.deepEqual((await alice.send('GET', TIMEOUT)).body, begun.body);
    });
  }

  test('have one of the labels, and hours only with custom', async () => {
    const alice = await makeTrader(server);
    for (const label of ['1h', '', 24, null, 'CUSTOM', 'toString']) {
      assertInvalidInput(await begin(alice, { duration_label: label }), 'invalid duration_label');
    }
    assertInvalidInput(await begin(alice, {}), 'missing field: duration_label');
    for (const hours of [0, -1, 8761, 1.5, '24', true, null]) {
      const body = { duration_label: 'custom', custom_hours: hours };
      assertInvalidInput(await begin(alice, body), 'invalid custom_hours');
    }
    assertInvalidInput(await begin(alice, { duration_label: 'custom' }), 'missing field: custom_hours');
    assertInvalidInput(await begin(alice, { duration_label: '24h', custom_hours: 3 }), 'invalid custom_hours');
    assertInvalidInput(await begin(alice, { duration_label: '24h', hours: 3 }), 'unknown field: hours');
    assert.equal((await alice.send('GET', TIMEOUT)).body, null);
  });

  test('one at a time, and none to cancel when there is none', async () => {
    const alice = await makeTrader(server);
    assertRefused(await alice.send('POST', CANCEL), 404, 'NO_ACTIVE_TIMEOUT', 'no active timeout');
    const first = (await begin(alice, { duration_label: '24h' })).body;
    const again = await begin(alice, { duration_label: '7d' });
    assertRefused(again, 409, 'TIMEOUT_ALREADY_ACTIVE', 'a trading timeout is already active');
    const cancelled = await alice.send('POST', CANCEL);
    const { cancelled_at, ...row } = cancelled.body;
    assert.deepEqual([cancelled.status, row], [200, first]);
    assert.ok(Date.parse(cancelled_at) >= Date.parse(first.started_at));
    assertRefused(await alice.send('POST', CANCEL), 404, 'NO_ACTIVE_TIMEOUT', 'no active timeout');
    assert.equal((await begin(alice, { duration_label: '7d' })).status, 201);
  });

  test('stop whatever takes risk, through every key and over a restart, and never a way out', async () => {
    const rain = await makeMarket(server);
    let alice = await makeTrader(server);
    const bob = await makeTrader(server);
    await alice.place(rain, { price: '0.40', size: '2' });
    await alice.place(rain, { price: '0.41', size: '2' });
    await alice.send('POST', `/v1/markets/${rain.id}/split`, { amount: '1000000' });
    const { ends_at } = (await alice.send('POST', TIMEOUT, { duration_label: 'custom', custom_hours: 2 })).body;
    await server.restart();
    alice = alice.reconnected();
    const key = await server.admin.createApiKey(alice.userId, { scopes: ['trade:orders'] });
    const other = alice.withKey({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
    for (const trader of [alice, other]) {
      for (const answer of [
        await trader.post(trader.body(rain, { price: '0.42', size: '2' })),
        await trader.send('POST', `/v1/markets/${rain.id}/split`, { amount: '1000000' }),
      ]) {
        assertRefused(answer, 423, 'TRADING_TIMEOUT_ACTIVE', 'trading timeout active');
        const leftSec = (Date.parse(ends_at) - Date.now()) / 1000;
        const retryAfterSec = Number(answer.headers.get('retry-after'));
        assert.ok(retryAfterSec > leftSec - 1 && retryAfterSec < leftSec + 30);
      }
    }
    const [open] = (await alice.send('GET', `/v1/orders/open/${rain.id}`)).body;
    assert.equal((await alice.send('DELETE', `/v1/orders/${open.order_hash}`)).status, 200);
    assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 200);
    assert.equal((await alice.send('POST', `/v1/markets/${rain.id}/merge`, { amount: '1000000' })).status, 200);
    assert.equal((await alice.send('DELETE', '/v1/orders/cancel-all')).body.cancelled, 1);
    assert.equal((await bob.reconnected().place(rain, { price: '0.42', size: '2' })).status, 'open');

    await server.admin.pause();
    const paused = await alice.post(alice.body(rain, { price: '0.42', size: '2' }));
    assertRefused(paused, 503, 'PLATFORM_PAUSED', 'platform is paused');
    await server.admin.resume();
    await alice.send('POST', CANCEL);
    assert.equal((await alice.place(rain, { price: '0.42', size: '2' })).status, 'open');
  });

  test('are read and managed with the scopes for it', async () => {
    await assertScopes('GET', TIMEOUT, undefined, 'read:account');
    await assertScopes('POST', TIMEOUT, { duration_label: '24h' }, 'manage:account');
    await assertScopes('POST', CANCEL, undefined, 'manage:account');
  });

  test('of one account leave the orders of another alone', async () => {
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await begin(alice, { duration_label: '24h' });
    assert.equal((await bob.place(market, { price: '0.30', size: '1' })).status, 'open');
  });
});
