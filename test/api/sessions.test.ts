/** Signing in with a wallet, and the rights of a session (RULES.md 15.1 to 15.10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { privateKeyToAccount } from 'viem/accounts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertRefused, deposit, makeMarket, makeTrader, Trader } from '../support/traders.ts';
import { bearer, makeWallet, offeredMessage, signIn } from '../support/wallet.ts';

const PAGE = 'https://app.example';
const server = await startServer(fileScope, { SHARDS: '1', CORS_ORIGINS: PAGE });
const FROM_PAGE = { 'sec-fetch-site': 'same-origin' };

const get = (path: string, session: Json): Promise<Answer> => server.request('GET', path, undefined, bearer(session));
const refresh = (refreshToken: string): Promise<Answer> =>
  server.request('POST', '/v1/auth/refresh', { refresh_token: refreshToken });

function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')!.split(';')[0]!;
}

test('15.10: a wallet signs up with its first signature, and signs in to the same account with the next', async () => {
  const wallet = makeWallet();
  const first = await signIn(server, wallet);
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const { access_token, token_type, expires_in, user, is_new, refresh_token, ...rest } = first.body;
  assert.deepEqual([token_type, expires_in, is_new, rest], ['Bearer', 900, true, {}]);
  assert.deepEqual(user.linked_wallets, [wallet.address]);
  assert.equal(first.headers.get('set-cookie'), null, 'a token in the body needs no cookie');
  const second = await signIn(server, wallet);
  assert.deepEqual([second.body.is_new, second.body.user.id], [false, user.id]);
  assert.deepEqual((await get('/v1/user/profile', first.body)).body.id, user.id);
  assert.equal((await refresh(refresh_token)).body.user.id, user.id);

  // An account that the administrator made for the wallet belongs to the wallet's holder.
  const trader = await makeTrader(server, { depositMicro: 5_000_000 });
  const own = await server.request('GET', `/v1/auth/wallet/nonce?address=${trader.address}`);
  assert.match(own.body.message, /wants you to sign in with your Ethereum account:\n0x/);
  assert.ok(access_token.length > 200);
});

test('15.2: the published keys verify access tokens', async () => {
  const { body } = await signIn(server, makeWallet());
  const keys = createLocalJWKSet((await server.request('GET', '/.well-known/jwks.json')).body);
  const expected = { issuer: 'urn:open-prediction-exchange', audience: 'open-prediction-exchange' };
  const { payload, protectedHeader } = await jwtVerify(body.access_token, keys, expected);
  assert.equal(protectedHeader.alg, 'ES256');
  assert.equal(payload.sub, body.user.id);
  assert.equal(payload.exp! - payload.iat!, 900);
  assert.equal(payload['scope'], 'read:account trade:orders stream:market stream:user manage:account');
  const listed = (await get('/v1/auth/sessions', body)).body.sessions;
  assert.deepEqual(
    listed.map(({ id, method, is_current }: Json) => [id, method, is_current]),
    [[payload['sid'], 'wallet', true]],
  );
});

test('15.3: a session reads, trades and manages, but not in bulk, and not together with a key', async () => {
  const { body } = await signIn(server, makeWallet());
  assert.equal((await get('/v1/user/balances', body)).body.usdc.available, '0');
  assert.deepEqual((await get('/v1/rate-limits', body)).body.tier, null);
  const preferences = { session_timeout_minutes: 480 };
  assert.equal((await server.request('PUT', '/v1/user/rg/preferences', preferences, bearer(body))).status, 200);
  const [listed] = (await get('/v1/auth/sessions', body)).body.sessions;
  assert.equal(Date.parse(listed.expires_at) - Date.parse(listed.created_at), 480 * 60_000, '15.5');
  const bulk = await server.request('POST', '/v1/orders/batch', { orders: [] }, bearer(body));
  assertRefused(bulk, 403, 'INSUFFICIENT_SCOPE', 'sessions lack the required scope');
  const all = await server.request('DELETE', '/v1/orders/cancel-all', undefined, bearer(body));
  assert.deepEqual([all.status, all.body.cancelled], [200, 0]);
  const trader = await makeTrader(server);
  const signed = trader.client.prepareSigned('GET', '/v1/user/balances');
  for (const path of ['/v1/user/balances', '/v1/time']) {
    const both = await server.request('GET', path, undefined, { ...signed.headers, ...bearer(body) });
    assertRefused(both, 400, 'VALIDATION_ERROR', 'API key headers and a bearer token exclude each other');
  }
  const admin = await server.request('GET', '/admin/users', undefined, bearer(body));
  assertRefused(admin, 401, 'UNAUTHORIZED', 'invalid admin token');
});

test('15.3: a session places, shows and cancels orders; state and timeout of its account hold for it', async () => {
  const market = await makeMarket(server);
  const privateKey = `0x${'5e'.repeat(32)}` as const;
  const signer = new OrderSigner(privateKey, await new ExchangeClient({ baseUrl: server.baseUrl }).signingDomain());
  const { id } = await server.admin.createUser({ wallet_address: signer.address });
  await deposit(server, id, signer.address, 10_000_000);
  const { body } = await signIn(server, privateKeyToAccount(privateKey));
  assert.deepEqual([body.is_new, body.user.id], [false, id], 'the account that has this wallet');
  const trader = new Trader(server, id, signer, { keyId: '', secret: '', passphrase: '' });
  const order = trader.body(market, { price: '0.40', size: '10' });
  const placed = await server.request('POST', '/v1/orders', order, bearer(body));
  assert.equal(placed.status, 200, JSON.stringify(placed.body));
  const path = `/v1/orders/${placed.body.order_hash}`;
  assert.equal((await get(path, body)).body.status, 'open');
  assert.equal((await server.request('DELETE', path, undefined, bearer(body))).status, 200);

  const split = (): Promise<Answer> =>
    server.request('POST', `/v1/markets/${market.id}/split`, { amount: '1000000' }, bearer(body));
  assert.equal((await split()).status, 200);
  const timeout = await server.request('POST', '/v1/user/rg/timeout', { duration_label: '24h' }, bearer(body));
  assert.equal(timeout.status, 201);
  assert.equal((await split()).status, 423);
  assert.equal((await server.request('POST', '/v1/user/rg/timeout/cancel', undefined, bearer(body))).status, 200);
  await server.admin.setAccountState(trader.userId, 'frozen');
  assertRefused(await split(), 403, 'ACCOUNT_FROZEN', 'the account is frozen');
  assert.equal((await get('/v1/user/balances', body)).status, 200);

  const { sessions } = await server.admin.listSessions(trader.userId);
  assert.deepEqual(
    sessions.map(({ method }) => method),
    ['wallet'],
  );
  assert.equal((await server.admin.endSessions(trader.userId)).revoked, 1);
  assertRefused(await get('/v1/user/balances', body), 401, 'UNAUTHORIZED', 'session has ended');
  assert.deepEqual((await server.admin.listSessions(trader.userId)).sessions, []);
});

test('15.2: a token that is not right is 401 where one is needed, and counts as none elsewhere', async () => {
  const { body } = await signIn(server, makeWallet());
  const other = (await signIn(server, makeWallet())).body;
  const [head, , signature] = body.access_token.split('.');
  const swapped = `${head}.${other.access_token.split('.')[1]}.${signature}`;
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body.access_token.split('.')[1]}.`;
  for (const access_token of ['x', 'a.b.c', swapped, unsigned, server.adminToken, `${body.access_token}A`]) {
    const refused = await get('/v1/user/balances', { access_token });
    assertRefused(refused, 401, 'UNAUTHORIZED', 'invalid access token');
    assert.ok(!JSON.stringify(refused.body).includes(access_token) || access_token === 'x', 'no token is repeated');
    assert.equal((await get('/v1/time', { access_token })).status, 200);
  }
  assert.equal((await get('/v1/user/balances', body)).status, 200, 'the right one is right still');
});

test('15.4: a refresh token is used once: a later tab within 30 seconds gets the same successor', async () => {
  const { body } = await signIn(server, makeWallet());
  const [one, two] = await Promise.all([refresh(body.refresh_token), refresh(body.refresh_token)]);
  assert.equal(one.status, 200);
  assert.equal(one.body.refresh_token, two.body.refresh_token);
  assert.equal((await get('/v1/user/balances', two.body)).status, 200);
  assertRefused(await refresh('nonsense'), 401, 'UNAUTHORIZED', 'invalid refresh token');
  assertRefused(
    await server.request('POST', '/v1/auth/refresh', { refresh_token: 7 }),
    400,
    'VALIDATION_ERROR',
    'invalid refresh_token',
  );
});

test('15.6: an ended session is refused at once: its access token, its refresh token and its sockets', async (t) => {
  const wallet = makeWallet();
  const [own, other] = [(await signIn(server, wallet)).body, (await signIn(server, wallet)).body];
  const ticket = (await server.request('POST', '/v1/auth/ws-ticket', undefined, bearer(own))).body;
  assert.equal(ticket.expires_in, 30);
  const socket = await StreamClient.open(t, server.baseUrl, {}, `?ticket=${ticket.ticket}`);
  assert.equal((await socket.subscribe({ user: true })).user, true);
  const again = await StreamClient.refused(server.baseUrl, {}, `?ticket=${ticket.ticket}`);
  assertRefused(again as Answer, 401, 'UNAUTHORIZED', 'invalid ticket');

  const [{ id }] = (await get('/v1/auth/sessions', own)).body.sessions.filter(({ is_current }: Json) => is_current);
  const stranger = (await signIn(server, makeWallet())).body;
  const foreign = await server.request('DELETE', `/v1/auth/sessions/${id}`, undefined, bearer(stranger));
  assertRefused(foreign, 404, 'NOT_FOUND', 'session not found');
  const spare = (await server.request('POST', '/v1/auth/ws-ticket', undefined, bearer(own))).body.ticket;
  assert.equal((await server.request('DELETE', `/v1/auth/sessions/${id}`, undefined, bearer(other))).status, 200);
  assert.equal((await socket.closed).code, 1008);
  assertRefused(await get('/v1/user/balances', own), 401, 'UNAUTHORIZED', 'session has ended');
  assertRefused(await refresh(own.refresh_token), 401, 'UNAUTHORIZED', 'session has ended');
  assert.equal((await StreamClient.refused(server.baseUrl, {}, `?ticket=${spare}`)).status, 401);
  assert.equal((await get('/v1/user/balances', other)).status, 200);

  const all = await server.request('POST', '/v1/auth/revoke-all', undefined, bearer(other));
  assert.deepEqual(all.body, { message: 'sessions ended', revoked: 1 });
  assertRefused(await get('/v1/user/balances', other), 401, 'UNAUTHORIZED', 'session has ended');
  for (const refresh_token of [stranger.refresh_token, stranger.refresh_token, 'nonsense']) {
    const revoked = await server.request('POST', '/v1/auth/revoke', { refresh_token });
    assert.deepEqual([revoked.status, revoked.body], [200, { message: 'session ended' }]);
  }
  assertRefused(await get('/v1/user/balances', stranger), 401, 'UNAUTHORIZED', 'session has ended');
});

test('15.7: an access token opens no socket, and a key gets no ticket', async () => {
  const { body } = await signIn(server, makeWallet());
  assert.equal((await StreamClient.refused(server.baseUrl, bearer(body))).status, 401);
  const trader = await makeTrader(server, { scopes: ['read:account', 'stream:user'] });
  assertRefused(await trader.send('POST', '/v1/auth/ws-ticket'), 403, 'FORBIDDEN', 'only a session may do this');
});

test('15.8: the cookie is for pages of the exchange alone', async () => {
  const opened = await signIn(server, makeWallet(), {}, FROM_PAGE);
  assert.equal(opened.body.refresh_token, undefined);
  const line = opened.headers.get('set-cookie')!;
  assert.match(line, /^svc_refresh=[\w-]{91}; HttpOnly; SameSite=Strict; Path=\/v1\/auth; Max-Age=2592000$/);
  const cookie = cookieOf(opened);
  const send = (headers: Record<string, string>, path = '/v1/auth/refresh', body: Json = {}): Promise<Answer> =>
    server.request('POST', path, body, { cookie, ...headers });
  const other = 'the request comes from another site';
  for (const headers of [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    for (const path of ['/v1/auth/refresh', '/v1/auth/revoke']) {
      assertRefused(await send(headers as Record<string, string>, path), 403, 'FORBIDDEN', other);
    }
  }
  const form = await server.request('POST', '/v1/auth/refresh', undefined, { cookie, ...FROM_PAGE });
  assertRefused(form, 403, 'FORBIDDEN', other);
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  assertRefused(await signIn(server, makeWallet(), {}, evil), 403, 'FORBIDDEN', other);

  const next = await send({ origin: PAGE, 'sec-fetch-site': 'cross-site' });
  assert.equal(next.status, 200);
  assert.equal(next.headers.get('access-control-allow-credentials'), 'true');
  assert.notEqual(cookieOf(next), cookie);
  const gone = await send({ ...FROM_PAGE, cookie: cookieOf(next) }, '/v1/auth/revoke');
  assert.match(gone.headers.get('set-cookie')!, /^svc_refresh=; .*Max-Age=0$/);
  assertRefused(await send({ ...FROM_PAGE, cookie: cookieOf(next) }), 401, 'UNAUTHORIZED', 'session has ended');
});

test('15.9: the code of the body beats that of the cookie, and an unknown one is ignored', async () => {
  const referrer = (await signIn(server, makeWallet())).body;
  const code = referrer.user.referral_code;
  const headers = { ...FROM_PAGE, cookie: 'a=b; svc_referral=NOBODYXX' };
  const referred = (await signIn(server, makeWallet(), { token_delivery: 'body', referral_code: code }, headers)).body;
  assert.equal((await get('/v1/user/referral', referred)).body.referred_by, referrer.user.id);
  const alone = (await signIn(server, makeWallet(), { token_delivery: 'body' }, headers)).body;
  assert.equal((await get('/v1/user/referral', alone)).body.is_referred, false);
  const byCookie = { ...FROM_PAGE, cookie: `svc_referral=${code}` };
  const other = (await signIn(server, makeWallet(), { token_delivery: 'body' }, byCookie)).body;
  assert.equal((await get('/v1/user/referral', other)).body.is_referred, true);
});

test('15.10: a message signs in once, and a wallet that was removed to nothing', async () => {
  const wallet = makeWallet();
  const { message } = await offeredMessage(server, wallet.address);
  const signature = await wallet.signMessage({ message });
  const body = { message, signature, token_delivery: 'body' };
  const opened = await server.request('POST', '/v1/auth/wallet', body);
  assert.equal(opened.status, 200);
  assertRefused(await server.request('POST', '/v1/auth/wallet', body), 401, 'UNAUTHORIZED', 'nonce already used');
  assertRefused(
    await server.request('POST', '/v1/auth/wallet', { ...body, message: message.replace('Sign in', 'Sign up') }),
    401,
    'UNAUTHORIZED',
    'nonce already used',
  );
  const bad = await server.request('GET', '/v1/auth/wallet/nonce?address=0x12');
  assert.deepEqual([bad.status, bad.body.code], [400, 'VALIDATION_ERROR']);
  assert.equal((await server.request('GET', '/v1/auth/wallet/nonce')).status, 400);
  const fromPage = await server.request('GET', `/v1/auth/wallet/nonce?address=${wallet.address}`, undefined, {
    origin: PAGE,
  });
  assert.match(fromPage.body.message, /^app\.example wants you to sign in/);

  const path = `/admin/users/${opened.body.user.id}/wallets/${wallet.address.toLowerCase()}`;
  assert.equal((await server.adminRequest('DELETE', path)).status, 200);
  const removed = await signIn(server, wallet);
  assertRefused(removed, 403, 'FORBIDDEN', 'the wallet was removed from its account');
});

test('15.30: without settings of its own a provider is unknown', async () => {
  const answer = await server.request('POST', '/v1/auth/privy', { access_token: 'x' });
  assertRefused(answer, 404, 'NOT_FOUND', 'unknown provider');
});

test('15.4: sessions and their data survive a restart', async () => {
  const { body } = await signIn(server, makeWallet());
  await server.restart({ CORS_ORIGINS: PAGE });
  assert.equal((await get('/v1/user/balances', body)).status, 200);
  assert.equal((await refresh(body.refresh_token)).status, 200);
  for (const secret of [body.access_token, body.refresh_token]) {
    assert.ok(![...server.stdout, ...server.stderr].some((line) => line.includes(secret)), 'no token is in the log');
  }
});
