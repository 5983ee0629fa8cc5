import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import WebSocket from 'ws';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import type { IssuedApiKey, Market, PlacementBody, Scope } from '../../shared/client/types.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { type Json, sharedServer } from '../support/server.ts';

const ALL_SCOPES: Scope[] = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account'];
const NOBODY = '00000000-0000-4000-8000-000000000000';
const FAR = '2099-01-01T00:00:00.000Z';
const MARKET = { title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather', trading_ends_at: FAR };

const server = await sharedServer();

let wallets = 0;
/** An address that is not used yet in this file. */
function freshWallet(): string {
  wallets++;
  return checksumAddress(`0x${wallets.toString(16).padStart(40, 'a')}`);
}

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string, string]> {
  const answer = await server.adminRequest(method, path, body);
  return [answer.status, answer.body.code, answer.body.error];
}

async function newUser(): Promise<string> {
  return (await server.admin.createUser({ wallet_address: freshWallet() })).id;
}

async function usdcOf(userId: string): Promise<Json> {
  return (await server.adminRequest('GET', `/admin/users/${userId}`)).body.usdc;
}

function clientFor(key: IssuedApiKey): ExchangeClient {
  const credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return new ExchangeClient({ baseUrl: server.baseUrl, credentials });
}

describe('the administrator’s token', () => {
  const routes = [
    ['POST', '/admin/users'],
    ['GET', `/admin/users/${NOBODY}`],
    ['POST', `/admin/users/${NOBODY}/wallets`],
    ['POST', `/admin/users/${NOBODY}/delegates`],
    ['POST', `/admin/users/${NOBODY}/api-keys`],
    ['DELETE', '/admin/api-keys/none'],
    ['POST', `/admin/users/${NOBODY}/deposits`],
    ['POST', `/admin/users/${NOBODY}/withdrawals`],
    ['POST', '/admin/events'],
    ['PATCH', `/admin/events/${NOBODY}`],
    ['POST', '/admin/markets'],
    ['PATCH', `/admin/markets/${NOBODY}`],
    ['POST', '/admin/platform/pause'],
    ['GET', '/admin/platform'],
    ['POST', '/admin/platform/contracts'],
    ['POST', '/admin/platform/drills'],
    ['POST', '/admin/platform/resume'],
    ['GET', '/admin/ledger'],
  ] as const;
  for (const [method, path] of routes) {
    test(`${method} ${path} is 401 without it and with another one`, async () => {
      for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: server.adminToken }]) {
        const { status, body } = await server.request(method, path, undefined, headers as Record<string, string>);
        assert.deepEqual([status, body.code, body.error], [401, 'UNAUTHORIZED', 'invalid admin token']);
      }
    });
  }
});

describe('users', () => {
  test('a new user has a profile with the checksummed wallet address, whatever case the request used', async () => {
    const wallet = freshWallet();
    const answer = await server.adminRequest('POST', '/admin/users', {
      display_name: 'Ann',
      email: 'ann@example.org',
      wallet_address: wallet.toLowerCase().replace('aaaa', 'AAAA'),
    });
    assert.equal(answer.status, 201);
    const { id, created_at, referral_code, ...profile } = answer.body;
    assert.deepEqual(profile, {
      email: 'ann@example.org',
      display_name: 'Ann',
      wallet_address: wallet,
      linked_wallets: [wallet],
      role: 'user',
      state: 'active',
    });
    const shown = await server.adminRequest('GET', `/admin/users/${id}`);
    assert.deepEqual(shown.body, { ...answer.body, usdc: { available: '0', reserved: '0' } });
    assert.match(created_at, /^\d{4}-.*Z$/);
    assert.match(referral_code, /^[A-Z2-9]{8}$/);
  });

  test('a user without a wallet has none until one is linked', async () => {
    const { body } = await server.adminRequest('POST', '/admin/users', {});
    assert.equal(body.wallet_address, null);
    const wallet = freshWallet();
    assert.equal((await server.admin.addWallet(body.id, wallet)).wallet_address, wallet);
  });

  const malformed: [string, unknown, string][] = [
    ['an address that is none', { wallet_address: '0x12' }, 'invalid wallet_address'],
    ['an empty name', { display_name: '' }, 'invalid display_name'],
    ['an email without @', { email: 'ann' }, 'invalid email'],
    ['a role in capitals', { role: 'ADMIN' }, 'invalid role'],
    ['an unknown field', { wallet: 'x' }, 'unknown field: wallet'],
    ['an empty referral code', { referral_code: '' }, 'invalid referral_code'],
    ['no object', [], 'invalid body'],
  ];
  for (const [what, body, message] of malformed) {
    test(`${what} is refused`, async () => {
      assert.deepEqual(await refusal('POST', '/admin/users', body), [400, 'VALIDATION_ERROR', message]);
    });
  }

  test('RULES.md 14.74: a user signs up with the code of another; a code that is no account’s is ignored', async () => {
    const referrer = await server.adminRequest('POST', '/admin/users', {});
    const answer = await server.adminRequest('POST', '/admin/users', { referral_code: referrer.body.referral_code });
    assert.equal(answer.status, 201);
    assert.notEqual(answer.body.referral_code, referrer.body.referral_code);
    assert.equal((await server.adminRequest('POST', '/admin/users', { referral_code: 'NOSUCHCODE' })).status, 201);
  });

  test('a wallet belongs to one account: linking it again is fine, for another account it is a conflict', async () => {
    const wallet = freshWallet();
    const first = await newUser();
    const second = await newUser();
    await server.admin.addWallet(first, wallet);
    const again = await server.admin.addWallet(first, wallet);
    assert.deepEqual(
      again.linked_wallets.filter((address) => address === wallet),
      [wallet],
    );
    const conflict = [409, 'CONFLICT', 'wallet belongs to another account'];
    assert.deepEqual(await refusal('POST', `/admin/users/${second}/wallets`, { address: wallet }), conflict);
    assert.deepEqual(await refusal('POST', '/admin/users', { wallet_address: wallet }), conflict);
  });

  test('a delegate is linked to a wallet of the user only', async () => {
    const wallet = freshWallet();
    const signer = freshWallet();
    const { id } = await server.admin.createUser({ wallet_address: wallet });
    assert.deepEqual(await server.admin.addDelegate(id, wallet, signer), { maker: wallet, signer });
    const path = `/admin/users/${id}/delegates`;
    assert.deepEqual(await refusal('POST', path, { maker: signer, signer: wallet }), [
      400,
      'VALIDATION_ERROR',
      'invalid maker',
    ]);
    assert.deepEqual(await refusal('POST', path, { maker: wallet }), [
      400,
      'VALIDATION_ERROR',
      'missing field: signer',
    ]);
  });

  test('an unknown user is 404 on every route that names one', async () => {
    const wallet = freshWallet();
    const bodies: [string, unknown][] = [
      ['wallets', { address: wallet }],
      ['delegates', { maker: wallet, signer: wallet }],
      ['api-keys', { scopes: ['read:account'] }],
      ['deposits', { amount_usdc_micro: '1' }],
      ['withdrawals', { amount_usdc_micro: '1' }],
    ];
    for (const [route, body] of bodies) {
      const answer = await refusal('POST', `/admin/users/${NOBODY}/${route}`, body);
      assert.deepEqual(answer, [404, 'NOT_FOUND', 'user not found']);
    }
    assert.deepEqual(await refusal('GET', `/admin/users/${NOBODY}`), [404, 'NOT_FOUND', 'user not found']);
  });
});

describe('API keys', () => {
  test('an issued key opens the account it was issued for, with the policy it was given', async () => {
    const userId = await newUser();
    const policy = {
      scopes: ['read:account' as const],
      tier: 'premium' as const,
      rate_limit_override: { requests: 5, window_seconds: 2 },
      expires_at: FAR,
      require_signing_version: 2 as const,
      self_trade_prevention: 'cancel_oldest' as const,
      allowed_ips: ['127.0.0.0/8', '2001:db8::/32'],
    };
    const key = await server.admin.createApiKey(userId, policy);
    const { key_id, secret, passphrase, ...issued } = key;
    assert.ok(key_id !== '' && secret.length === 43 && passphrase.length === 32);
    assert.deepEqual(issued, policy);
    await server.admin.deposit(userId, { amount_usdc_micro: '7000000' });
    const { usdc } = await clientFor(key).balances();
    assert.deepEqual(usdc, { available: '7000000', reserved: '0' });
  });

  test('a key is for version 2 unless it is issued for version 1 or for both', async () => {
    const userId = await newUser();
    const issued = async (version?: 1 | 2 | null) => {
      const asked = version === undefined ? {} : { require_signing_version: version };
      return server.admin.createApiKey(userId, { scopes: ['read:account'], ...asked });
    };
    const path = '/v1/user/balances';
    for (const [key, version, statusV1, statusV2] of [
      [await issued(), 2, 401, 200],
      [await issued(1), 1, 200, 401],
      [await issued(null), null, 200, 200],
    ] as const) {
      assert.equal(key.require_signing_version, version);
      const signer = new RequestSigner({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
      const v1 = await server.request('GET', path, undefined, signer.headersV1('GET', path, ''));
      const v2 = await server.request('GET', path, undefined, signer.headers('GET', path, ''));
      assert.deepEqual([v1.status, v2.status], [statusV1, statusV2], `issued for ${version}`);
    }
  });

  test('a revoked key is refused from the next request on', async () => {
    const key = await server.admin.createApiKey(await newUser(), { scopes: ALL_SCOPES });
    const client = clientFor(key);
    await client.balances();
    assert.deepEqual(await server.admin.revokeApiKey(key.key_id), { message: 'API key revoked' });
    await assert.rejects(client.balances(), { status: 401, code: 'API_KEY_UNAUTHORIZED' });
    // Saying it twice is not an error.
    await server.admin.revokeApiKey(key.key_id);
  });

  test('a key that got another secret is refused with the former one, and its socket is closed', async () => {
    const key = await server.admin.createApiKey(await newUser(), { scopes: [...ALL_SCOPES, 'stream:user'] });
    const former = clientFor(key);
    await former.balances();
    const { headers } = former.prepareSigned('GET', '/v1/ws');
    const socket = new WebSocket(`${server.baseUrl.replace('http', 'ws')}/v1/ws`, { headers });
    await once(socket, 'open');
    const closed = once(socket, 'close');
    const rotated = await server.admin.rotateApiKey(key.key_id);
    await closed;
    assert.equal(rotated.key_id, key.key_id);
    await assert.rejects(former.balances(), { status: 401, code: 'UNAUTHORIZED' });
    const mixed = clientFor({ ...key, passphrase: rotated.passphrase });
    await assert.rejects(mixed.balances(), { status: 401, code: 'UNAUTHORIZED' });
    await clientFor({ ...key, ...rotated }).balances();
  });

  test('a revoked or an unknown key gets no other secret', async () => {
    const key = await server.admin.createApiKey(await newUser(), { scopes: ALL_SCOPES });
    await server.admin.revokeApiKey(key.key_id);
    const path = (id: string): string => `/admin/api-keys/${id}/rotate`;
    assert.deepEqual(await refusal('POST', path(key.key_id)), [409, 'CONFLICT', 'API key is revoked']);
    assert.deepEqual(await refusal('POST', path('key_none')), [404, 'NOT_FOUND', 'API key not found']);
    assert.equal((await server.request('POST', path(key.key_id))).status, 401);
  });

  test('revoking an unknown key is 404', async () => {
    assert.deepEqual(await refusal('DELETE', '/admin/api-keys/key_none'), [404, 'NOT_FOUND', 'API key not found']);
  });

  const malformed: [string, unknown, string][] = [
    ['no scopes', {}, 'missing field: scopes'],
    ['an empty list of scopes', { scopes: [] }, 'invalid scopes'],
    ['an unknown scope', { scopes: ['trade:all'] }, 'invalid scopes'],
    ['a scope twice', { scopes: ['read:account', 'read:account'] }, 'invalid scopes'],
    ['an unknown tier', { scopes: ['read:account'], tier: 'gold' }, 'invalid tier'],
    ['an end in the past', { scopes: ['read:account'], expires_at: '2020-01-01T00:00:00Z' }, 'invalid expires_at'],
    ['signing version 3', { scopes: ['read:account'], require_signing_version: 3 }, 'invalid require_signing_version'],
    [
      'a limit of no requests',
      { scopes: ['read:account'], rate_limit_override: { requests: 0, window_seconds: 1 } },
      'invalid requests',
    ],
    [
      'an unknown self-trade mode',
      { scopes: ['read:account'], self_trade_prevention: 'yes' },
      'invalid self_trade_prevention',
    ],
    ['an empty list of addresses', { scopes: ['read:account'], allowed_ips: [] }, 'invalid allowed_ips'],
    ['a name among addresses', { scopes: ['read:account'], allowed_ips: ['localhost'] }, 'invalid allowed_ips'],
    ['a network too small', { scopes: ['read:account'], allowed_ips: ['10.0.0.0/33'] }, 'invalid allowed_ips'],
  ];
  for (const [what, body, message] of malformed) {
    test(`${what} is refused`, async () => {
      const path = `/admin/users/${await newUser()}/api-keys`;
      assert.deepEqual(await refusal('POST', path, body), [400, 'VALIDATION_ERROR', message]);
    });
  }
});

describe('deposits and withdrawals', () => {
  test('a repeat of a reference returns the first result and moves nothing', async () => {
    const userId = await newUser();
    const movement = { amount_usdc_micro: '5000000', reference: 'wire 1' };
    const first = await server.admin.deposit(userId, movement);
    assert.deepEqual(
      [first.type, first.amount_usdc_micro, first.reference, first.status],
      ['deposit', '5000000', 'wire 1', 'completed'],
    );
    assert.deepEqual(await server.admin.deposit(userId, movement), first);
    assert.deepEqual(await usdcOf(userId), { available: '5000000', reserved: '0' });
  });

  test('the same reference with another amount is a conflict', async () => {
    const userId = await newUser();
    await server.admin.deposit(userId, { amount_usdc_micro: '5', reference: 'wire' });
    const path = `/admin/users/${userId}/deposits`;
    assert.deepEqual(await refusal('POST', path, { amount_usdc_micro: '6', reference: 'wire' }), [
      409,
      'CONFLICT',
      'reference was used with another amount',
    ]);
  });

  test('without a reference every request is a movement of its own', async () => {
    const userId = await newUser();
    const first = await server.admin.deposit(userId, { amount_usdc_micro: '5' });
    const second = await server.admin.deposit(userId, { amount_usdc_micro: '5' });
    assert.notEqual(first.reference, second.reference);
    assert.deepEqual(await usdcOf(userId), { available: '10', reserved: '0' });
  });

  test('a withdrawal takes at most the available balance; a refused reference can be used again', async () => {
    const userId = await newUser();
    await server.admin.deposit(userId, { amount_usdc_micro: '100' });
    const path = `/admin/users/${userId}/withdrawals`;
    const { status, body } = await server.adminRequest('POST', path, { amount_usdc_micro: '101', reference: 'out' });
    assert.deepEqual([status, body.code], [400, 'INSUFFICIENT_BALANCE']);
    assert.deepEqual(body.details, { asset: 'USDC', required: '101', available: '100', reserved: '0' });
    assert.deepEqual(await usdcOf(userId), { available: '100', reserved: '0' });
    const done = await server.admin.withdraw(userId, { amount_usdc_micro: '100', reference: 'out' });
    assert.deepEqual([done.type, done.status], ['withdrawal', 'completed']);
    assert.deepEqual(await usdcOf(userId), { available: '0', reserved: '0' });
  });

  test('more money than the ledger can add up exactly is refused', async () => {
    const path = `/admin/users/${await newUser()}/deposits`;
    const [status, code] = await refusal('POST', path, { amount_usdc_micro: String(Number.MAX_SAFE_INTEGER) });
    assert.deepEqual([status, code], [400, 'VALIDATION_ERROR']);
  });

  for (const amount of ['0', '-1', '1.5', '01', '', '9007199254740992', '99999999999999999', 5, null]) {
    test(`an amount of ${JSON.stringify(amount)} is refused`, async () => {
      const path = `/admin/users/${await newUser()}/deposits`;
      const expected = [400, 'VALIDATION_ERROR', 'invalid amount_usdc_micro'];
      assert.deepEqual(await refusal('POST', path, { amount_usdc_micro: amount }), expected);
    });
  }
});

describe('over one kill -9, with a pause', () => {
  const leftOver = '0190a0b0-c0d0-7000-8000-0000000000a1';
  const tooMuch = '0190a0b0-c0d0-7000-8000-0000000000a2';
  const paused = { status: 503, code: 'PLATFORM_PAUSED', retryAfter: 1 };
  let owner: Awaited<ReturnType<typeof trader>>;
  let waiting: Awaited<ReturnType<typeof trader>>;
  let market: Market;
  let [noted, done] = ['', ''];
  let former: IssuedApiKey;
  let rotated: Awaited<ReturnType<typeof server.admin.rotateApiKey>>;

  before(async () => {
    owner = await trader();
    await clientFor(owner.key).placeOrder(owner.body);
    market = await clientFor(owner.key).market(owner.body.market_id);
    former = await server.admin.createApiKey(await newUser(), { scopes: ALL_SCOPES });
    rotated = await server.admin.rotateApiKey(former.key_id);
    noted = await newUser();
    done = await newUser();
    await server.admin.deposit(done, { amount_usdc_micro: '70', reference: 'done' });
    waiting = await trader();
    await server.admin.pause();
    await assert.rejects(clientFor(waiting.key).placeOrder(waiting.body), paused);
    assert.equal((await server.request('GET', '/v1/platform/config')).body.paused, true);

    await server.kill();
    const database = openControlDatabase(join(server.dataDir, 'control.db'));
    const insert = database.prepare(
      `INSERT INTO movements (id, account_index, kind, amount_micro, reference, status, created_ms)
         SELECT ?, account_index, ?, ?, ?, 'pending', 1 FROM users WHERE id = ?`,
    );
    insert.run(leftOver, MOVEMENT.DEPOSIT, 400, 'left over', noted);
    insert.run(tooMuch, MOVEMENT.WITHDRAWAL, 500, 'too much', noted);
    database.exec(`UPDATE movements SET status = 'pending' WHERE reference = 'done'`);
    database.close();
    await server.start();
  });

  test('while paused no order is placed, also after the start, and reading goes on', async () => {
    const client = clientFor(waiting.key);
    await assert.rejects(client.placeOrder(waiting.body), paused);
    assert.equal((await client.balances()).usdc.available, '10000000');
    await server.admin.resume();
    assert.equal((await client.placeOrder(waiting.body)).status, 'open');
  });

  test('users, keys, money and markets are there again and the ledger closes', async () => {
    const held = { available: '9500000', reserved: '500000' };
    assert.deepEqual((await clientFor(owner.key).balances()).usdc, held);
    assert.deepEqual(await clientFor(owner.key).market(owner.body.market_id), market);
    assert.deepEqual(await usdcOf(owner.userId), held);
    const ledger = await server.admin.ledger();
    assert.equal(ledger.balanced, true);
    assert.equal(
      BigInt(ledger.total_usdc_micro),
      BigInt(ledger.accounts_usdc_micro) + BigInt(ledger.fees_usdc_micro) + BigInt(ledger.collateral_usdc_micro),
    );
  });

  test('a key that got another secret is still refused with the former one', async () => {
    await assert.rejects(clientFor(former).balances(), { status: 401, code: 'UNAUTHORIZED' });
    await clientFor({ ...former, ...rotated }).balances();
  });

  test('a movement that was noted and not sent is carried out by the start, once', async () => {
    assert.deepEqual(await usdcOf(noted), { available: '400', reserved: '0' });
    const repeat = await server.admin.deposit(noted, { amount_usdc_micro: '400', reference: 'left over' });
    assert.deepEqual([repeat.id, repeat.status], [leftOver, 'completed']);
    assert.deepEqual(await usdcOf(noted), { available: '400', reserved: '0' });
    // The refused one is open for another try.
    await server.admin.withdraw(noted, { amount_usdc_micro: '300', reference: 'too much' });
  });

  test('a movement whose completion was not noted is not carried out twice', async () => {
    assert.deepEqual(await usdcOf(done), { available: '70', reserved: '0' });
  });
});

/** A funded account with a key, and an order for 10 Yes at 0.05 that is signed and not sent. */
async function trader(): Promise<{ key: IssuedApiKey; body: PlacementBody; userId: string }> {
  wallets++;
  const privateKey = `0x${wallets.toString(16).padStart(64, '1')}`;
  const { id } = await server.admin.createUser({ wallet_address: addressOf(privateKey) });
  await server.admin.deposit(id, { amount_usdc_micro: '10000000' });
  const key = await server.admin.createApiKey(id, { scopes: ALL_SCOPES });
  const market = await server.admin.createMarket(MARKET);
  const client = clientFor(key);
  const draft = draftOrder({
    market: await client.orderMarket(market.id),
    outcomeIndex: 0,
    side: 'BUY',
    price: '0.05',
    size: '10',
    feeRateBps: market.fee_bps,
  });
  const { body } = new OrderSigner(privateKey, await client.signingDomain()).sign(draft);
  return { key, body, userId: id };
}
