/** Rate limits on a real server that has them on (RULES.md 4.6, 4.8): every endpoint's own limit, tiers, headers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import type { Answer } from '../support/server.ts';
import { type Json, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertRefused, makeMarket, makeTrader, type TraderOptions } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

const server = await startServer(fileScope, { SHARDS: '1', RATE_LIMITS: 'on' });
const SCOPES: TraderOptions['scopes'] = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account'];
const UNLISTED = '30/60';

/** Requests per seconds for anonymous callers; routes that are not listed have UNLISTED. */
const LISTED: Readonly<Record<string, string>> = {
  'GET /v1/markets': '100/60',
  'GET /v1/markets/:id': '200/60',
  'GET /v1/history/:day': '200/60',
  'GET /v1/history/:day/:file': '200/60',
  'GET /v1/history/:day/markets/:market_id/:file': '200/60',
  'POST /v1/market-data/bbo': '100/60',
  'POST /v1/orders': '10/1',
  'DELETE /v1/orders/:hash': '20/1',
  'DELETE /v1/orders/by-client-id/:id': '20/1',
  'GET /v1/orders/:hash': '20/1',
  'POST /v1/orders/cancel-replace': '10/1',
  'PUT /v1/orders/:hash/amend': '10/1',
  'POST /v1/orders/batch': '5/1',
  'DELETE /v1/orders/batch': '5/1',
  'DELETE /v1/orders/cancel-all': '2/1',
  'DELETE /v1/orders/cancel-market': '2/1',
  'POST /v1/orders/heartbeat': '1/1',
  'POST /v1/markets/:id/deploy': '20/60',
  'POST /v1/auth/refresh': '5/60',
  'POST /v1/auth/revoke': '10/60',
  'POST /v1/auth/revoke-all': '5/60',
  'GET /v1/auth/wallet/nonce': '10/60',
  'POST /v1/auth/wallet': '10/60',
  'GET /v1/wallets/link/nonce': '10/60',
  'POST /v1/wallets/link': '10/60',
  'POST /v1/auth/privy': '10/60',
  'GET /v1/auth/oauth/:provider': '10/60',
  'POST /v1/auth/callback': '10/60',
  'POST /v1/user/fiat/onramp/sessions': '10/60',
  'POST /v1/user/fiat/offramp/sessions': '5/60',
  'POST /v1/user/fiat/onramp/sessions/:id/complete': '20/60',
  'POST /v1/fiat/webhooks/:provider': '600/60',
  'GET /v1/fiat/rail': '20/1',
  'GET /v1/fiat/rail/transfers': '20/1',
  'GET /v1/fiat/rail/authorizations/:from/:nonce': '20/1',
  'POST /v1/fiat/rail/transfers': '5/1',
  'POST /v1/fiat/rail/cancellations': '5/1',
  'POST /admin/markets': '10/60',
  'POST /admin/markets/:id/resolve': '5/60',
};

type Allowance = { method: string; path: string; requests: number; window_seconds: number; remaining: number };

function limitOf({ headers }: Answer): string {
  return `${headers.get('x-ratelimit-limit')}/${headers.get('x-ratelimit-window-seconds')}`;
}

function assertCounted(answer: Answer, status: number): void {
  assert.equal(answer.status, status);
  assert.equal(answer.headers.get('x-ratelimit-decision'), status === 429 ? 'quota_denied' : 'allowed');
  for (const name of ['limit', 'window-seconds', 'remaining', 'reset']) {
    assert.match(answer.headers.get(`x-ratelimit-${name}`) ?? '', /^[0-9]+$/, `${name} of a ${status}`);
  }
}

/** A trader with its whole first minute to spend; the administrator's own limits are wide enough for this file. */
async function trader(policy: object = {}, scopes = SCOPES) {
  const made = await makeTrader(server, { scopes });
  const key = await server.admin.createApiKey(made.userId, { scopes: scopes!, ...policy });
  return made.withKey({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
}

async function allowances(of: { send(method: string, path: string): Promise<Answer> }): Promise<Allowance[]> {
  const { status, body } = await of.send('GET', '/v1/rate-limits');
  assert.equal(status, 200);
  return body.limits;
}

const market = await makeMarket(server);

test('more than one heartbeat a second is refused, by keys of every tier', async () => {
  const fast = await trader({ tier: 'market_maker' }, ['trade:orders']);
  const path = '/v1/orders/heartbeat';
  const answers = await Promise.all([fast.send('POST', path, {}), fast.send('POST', path, {})]);
  const refused = answers.find(({ status }) => status === 429)!;
  assert.ok(answers.some(({ status }) => status === 200));
  assertRefused(refused, 429, 'RATE_LIMITED', 'rate limit exceeded');
  assert.equal(refused.headers.get('x-ratelimit-limit'), '1');
});

describe('limits per address', async () => {
  const endpoints = (await allowances(await trader())).map(({ method, path }) => `${method} ${path}`);
  const admin = [
    'POST /admin/markets',
    'POST /admin/markets/:id/resolve',
    'GET /admin/ledger',
    'PATCH /admin/markets/:id',
  ];
  for (const endpoint of [...endpoints, ...admin]) {
    const expected = LISTED[endpoint] ?? UNLISTED;
    test(`${endpoint} admits ${expected}`, async () => {
      const [method, path] = endpoint.split(' ');
      // A wrong path parameter is refused by the handler, no credentials by the stage before: both are counted.
      const concrete = path!.replace(/:[a-z_]+/g, 'x');
      const answer = await server.request(method!, concrete, method === 'POST' ? {} : undefined);
      assert.equal(limitOf(answer), expected);
      assert.ok(['allowed', 'quota_denied'].includes(answer.headers.get('x-ratelimit-decision')!));
    });
  }

  test('the table is of endpoints that are there, and of all that a key can call', () => {
    assert.ok(endpoints.length > 20);
    for (const endpoint of ['POST /v1/orders', 'DELETE /v1/orders/cancel-all', 'GET /v1/rate-limits', 'GET /v1/time']) {
      assert.ok(endpoints.includes(endpoint), endpoint);
    }
  });

  test('probes are never refused', async () => {
    for (let index = 0; index < 40; index++) {
      const { status, headers } = await server.request('GET', '/health');
      assert.deepEqual([status, headers.get('x-ratelimit-decision')], [200, null]);
    }
  });
});

test('the sessions of an account have the limit of the endpoint together, by account and not by address', async () => {
  const wallet = makeWallet();
  const [one, two] = [(await signIn(server, wallet)).body, (await signIn(server, wallet)).body];
  const signedUp = await signIn(server, makeWallet());
  assert.equal(limitOf(signedUp), '10/60', 'the limit of the endpoint, not that of new accounts');
  const other = signedUp.body;
  const read = (session: Json): Promise<Answer> =>
    server.request('GET', '/v1/user/profile', undefined, bearer(session));
  for (let sent = 0; sent < 30; sent++) assertCounted(await read(sent % 2 === 0 ? one : two), 200);
  for (const session of [one, two]) assertCounted(await read(session), 429);
  assertCounted(await read(other), 200);

  const refresh = (refresh_token: string): Promise<Answer> =>
    server.request('POST', '/v1/auth/refresh', { refresh_token });
  let token = one.refresh_token;
  for (let sent = 0; sent < 5; sent++) {
    const answer = await refresh(token);
    assertCounted(answer, 200);
    token = answer.body.refresh_token;
  }
  assertCounted(await refresh(token), 429);
  assertCounted(await refresh(two.refresh_token), 429);
  // Others of this file may have been refused there as well.
  for (let sent = 0; sent < 5; sent++) await refresh(7 as never);
  assertCounted(await refresh(7 as never), 429);
  assertCounted(await refresh('nonsense'), 429);
  assertCounted(await refresh(other.refresh_token), 200);
});

describe('limits per key', () => {
  for (const [tier, expected] of [
    ['standard', '10/1'],
    ['premium', '50/1'],
    ['market_maker', '100/1'],
  ] as const) {
    test(`the tier ${tier} replaces the limit of every endpoint by ${expected}`, async () => {
      const alice = await trader({ tier });
      for (const path of ['/v1/markets', '/v1/time', '/v1/user/balances', `/v1/orders/open/${market.id}`]) {
        assert.equal(limitOf(await alice.send('GET', path)), expected, path);
      }
    });
  }

  test('an override goes before the tier', async () => {
    const override = { requests: 3, window_seconds: 3600 };
    const alice = await trader({ tier: 'premium', rate_limit_override: override });
    for (const left of ['2', '1', '0']) {
      const answer = await alice.send('GET', '/v1/user/balances');
      assertCounted(answer, 200);
      assert.deepEqual([limitOf(answer), answer.headers.get('x-ratelimit-remaining')], ['3/3600', left]);
    }
    const refused = await alice.send('GET', '/v1/user/balances');
    assertCounted(refused, 429);
    assertRefused(refused, 429, 'RATE_LIMITED', 'rate limit exceeded');
    const resetSec = Number(refused.headers.get('x-ratelimit-reset'));
    const retrySec = Number(refused.headers.get('retry-after'));
    assert.ok(Math.abs(resetSec - Date.now() / 1000 - retrySec) < 30, `${resetSec} is ${retrySec} s from now`);
  });

  test('a request refused by a handler or a stage counts too, and its answer says so', async () => {
    const alice = await trader({ rate_limit_override: { requests: 50, window_seconds: 3600 } }, ['read:account']);
    const bob = await trader({ rate_limit_override: { requests: 50, window_seconds: 3600 } });
    assertCounted(await bob.send('GET', `/v1/orders/0x${'ab'.repeat(32)}`), 404);
    assertCounted(await bob.send('GET', '/v1/orders/nohash'), 400);
    assertCounted(await bob.post({}), 400);
    assertCounted(await bob.post(bob.body(market, { price: '0.50', size: '999999' })), 400);
    assertCounted(await bob.post(bob.body(market, { price: '0.50', size: '2', feeRateBps: 1 })), 422);
    assertCounted(await alice.send('DELETE', '/v1/orders/cancel-all'), 403);
    await server.admin.pause();
    assertCounted(await bob.post({}), 503);
    await server.admin.resume();
  });

  test('placing never starves cancelling, nor one way to cancel another', async () => {
    const alice = await trader({ rate_limit_override: { requests: 2, window_seconds: 3600 } });
    const placed = [await alice.place(market, { price: '0.10', size: '1' })];
    placed.push(await alice.place(market, { price: '0.11', size: '1' }));
    assertCounted(await alice.post(alice.body(market, { price: '0.12', size: '1' })), 429);
    for (const { order_hash } of placed) assertCounted(await alice.send('DELETE', `/v1/orders/${order_hash}`), 200);
    assertCounted(await alice.send('DELETE', `/v1/orders/${placed[0].order_hash}`), 429);
    assertCounted(await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: market.id }), 200);
    assertCounted(await alice.send('DELETE', '/v1/orders/cancel-all'), 200);
    assertCounted(await alice.send('GET', `/v1/orders/${placed[0].order_hash}`), 200);
  });
});

describe('GET /v1/rate-limits', () => {
  test('tells what remains of every endpoint the key may call', async () => {
    const override = { requests: 5, window_seconds: 3600 };
    const alice = await trader({ tier: 'premium', rate_limit_override: override });
    for (let index = 0; index < 3; index++) await alice.send('GET', '/v1/user/balances');
    const body = await alice.client.rateLimits();
    assert.deepEqual([body.tier, body.rate_limit_override, body.enforced], ['premium', override, true]);
    const row = (path: string) => body.limits.find((limit) => limit.path === path)!;
    const { reset, ...balances } = row('/v1/user/balances');
    assert.deepEqual(balances, { method: 'GET', path: '/v1/user/balances', ...override, remaining: 2 });
    assert.ok(Math.abs(reset - 3600 - Date.now() / 1000) < 60);
    assert.equal(row('/v1/orders').remaining, 5, 'looking uses up nothing');
    assert.equal(row('/v1/rate-limits').remaining, 4, 'but for its own endpoint');
  });

  test('leaves out routes that the key may not call', async () => {
    const paths = (await allowances(await trader({}, ['read:account']))).map(({ path }) => path);
    assert.ok(paths.includes('/v1/user/balances'));
    for (const path of ['/v1/orders', '/v1/orders/cancel-all', '/health']) assert.ok(!paths.includes(path), path);
    assert.ok(!paths.some((path) => path.startsWith('/admin')));
  });

  test('is for keys that may read their account', async () => {
    const alice = await trader({}, ['trade:orders']);
    assertRefused(
      await alice.send('GET', '/v1/rate-limits'),
      403,
      'INSUFFICIENT_SCOPE',
      'API key lacks the required scope',
    );
    assert.equal((await server.request('GET', '/v1/rate-limits')).status, 401);
  });
});

test('requests on a socket and over HTTP use up one quota, and say when it is free (RULES.md 8.16)', async (t) => {
  const alice = await makeTrader(server, { scopes: SCOPES });
  const issued = await server.admin.createApiKey(alice.userId, {
    scopes: SCOPES,
    rate_limit_override: { requests: 3, window_seconds: 3600 },
  });
  const slow = alice.withKey({ keyId: issued.key_id, secret: issued.secret, passphrase: issued.passphrase });
  const socket = await StreamClient.open(t, server.baseUrl, slow.client.prepareSigned('GET', '/v1/ws').headers);
  const hash = `0x${'ab'.repeat(32)}`;
  const onSocket = async () => (await socket.ask('order', { action: 'cancel', order_hash: hash })).data;
  const overHttp = () => slow.send('DELETE', `/v1/orders/${hash}`);
  for (const send of [onSocket, overHttp, onSocket]) assert.equal((await send()).status, 404);
  const refused = await overHttp();
  assertRefused(refused, 429, 'RATE_LIMITED', 'rate limit exceeded');
  const { status, body, retry_after: retryAfter } = await onSocket();
  assert.deepEqual([status, body], [429, refused.body]);
  assert.ok(retryAfter > 60 && retryAfter <= 3600, 'as the header Retry-After');
});
