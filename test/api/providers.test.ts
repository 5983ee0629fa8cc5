/** Signing in with those who vouch for people (RULES.md 15.30 to 15.39). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jwksAnswer, makePrivySigner, PRIVY_APP, startProvider } from '../support/providerServer.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertRefused } from '../support/traders.ts';
import { bearer } from '../support/wallet.ts';

const OTHER_SITE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
const signer = await makePrivySigner('first');
const privy = await startProvider({ after }, jwksAnswer(signer));
const server = await startServer({ after }, { PRIVY_APP_ID: PRIVY_APP, PRIVY_JWKS_URL: `${privy.url}/jwks.json` });
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

  // The same address does not make another person the same.
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

test('15.32: unknown keys have those of the provider fetched once', async () => {
  const flood = Array.from({ length: 20 }, (_, index) => signer.sign({}, Date.now(), { kid: `unknown-${index}` }));
  const answers = await Promise.all((await Promise.all(flood)).map((access_token) => viaPrivy({ access_token })));
  for (const answer of answers) assertRefused(answer, 401, 'UNAUTHORIZED', 'invalid access token');
  assert.equal(privy.requests, 1);
});

test('15.30: nothing of a token is in the log', () => {
  const log = [...server.stdout, ...server.stderr].join('\n');
  for (const secret of secrets) assert.ok(!log.includes(secret.slice(-40)));
});
