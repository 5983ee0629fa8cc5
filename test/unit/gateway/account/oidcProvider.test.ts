/** A provider of OpenID Connect that hangs, lies or rotates its keys (RULES.md 15.30, 15.34). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JWTPayload } from 'jose';
import { OidcProvider } from '../../../../gateway/account/oidcProvider.ts';
import { ProviderCalls } from '../../../../gateway/http/providerCalls.ts';
import { makePrivySigner as makeSigner, startProvider } from '../../../support/providerServer.ts';

const REDIRECT_URI = 'https://exchange.test/auth/callback/house';
const CLIENT_ID = 'exchange';
const RETURNED = { code: 'the-code-of-the-test', state: 's', iss: undefined };
const CHECKS = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) };

/** A provider whose answers the test changes, and a client of it. */
async function makeRig() {
  const server = await startProvider({ after }, (request, response) => {
    rig.asked.push(request.url!);
    const body = rig.bodies[request.url!];
    if (body === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  const signer = await makeSigner('first');
  const metadata = {
    issuer: server.url,
    authorization_endpoint: `${server.url}/authorize`,
    token_endpoint: `${server.url}/token`,
    jwks_uri: `${server.url}/keys`,
    id_token_signing_alg_values_supported: ['ES256'],
  };
  const calls = { current: new ProviderCalls() };
  const down: string[] = [];
  const client = new OidcProvider({
    name: 'house',
    issuer: new URL(server.url),
    clientId: CLIENT_ID,
    clientSecret: 'a-secret',
    onDown: (_name, { message }) => down.push(message),
    calls: { send: (url, sent) => calls.current.send(url, sent) },
  });
  /** An undefined body is an answer that never comes. */
  const bodies: Record<string, object | undefined> = {
    '/.well-known/openid-configuration': metadata,
    '/keys': { keys: [signer.jwk] },
  };
  const tokens = async (claims: JWTPayload = {}, by = signer): Promise<object> => {
    const usual = { iss: server.url, aud: CLIENT_ID, sub: 'ann', sid: undefined, nonce: CHECKS.nonce };
    const id_token = await by.sign({ ...usual, ...claims });
    return { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token };
  };
  const rig = { server, asked: [] as string[], signer, metadata, bodies, tokens, client, down, calls };
  return rig;
}

const rig = await makeRig();
const { bodies, client, down, tokens } = rig;

async function finish(body: object | undefined): Promise<string> {
  bodies['/token'] = body;
  const result = await client.finish(RETURNED, CHECKS, REDIRECT_URI);
  if ('row' in result) return `${result.row.status} ${result.row.message}`;
  return `${result.identity!.subject} ${result.email}`;
}

const DOWN = '503 the sign-in provider does not answer';

test('15.30: people who begin together have the provider asked once, and rarely while it lies', async (t) => {
  let nowMs = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now: nowMs });
  for (const wrong of [
    { ...rig.metadata, issuer: 'https://evil.example' },
    { ...rig.metadata, authorization_endpoint: undefined },
    [],
  ]) {
    rig.asked.length = 0;
    bodies['/.well-known/openid-configuration'] = wrong;
    const begun = await Promise.all([1, 2, 3].map(() => client.begin(REDIRECT_URI)));
    begun.push(await client.begin(REDIRECT_URI));
    for (const each of begun) assert.ok('row' in each && each.row.status === 503 && each.retryAfterSec === 5);
    assert.equal(rig.asked.length, 1);
    nowMs += 3_600_000;
    t.mock.timers.setTime(nowMs);
  }
  rig.asked.length = 0;
  bodies['/.well-known/openid-configuration'] = rig.metadata;
  const [one, two] = await Promise.all([client.begin(REDIRECT_URI), client.begin(REDIRECT_URI)]);
  assert.ok('url' in one && 'url' in two, down.join());
  assert.notEqual(one.checks.state, two.checks.state);
  assert.equal(rig.asked.length, 1);
  // Its last answer goes on to count while it is down.
  t.mock.timers.setTime(nowMs + 3_600_000);
  bodies['/.well-known/openid-configuration'] = { ...rig.metadata, issuer: 'https://evil.example' };
  assert.ok('url' in (await client.begin(REDIRECT_URI)));
  bodies['/.well-known/openid-configuration'] = rig.metadata;
});

test('15.34: an id token counts that the provider has signed for our client and this sign-in', async () => {
  const email = 'Ann@example.org';
  assert.equal(await finish(await tokens({ email, email_verified: true })), 'ann ann@example.org');
  assert.equal(await finish(await tokens({ email, email_verified: false })), 'ann null');
  assert.equal(await finish(await tokens({ email, email_verified: 'true' })), 'ann null');
  assert.equal(await finish(await tokens({ email: 7, email_verified: true })), 'ann null');
  const right = (await tokens()) as { id_token: string };
  const [, claims, signature] = right.id_token.split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  for (const wrong of [
    await tokens({ nonce: 'of another sign-in' }),
    await tokens({ nonce: undefined }),
    await tokens({ aud: 'another-client' }),
    await tokens({ iss: 'https://evil.example' }),
    await tokens({ exp: 1 }),
    await tokens({ sub: '' }),
    await tokens({ sub: 'x'.repeat(256) }),
    await tokens({}, await makeSigner('first')),
    await tokens({}, await makeSigner('unknown')),
    { ...right, id_token: `${none}.${claims}.` },
    { ...right, id_token: `${none}.${claims}.${signature}` },
    { ...right, id_token: undefined },
    { ...right, id_token: 7 },
    [],
    {},
  ]) {
    assert.equal(await finish(wrong), DOWN, JSON.stringify(wrong));
  }
  for (const reason of down) {
    assert.match(reason, /^[A-Za-z_ ]+$/);
    assert.ok(!reason.includes(RETURNED.code));
  }
});

test('15.34: a new key of the provider counts after a minute; unknown ones cause no requests', async (t) => {
  const second = await makeSigner('second');
  bodies['/keys'] = { keys: [second.jwk] };
  rig.asked.length = 0;
  for (let round = 0; round < 5; round++) assert.equal(await finish(await tokens({}, second)), DOWN);
  assert.ok(!rig.asked.includes('/keys'));
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 61_000 });
  assert.equal(await finish(await tokens({}, second)), 'ann null');
  assert.equal(await finish(await tokens()), DOWN);
});

test('15.30: a provider that never answers is 503', async () => {
  rig.calls.current = new ProviderCalls({ timeoutMs: 50 });
  assert.equal(await finish(undefined), DOWN);
  assert.equal(down.at(-1), 'TimeoutError');
});
