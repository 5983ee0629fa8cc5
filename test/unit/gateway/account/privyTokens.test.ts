/**
 * Tokens of Privy: which ones count, and the effects of a provider that hangs, lies or rotates its keys (RULES.md
 * 15.31).
 */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { after, test } from 'node:test';
import { exportSPKI, type JWTPayload, SignJWT } from 'jose';
import { PrivyTokens } from '../../../../gateway/account/privyTokens.ts';
import { ProviderCalls } from '../../../../gateway/http/providerCalls.ts';
import type { Optional } from '../../../../shared/api/schema.ts';
import {
  jwksAnswer,
  makePrivySigner,
  PRIVY_APP,
  type ProviderServer,
  startProvider,
} from '../../../support/providerServer.ts';

const NOW_MS = 1_790_000_000_000;
const NOW_SEC = NOW_MS / 1000;
const signer = await makePrivySigner('first');
const pinned = new PrivyTokens({
  appId: PRIVY_APP,
  keys: createPublicKey(await exportSPKI(signer.publicKey)),
  onDown: assert.fail,
});
const sign = (claims: Optional<JWTPayload> = {}, header = {}): Promise<string> => signer.sign(claims, NOW_MS, header);

async function refusalOf(tokens: PrivyTokens, access: string, identity?: string): Promise<string> {
  const result = await tokens.check(access, identity, NOW_MS);
  assert.ok('row' in result, 'refused');
  const text = JSON.stringify(result);
  const given = [access, identity ?? ''].filter((token) => token.length > 9);
  for (const token of given) assert.ok(!text.includes(token), 'no token is repeated');
  return `${result.row.status} ${result.row.message} ${result.details?.['step'] ?? ''}`.trim();
}

function fetched(
  provider: ProviderServer,
  down: string[],
  calls: Pick<ProviderCalls, 'send'> = new ProviderCalls(),
): PrivyTokens {
  const onDown = ({ message }: Error): number => down.push(message);
  return new PrivyTokens({ appId: PRIVY_APP, keys: new URL(provider.url), onDown, calls });
}

test('15.31: a token of our app names its person', async () => {
  const proof = await pinned.check(await sign(), undefined, NOW_MS);
  const identity = { issuer: 'privy.io', subject: 'did:privy:ann' };
  assert.deepEqual(proof, { method: 'privy', wallet: null, identity, email: null, displayName: null });
});

test('15.31: one that is not right in every part is refused', async () => {
  const expired = '401 access token has expired access_token';
  assert.equal(await refusalOf(pinned, await sign({ exp: NOW_SEC - 31 })), expired);
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const right = await sign();
  const [head, claims, signature] = right.split('.');
  const spki = new TextEncoder().encode(await exportSPKI(signer.publicKey));
  const hmac = await new SignJWT({
    iss: 'privy.io',
    aud: PRIVY_APP,
    sub: 'did:privy:eve',
    iat: NOW_SEC,
    exp: NOW_SEC + 9,
  })
    .setProtectedHeader({ alg: 'HS256', kid: 'first' })
    .sign(spki);
  const stranger = await (await makePrivySigner('first')).sign({}, NOW_MS);
  const other = (await sign({ sub: 'did:privy:eve' })).split('.')[1];
  for (const token of [
    await sign({ iat: NOW_SEC + 31 }),
    await sign({ nbf: NOW_SEC + 31 }),
    await sign({ aud: 'another-app' }),
    await sign({ aud: [PRIVY_APP, 'another-app'] }),
    await sign({ iss: 'https://privy.io' }),
    await sign({ sub: '' }),
    await sign({ sub: 'x'.repeat(256) }),
    await sign({ exp: undefined }),
    await sign({ iat: undefined }),
    `${none}.${claims}.`,
    `${none}.${claims}.${signature}`,
    hmac,
    stranger,
    `${head}.${other}.${signature}`,
    `${head}.${claims}.`,
    'x',
    'a.b.c',
    '',
  ]) {
    assert.equal(await refusalOf(pinned, token), '401 invalid access token access_token', token);
  }
});

test('15.31: an e-mail address counts from an identity token of the same person, once it is verified', async () => {
  const email = { type: 'email', address: 'Ann@Example.org', lv: 1_700_000_000 };
  const emailFor = async (linked: unknown): Promise<string | null> => {
    const proof = await pinned.check(await sign(), await sign({ linked_accounts: linked }), NOW_MS);
    assert.ok('method' in proof);
    return proof.email;
  };
  assert.equal(await emailFor(JSON.stringify([{ type: 'wallet', address: '0x12' }, email])), 'ann@example.org');
  assert.equal(await emailFor([email]), 'ann@example.org');
  for (const linked of [
    '[',
    '{}',
    7,
    [null, 3],
    [{ ...email, lv: undefined }],
    [{ ...email, address: 7 }],
    undefined,
  ]) {
    assert.equal(await emailFor(linked), null, JSON.stringify(linked));
  }
  const invalid = '401 invalid access token identity_token';
  assert.equal(await refusalOf(pinned, await sign(), await sign({ sub: 'did:privy:eve' })), invalid);
  assert.equal(await refusalOf(pinned, await sign(), 'x'), invalid);
});

test('15.32: tokens that name unknown keys, however many, have the keys fetched once', async (t) => {
  const provider = await startProvider({ after }, jwksAnswer(signer));
  const down: string[] = [];
  const tokens = fetched(provider, down);
  const flood = await Promise.all(Array.from({ length: 50 }, (_, index) => sign({}, { kid: `unknown-${index}` })));
  for (const token of flood) assert.match(await refusalOf(tokens, token), /^401 /);
  await Promise.all(flood.map((token) => refusalOf(tokens, token)));
  assert.ok('method' in (await tokens.check(await sign(), undefined, NOW_MS)));
  assert.equal(provider.requests, 1);
  // A token that says itself that it is not for us has none fetched.
  const idle = fetched(provider, down);
  await refusalOf(idle, await sign({ aud: 'another-app' }));
  await refusalOf(idle, await sign({ exp: NOW_SEC - 60 }));
  assert.equal(provider.requests, 1);

  const second = await makePrivySigner('second');
  provider.answer = jwksAnswer(second);
  const next = await second.sign({}, NOW_MS);
  assert.match(await refusalOf(tokens, next), /^401 /, 'the set was fetched just now');
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 61_000 });
  assert.ok('method' in (await tokens.check(next, undefined, NOW_MS)), 'a new key counts after a minute at most');
  assert.match(await refusalOf(tokens, await sign()), /^401 /, 'the one that was withdrawn counts no more');
  assert.equal(provider.requests, 2);
  assert.deepEqual(down, []);
});

test('15.32: a provider that hangs, is down or lies is 503, and is asked again after a while', async (t) => {
  const provider = await startProvider({ after }, () => {});
  const down: string[] = [];
  let calls = new ProviderCalls({ timeoutMs: 50 });
  let sends = 0;
  const send: ProviderCalls['send'] = (url, sent) => {
    sends++;
    return calls.send(url, sent);
  };
  const tokens = fetched(provider, down, { send });
  const token = await sign();
  const answers: ProviderServer['answer'][] = [
    () => {},
    (_request, response) => void response.writeHead(200).write('{"keys":['),
    (_request, response) => response.writeHead(500).end(),
    (_request, response) => response.writeHead(302, { location: provider.url }).end(),
    (_request, response) => response.end('no JSON'),
    (_request, response) => response.end('{"keys":7}'),
    (_request, response) => response.end(' '.repeat(300_000)),
    (request) => request.socket.destroy(),
  ];
  let nowMs = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now: nowMs });
  for (const [index, answer] of answers.entries()) {
    provider.answer = answer;
    if (index === 2) calls = new ProviderCalls();
    const refused = await Promise.all([token, token, token].map((each) => refusalOf(tokens, each)));
    refused.push(await refusalOf(tokens, token));
    assert.deepEqual(new Set(refused), new Set(['503 the sign-in provider does not answer']));
    assert.equal(sends, index + 1, 'all wait for one request, and the next is not made at once');
    nowMs += 5000;
    t.mock.timers.setTime(nowMs);
  }
  provider.answer = jwksAnswer(signer);
  assert.ok('method' in (await tokens.check(token, undefined, NOW_MS)));
  for (const reason of down) assert.ok(!reason.includes(token) && !reason.includes(provider.url), reason);
});

test('15.32: while a provider hangs, one more than it may be asked at a time is refused at once', async () => {
  const provider = await startProvider({ after }, () => {});
  const calls = new ProviderCalls({ timeoutMs: 60_000, maxCalls: 2 });
  const waiting = [1, 2].map(() => calls.send(provider.url, {}).catch(() => 'down'));
  await assert.rejects(calls.send(provider.url, {}), {
    name: 'ProviderDown',
    message: 'too many requests are under way',
  });
  provider.answer = (_request, response) => response.end('late');
  provider.close();
  assert.deepEqual(await Promise.all(waiting), ['down', 'down']);
  await assert.rejects(calls.send(provider.url, {}), { name: 'ProviderDown' }, 'there is room again');
});
