/** Signing in with identity providers (RULES.md 15.30 to 15.34). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import { CLIENT, serveOidc } from '../support/oidcServer.ts';
import { jwksAnswer, makePrivySigner, PRIVY_APP, startProvider } from '../support/providerServer.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertRefused } from '../support/traders.ts';
import { bearer } from '../support/wallet.ts';

const OTHER_SITE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
const signer = await makePrivySigner('first');
const privy = await startProvider(fileScope, jwksAnswer(signer));
const house = await startProvider(fileScope, (_request, response) => response.writeHead(404).end());
const server = await startServer(fileScope, {
  SHARDS: '1',
  PRIVY_APP_ID: PRIVY_APP,
  PRIVY_JWKS_URL: `${privy.url}/jwks.json`,
  OIDC_HOUSE_ISSUER: house.url,
  OIDC_HOUSE_CLIENT_ID: CLIENT.clientId,
  OIDC_HOUSE_CLIENT_SECRET: CLIENT.clientSecret,
  OIDC_OTHER_ISSUER: house.url,
  OIDC_OTHER_CLIENT_ID: CLIENT.clientId,
  OIDC_OTHER_CLIENT_SECRET: CLIENT.clientSecret,
});
const secrets: string[] = [];

async function signedBy(sub: string, claims: Json = {}): Promise<string> {
  const token = await signer.sign({ sub, ...claims });
  secrets.push(token);
  return token;
}

const viaPrivy = (body: Json, headers: Record<string, string> = {}): Promise<Answer> =>
  server.request('POST', '/v1/auth/privy', { token_delivery: 'body', ...body }, headers);

test('15.31: a person of Privy signs up with the first token, and signs in with the next', async () => {
  const linked_accounts = JSON.stringify([{ type: 'email', address: 'ann@example.org', lv: 1_790_000_000 }]);
  const access_token = await signedBy('did:privy:ann');
  const identity_token = await signedBy('did:privy:ann', { linked_accounts });
  const first = await viaPrivy({ access_token, identity_token });
  assert.equal(first.status, 200, JSON.stringify(first.body));
  assert.deepEqual([first.body.is_new, first.body.user.email], [true, 'ann@example.org']);
  const again = await viaPrivy({ access_token: await signedBy('did:privy:ann') });
  assert.deepEqual([again.body.is_new, again.body.user.id], [false, first.body.user.id]);
  const read = await server.request('GET', '/v1/auth/sessions', undefined, bearer(again.body));
  assert.deepEqual(
    read.body.sessions.map(({ method }: Json) => method),
    ['privy', 'privy'],
  );

  // The same e-mail address does not make two people the same.
  const code = first.body.user.referral_code;
  const bob = { access_token: await signedBy('did:privy:bob'), referral_code: code };
  const other = await viaPrivy({ ...bob, identity_token: await signedBy('did:privy:bob', { linked_accounts }) });
  assert.deepEqual([other.status, other.body.is_new], [200, true]);
  assert.notEqual(other.body.user.id, first.body.user.id);
  const referral = await server.request('GET', '/v1/user/referral', undefined, bearer(other.body));
  assert.equal(referral.body.referred_by, first.body.user.id);
});

test('15.31: a token that is not right, or sent by another site, opens no session', async () => {
  const expired = await viaPrivy({ access_token: await signedBy('did:privy:ann', { exp: 1_700_000_000 }) });
  assertRefused(expired, 401, 'UNAUTHORIZED', 'access token has expired');
  assert.deepEqual(expired.body.details, { step: 'access_token' });
  const foreign = await viaPrivy({ access_token: await signedBy('did:privy:ann', { aud: 'another-app' }) });
  assertRefused(foreign, 401, 'UNAUTHORIZED', 'invalid access token');
  const access_token = await signedBy('did:privy:ann');
  const swapped = await viaPrivy({ access_token, identity_token: await signedBy('did:privy:bob') });
  assertRefused(swapped, 401, 'UNAUTHORIZED', 'invalid access token');
  assert.deepEqual(swapped.body.details, { step: 'identity_token' });
  for (const body of [{}, { access_token: 7 }, { access_token: 'x'.repeat(8193) }, { access_token, more: 1 }]) {
    assert.equal((await viaPrivy(body)).status, 400);
  }
  const cookie = await viaPrivy({ access_token, token_delivery: 'cookie' }, OTHER_SITE);
  assertRefused(cookie, 403, 'FORBIDDEN', 'the request comes from another site');
  const own = await viaPrivy({ access_token, token_delivery: 'cookie' }, { 'sec-fetch-site': 'same-origin' });
  assert.match(own.headers.get('set-cookie')!, /^svc_refresh=/);
});

test("15.32: an unknown key makes the exchange fetch the provider's keys once", async () => {
  const flood = Array.from({ length: 20 }, (_, index) => signer.sign({}, Date.now(), { kid: `unknown-${index}` }));
  const answers = await Promise.all((await Promise.all(flood)).map((access_token) => viaPrivy({ access_token })));
  for (const answer of answers) assertRefused(answer, 401, 'UNAUTHORIZED', 'invalid access token');
  assert.equal(privy.requests, 1);
});

const oidc = await serveOidc(house, [`${server.baseUrl}/auth/callback/house`]);

/** The browser that begins a sign-in: the cookies that it keeps, and the address to which it is sent. */
async function begin(query = '', provider = 'house'): Promise<{ cookie: string; location: string; line: string }> {
  const response = await fetch(`${server.baseUrl}/v1/auth/oauth/${provider}${query}`, { redirect: 'manual' });
  assert.equal(response.status, 302, await response.clone().text());
  const line = response.headers.get('set-cookie')!;
  const cookie = line.split(';')[0]!;
  secrets.push(cookie);
  return { cookie, location: response.headers.get('location')!, line };
}

/** The parameters that the provider has the browser bring back. */
async function signInAt(location: string): Promise<{ code: string; state: string; iss: string }> {
  const returned = await oidc.visit(location);
  assert.equal(returned.origin + returned.pathname, `${server.baseUrl}/auth/callback/house`);
  const { code, state, iss } = Object.fromEntries(returned.searchParams);
  secrets.push(code!);
  return { code: code!, state: state!, iss: iss! };
}

const finish = (cookie: string, body: Json, headers: Record<string, string> = {}): Promise<Answer> =>
  server.request('POST', '/v1/auth/callback', { provider: 'house', ...body }, { cookie, ...headers });

test('15.33: a person signs up at a provider, goes on where it was, and signs in again', async () => {
  const { cookie, location, line } = await begin('?redirect_path=/portfolio%3Fa=1');
  assert.match(line, /^svc_oauth=[\w-]+; HttpOnly; SameSite=Lax; Path=\/v1\/auth; Max-Age=600$/);
  const asked = new URL(location).searchParams;
  assert.deepEqual(
    [asked.get('response_type'), asked.get('code_challenge_method'), asked.get('scope')],
    ['code', 'S256', 'openid email'],
  );
  for (const name of ['state', 'nonce', 'code_challenge']) {
    assert.ok(!cookie.includes(asked.get(name)!), `${name} is sealed`);
  }
  const first = await finish(cookie, await signInAt(location), { 'sec-fetch-site': 'same-origin' });
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const { is_new, redirect_path, user } = first.body;
  assert.deepEqual([is_new, redirect_path, user.email], [true, '/portfolio?a=1', 'ann@example.org']);
  const [forgotten, refresh] = first.headers.getSetCookie();
  assert.match(forgotten!, /^svc_oauth=; .*Max-Age=0$/);
  assert.match(refresh!, /^svc_refresh=[\w-]{91}; HttpOnly; SameSite=Strict/);

  const again = await begin();
  const second = await finish(again.cookie, { ...(await signInAt(again.location)), token_delivery: 'body' });
  assert.deepEqual([second.body.is_new, second.body.user.id, second.body.redirect_path], [false, user.id, '/']);
  assert.ok(second.body.refresh_token);
});

test('15.33: a new person is referred by the code of the start; an unverified address does not count', async () => {
  oidc.person = { sub: 'bob', email: 'ann@example.org', email_verified: false };
  const referrer = (await viaPrivy({ access_token: await signedBy('did:privy:referrer') })).body.user;
  const { cookie, location } = await begin(`?referral_code=${referrer.referral_code}`);
  const { body } = await finish(cookie, await signInAt(location));
  assert.deepEqual([body.is_new, body.user.email], [true, null]);
  const referral = await server.request('GET', '/v1/user/referral', undefined, bearer(body));
  assert.equal(referral.body.referred_by, referrer.id);
});

test('15.34: a code is good once, and only with the state of the browser that began', async () => {
  const [own, others] = [await begin(), await begin()];
  const returned = await signInAt(own.location);
  const invalid = (answer: Answer): void => {
    assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid state');
    assert.deepEqual(answer.body.details, { field: 'state' });
  };
  invalid(await finish(own.cookie, { ...returned, state: 'x' }));
  invalid(await finish(others.cookie, returned));
  invalid(await finish('', returned));
  invalid(await finish('svc_oauth=x', returned));
  invalid(await finish(`${own.cookie}A`.replace('=A', '=B'), returned));
  invalid(await finish(own.cookie, { ...returned, provider: 'other' }));
  const foreign = await finish(own.cookie, returned, OTHER_SITE);
  assertRefused(foreign, 403, 'FORBIDDEN', 'the request comes from another site');
  assertRefused(
    await finish(own.cookie, { ...returned, iss: 'https://evil.example' }),
    400,
    'VALIDATION_ERROR',
    'invalid iss',
  );
  const { iss: _, ...unnamed } = returned;
  assertRefused(await finish(own.cookie, unnamed), 400, 'VALIDATION_ERROR', 'invalid iss');
  assertRefused(await finish(own.cookie, { ...returned, code: 'x' }), 401, 'UNAUTHORIZED', 'invalid code');

  // A code of another sign-in is of no use: the provider has the challenge of the browser that began it.
  const swapped = await signInAt(others.location);
  assertRefused(await finish(own.cookie, { ...returned, code: swapped.code }), 401, 'UNAUTHORIZED', 'invalid code');
  assert.equal((await finish(own.cookie, returned)).status, 200);
  assertRefused(await finish(own.cookie, returned), 401, 'UNAUTHORIZED', 'invalid code');
});

test('15.33: an unknown provider is 404, and a path of another site is 400', async () => {
  const unknown = await server.request('GET', '/v1/auth/oauth/nobody');
  assertRefused(unknown, 404, 'NOT_FOUND', 'unknown provider');
  assertRefused(await finish('', { provider: 'nobody', code: 'x', state: 'y' }), 404, 'NOT_FOUND', 'unknown provider');
  for (const path of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'portfolio',
    '',
  ]) {
    const url = `${server.baseUrl}/v1/auth/oauth/house?redirect_path=${encodeURIComponent(path)}`;
    const answer = await fetch(url, { redirect: 'manual' });
    assert.deepEqual([answer.status, ((await answer.json()) as Json).error], [400, 'invalid redirect_path'], path);
  }
  for (const body of [{}, { code: 'x' }, { code: '', state: 'y' }, { code: 7, state: 'y' }]) {
    assert.equal((await finish('', body)).status, 400);
  }
});

test('15.30: while a provider is down its people wait, and the code is good once it is back', async () => {
  const { cookie, location } = await begin();
  const returned = await signInAt(location);
  const { answer } = house;
  house.answer = (request) => request.socket.destroy();
  const down = await finish(cookie, returned);
  assertRefused(down, 503, 'PROVIDER_UNAVAILABLE', 'the sign-in provider does not answer');
  assert.equal(down.headers.get('retry-after'), '5');
  // The other provider was not asked before: its addresses are not known yet.
  const other = await server.request('GET', '/v1/auth/oauth/other');
  assertRefused(other, 503, 'PROVIDER_UNAVAILABLE', 'the sign-in provider does not answer');
  assert.equal((await viaPrivy({ access_token: await signedBy('did:privy:ann') })).status, 200);
  house.answer = answer;
  assert.equal((await finish(cookie, returned)).status, 200);
});

test('15.33: the page is there for the browser that comes back', async () => {
  const page = await fetch(`${server.baseUrl}/auth/callback/house?code=x&state=y`);
  assert.deepEqual([page.status, page.headers.get('referrer-policy')], [200, 'no-referrer']);
  await page.text();
});

test('15.30: nothing of a token is in the log', () => {
  const log = [...server.stdout, ...server.stderr].join('\n');
  for (const secret of secrets) assert.ok(!log.includes(secret.slice(-40)));
});
