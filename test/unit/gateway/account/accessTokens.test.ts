/** Access tokens (RULES.md 15.2): refusals of foreign tokens, and how much is remembered. */
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { type JWTPayload, SignJWT } from 'jose';
import { ERRORS, type ErrorRow } from '../../../../shared/base/errors.ts';
import { makeSessionKey } from '../../../../shared/crypto/sessionKeys.ts';
import { ISSUER, SESSION_MASTER_KEY, SESSION_START_MS, SessionRig } from '../../../support/sessionRig.ts';

const NOW_SEC = SESSION_START_MS / 1000;
const AUDIENCE = 'open-prediction-exchange';

/** 'good', or the refusal, as the identity stage gets to it. */
async function verdict(
  { accessTokens, nowMs }: SessionRig,
  token: string,
): Promise<'good' | 'bad signature' | ErrorRow> {
  const admitted = accessTokens.admit(token, nowMs);
  if (!('principal' in admitted)) return admitted;
  if (admitted.isVerified) return 'good';
  return (await accessTokens.verify(token, admitted, nowMs)) ? 'good' : 'bad signature';
}

type Forgery = { claims?: JWTPayload; alg?: string; kid?: string; key?: KeyObject | Uint8Array };

function forge(rig: SessionRig, sid: string, { claims, alg, kid, key }: Forgery): Promise<string> {
  const usual = { iss: ISSUER, aud: AUDIENCE, sub: rig.users[0].id, sid, iat: NOW_SEC, exp: NOW_SEC + 900 };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: alg ?? 'ES256', kid: kid ?? rig.keys.kid })
    .sign(key ?? rig.keys.privateKey);
}

test('15.2: claims that are not those of this exchange and this moment are refused', async () => {
  const rig = new SessionRig();
  const { session } = rig.open();
  const { sessionId } = session.principal;
  const other = rig.open(rig.users[1]).session.principal.sessionId;
  const invalid = ERRORS.INVALID_ACCESS_TOKEN;
  const cases: [string, Forgery, Awaited<ReturnType<typeof verdict>>][] = [
    ['as it should be', {}, 'good'],
    ['another issuer', { claims: { iss: 'https://exchange.example' } }, invalid],
    ['another audience', { claims: { aud: 'another' } }, invalid],
    ['several audiences', { claims: { aud: [AUDIENCE, 'another'] } }, invalid],
    ['issued in the future', { claims: { iat: NOW_SEC + 6 } }, invalid],
    ['expired in this second', { claims: { exp: NOW_SEC } }, ERRORS.ACCESS_TOKEN_EXPIRED],
    ['an expiration that is text', { claims: { exp: '9999999999' as unknown as number } }, invalid],
    ['no expiration', { claims: { exp: undefined as unknown as number } }, invalid],
    ['no session', { claims: { sid: undefined } }, invalid],
    ['no such session', { claims: { sid: '5f0c8e86-2d07-4d0c-9d6a-0a86e6f7d7e1' } }, ERRORS.SESSION_ENDED],
    ['the session of another', { claims: { sid: other } }, 'bad signature'],
    ['another subject', { claims: { sub: rig.users[1].id } }, 'bad signature'],
    ['an unknown key', { kid: 'unknown' }, invalid],
    [
      'another key under the name of ours',
      { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey },
      'bad signature',
    ],
  ];
  for (const [title, forgery, expected] of cases) {
    assert.equal(await verdict(rig, await forge(rig, sessionId, forgery)), expected, title);
  }
});

test('15.2: no other algorithm is accepted, least of all the public key as a shared secret', async () => {
  const rig = new SessionRig();
  const { sessionId } = rig.open().session.principal;
  const genuine = await forge(rig, sessionId, {});
  const payload = genuine.split('.')[1]!;
  const publicKey = rig.keys.verifier(rig.keys.kid, rig.nowMs)!.export({ format: 'pem', type: 'spki' });
  for (const alg of ['none', 'None', 'HS256', 'ES384', 'EdDSA', '']) {
    const head = Buffer.from(JSON.stringify({ alg, kid: rig.keys.kid })).toString('base64url');
    const mac = createHmac('sha256', publicKey).update(`${head}.${payload}`).digest('base64url');
    for (const signature of ['', mac, genuine.split('.')[2]!]) {
      const token = `${head}.${payload}.${signature}`;
      assert.equal(await verdict(rig, token), ERRORS.INVALID_ACCESS_TOKEN, `${alg} ${signature}`);
    }
  }
  const text = await rig.accessTokens.sign(rig.open().session.principal, rig.nowMs);
  for (let at = 0; at < text.length; at++) {
    const changed = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
    if (Buffer.from(changed.split('.').at(-1)!, 'base64url').equals(Buffer.from(text.split('.')[2]!, 'base64url')))
      continue;
    assert.notEqual(await verdict(rig, changed), 'good', `character ${at}`);
  }
});

test('15.2: a token seen once is known again until its session ends; nothing else is remembered', async () => {
  const rig = new SessionRig();
  const { session } = rig.open();
  const token = await rig.accessTokens.sign(session.principal, rig.nowMs);
  const first = rig.accessTokens.admit(token, rig.nowMs);
  assert.ok('principal' in first && !first.isVerified);
  assert.equal(await verdict(rig, token), 'good');
  const again = rig.accessTokens.admit(token, rig.nowMs);
  assert.ok('principal' in again && again.isVerified);
  assert.equal(
    await verdict(rig, await forge(rig, session.principal.sessionId, { claims: { sub: 'x' } })),
    'bad signature',
  );
  assert.equal(rig.accessTokens.known, 1);
  for (let i = 0; i < 10; i++) {
    rig.clock.advance(1000);
    assert.equal(await verdict(rig, await rig.accessTokens.sign(session.principal, rig.nowMs)), 'good');
  }
  assert.equal(rig.accessTokens.known, 4, 'the newest of a session are enough');
  const last = await rig.accessTokens.sign(session.principal, rig.nowMs);
  const [admitted, pending] = [rig.accessTokens.admit(last, rig.nowMs), rig.nowMs];
  assert.ok('principal' in admitted);
  const verifying = rig.accessTokens.verify(last, admitted, pending);
  rig.sessions.end(session.principal.sessionId);
  await verifying;
  assert.equal(rig.accessTokens.known, 0, 'an ended session leaves nothing, also while a signature is verified');
  assert.equal(await verdict(rig, last), ERRORS.SESSION_ENDED);
});

test('15.2: another signing key ends no session: the former one verifies for one lifetime of a token', async () => {
  const rig = new SessionRig();
  const { session } = rig.open();
  const token = await rig.accessTokens.sign(session.principal, rig.nowMs);
  const former = rig.keys.kid;
  rig.database.prepare('UPDATE session_keys SET sealed_private = NULL').run();
  rig.database
    .prepare('INSERT INTO session_keys VALUES ($kid, $public_jwk, $sealed_private, $created_ms)')
    .run(makeSessionKey(Buffer.alloc(32, 3), rig.nowMs + 1));
  rig.clock.advance(2);
  rig.restart();
  assert.notEqual(rig.keys.kid, former);
  assert.equal(await verdict(rig, token), 'good');
  const names = (): string[] => (rig.keys.jwks(rig.nowMs) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  assert.deepEqual(names(), [rig.keys.kid, former]);
  rig.clock.advance(961_000);
  assert.deepEqual(names(), [rig.keys.kid]);
  assert.equal(rig.keys.verifier(former, rig.nowMs), null);
  rig.restart();
  assert.equal(rig.database.prepare('SELECT count(*) FROM session_keys').pluck().get(), 1);
  assert.equal(await verdict(rig, await rig.accessTokens.sign(session.principal, rig.nowMs)), 'good');
  assert.match(rig.keys.kid, /^[\w-]{43}$/);
});

test('15.2: after 20 wrong signatures in 10 seconds no new token of that session is verified', async () => {
  const rig = new SessionRig();
  const [own, other] = [rig.open().session.principal, rig.open(rig.users[1]).session.principal];
  const seen = await rig.accessTokens.sign(own, rig.nowMs);
  assert.equal(await verdict(rig, seen), 'good');
  const wrong = (n: number): Promise<string> => forge(rig, own.sessionId, { claims: { sub: `x${n}` } });
  for (let n = 0; n < 20; n++) assert.equal(await verdict(rig, await wrong(n)), 'bad signature');
  assert.equal(await verdict(rig, await wrong(20)), ERRORS.INVALID_ACCESS_TOKEN);
  const fresh = await rig.accessTokens.sign(own, rig.nowMs);
  assert.equal(await verdict(rig, fresh), ERRORS.INVALID_ACCESS_TOKEN, 'it is not known which of them is right');
  assert.equal(await verdict(rig, seen), 'good', 'what was seen before is');
  assert.equal(await verdict(rig, await rig.accessTokens.sign(other, rig.nowMs)), 'good');
  rig.clock.advance(10_000);
  assert.equal(await verdict(rig, fresh), 'good');
});

test('15.2: a clock that was set back ends the refusal of new tokens', async () => {
  const rig = new SessionRig();
  const own = rig.open().session.principal;
  for (let n = 0; n < 20; n++) await verdict(rig, await forge(rig, own.sessionId, { claims: { sub: `x${n}` } }));
  rig.clock.advance(-3_600_000);
  assert.equal(await verdict(rig, await rig.accessTokens.sign(own, rig.nowMs)), 'good');
});

test('15.2: a token that comes many times at once is verified once', async () => {
  const rig = new SessionRig();
  const token = await rig.accessTokens.sign(rig.open().session.principal, rig.nowMs);
  const admitted = rig.accessTokens.admit(token, rig.nowMs);
  assert.ok('principal' in admitted);
  const [one, two] = [1, 2].map(() => rig.accessTokens.verify(token, admitted, rig.nowMs));
  assert.equal(one, two);
  assert.equal(await one, true);
});

test('15.2: the key with a private part signs, also when the clock was set back before the last rotation', () => {
  const rig = new SessionRig();
  const before = rig.keys.kid;
  const next = makeSessionKey(SESSION_MASTER_KEY, rig.nowMs - 86_400_000);
  rig.database.prepare('UPDATE session_keys SET sealed_private = NULL').run();
  const insert = 'INSERT INTO session_keys VALUES ($kid, $public_jwk, $sealed_private, $created_ms)';
  rig.database.prepare(insert).run(next);
  rig.restart();
  assert.deepEqual([rig.keys.kid, rig.keys.kid === before], [next.kid, false]);
});
