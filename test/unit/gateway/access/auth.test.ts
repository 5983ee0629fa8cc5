import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeEach, describe, it } from 'node:test';
import { Administrators } from '../../../../gateway/access/administrators.ts';
import { AdminToken } from '../../../../gateway/access/adminToken.ts';
import { Authenticator, type Credentials } from '../../../../gateway/access/authenticator.ts';
import { NonceMemory } from '../../../../gateway/access/nonces.ts';
import { HmacKey } from '../../../../gateway/base/hmacKey.ts';
import { Passphrase, sealPassphrase } from '../../../../gateway/base/passphrase.ts';
import { type ApiKey, BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import { SCOPE, toScopeMask, toScopeNames } from '../../../../gateway/base/scopes.ts';
import { SCOPE_NAMES } from '../../../../shared/api/accounts.ts';
import { ERRORS, type ErrorRow } from '../../../../shared/base/errors.ts';
import { openSecret, sealSecret } from '../../../../shared/crypto/secretBox.ts';
import { apiKey, PASSPHRASE } from '../../../support/apiKeys.ts';

type Vector = {
  secret: string;
  timestamp: string;
  nonce: string;
  method: string;
  path: string;
  body: string;
  v1: { signature: string };
  v2: { signature: string };
};
const { vectors } = JSON.parse(readFileSync(new URL('../../../vectors/hmac.json', import.meta.url), 'utf8')) as {
  vectors: Vector[];
};

const NOW_SEC = 1_790_000_000;
const NOW_MS = NOW_SEC * 1000;
const SECRET = Buffer.from(vectors[0].secret, 'base64url');

const KEY = apiKey(1, { secret: new HmacKey(SECRET), scopes: SCOPE['read:account'] });

function credentialsOf(vector: Vector, version: 1 | 2, changes: Partial<Credentials> = {}): Credentials {
  return {
    keyId: KEY.keyId,
    passphrase: PASSPHRASE,
    timestamp: vector.timestamp,
    signature: version === 2 ? vector.v2.signature : vector.v1.signature,
    version: version === 2 ? '2' : '',
    nonce: version === 2 ? vector.nonce : '',
    ...changes,
  };
}

/** Keys whose clocks were never ahead. */
const NEVER_AHEAD = { aheadBeforeStart: () => 0, acceptedAhead: () => {} };

describe('Authenticator', () => {
  const vector = vectors[1];
  let keys: Map<string, ApiKey>;
  let authenticator: Authenticator;

  beforeEach(() => {
    keys = new Map([[KEY.keyId, KEY]]);
    authenticator = makeAuthenticator();
  });

  function makeAuthenticator(floorSec = NOW_SEC - 3600): Authenticator {
    return new Authenticator({ find: (keyId) => keys.get(keyId) }, new NonceMemory(floorSec, NEVER_AHEAD));
  }

  function verdict(credentials: Credentials, nowMs = NOW_MS, of = vector): ErrorRow | 'ok' {
    const result = authenticator.check(credentials, of.method, of.path, Buffer.from(of.body), nowMs);
    return result.ok ? 'ok' : result.row;
  }

  /** A good signature of version 2 over other header values. */
  function signed(timestamp: string, nonce: string): Credentials {
    const bodyHash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862';
    const text = `v2\n${timestamp}\n${nonce}\n${vector.method}\n${vector.path}\n${bodyHash}`;
    const signature = createHmac('sha256', SECRET).update(text).digest('base64url');
    return credentialsOf(vector, 2, { timestamp, nonce, signature });
  }

  it('accepts every vector in both versions', () => {
    for (const [index, of] of vectors.entries()) {
      assert.equal(verdict(credentialsOf(of, 1), NOW_MS, of), 'ok', `v1 of ${index}`);
      // The vectors share their nonce.
      authenticator = makeAuthenticator();
      assert.equal(verdict(credentialsOf(of, 2), NOW_MS, of), 'ok', `v2 of ${index}`);
    }
  });

  it('takes a signature in base64url or base64, padded or not', () => {
    const base64 = vector.v1.signature.replaceAll('-', '+').replaceAll('_', '/');
    for (const signature of [vector.v1.signature, `${vector.v1.signature}=`, base64, `${base64}=`]) {
      authenticator = makeAuthenticator();
      assert.equal(verdict(credentialsOf(vector, 1, { signature })), 'ok');
    }
  });

  it('names version 1 with a header or with none', () => {
    assert.equal(verdict(credentialsOf(vector, 1, { version: '1' })), 'ok');
  });

  it('refuses when one signed byte differs', () => {
    const good = credentialsOf(vector, 2);
    const check = (method: string, target: string, body: string) =>
      authenticator.check(good, method, target, Buffer.from(body), NOW_MS).ok;
    assert.equal(check('PUT', vector.path, vector.body), false);
    assert.equal(check(vector.method, `${vector.path}?`, vector.body), false);
    assert.equal(check(vector.method, vector.path, `${vector.body} `), false);
    assert.equal(verdict({ ...good, timestamp: String(NOW_SEC + 1) }), ERRORS.INVALID_HMAC_SIGNATURE);
    assert.equal(verdict({ ...good, nonce: `${vector.nonce}0` }), ERRORS.INVALID_HMAC_SIGNATURE);
    assert.equal(verdict(good), 'ok');
  });

  it('does not take a signature of one version for the other', () => {
    assert.equal(verdict(credentialsOf(vector, 2, { signature: vector.v1.signature })), ERRORS.INVALID_HMAC_SIGNATURE);
    assert.equal(verdict(credentialsOf(vector, 1, { signature: vector.v2.signature })), ERRORS.INVALID_HMAC_SIGNATURE);
  });

  it('refuses a signature that is not 32 bytes of base64', () => {
    for (const signature of ['x', 'A'.repeat(43), `${vector.v1.signature}A`, '*'.repeat(43), 'é'.repeat(43)]) {
      assert.equal(verdict(credentialsOf(vector, 1, { signature })), ERRORS.INVALID_HMAC_SIGNATURE, signature);
    }
  });

  it('answers the first failing check of a request that is wrong in every way', () => {
    keys.set(KEY.keyId, { ...KEY, requireSigningVersion: 2, revoked: true });
    const wrong = {
      keyId: '',
      passphrase: 'wrong',
      timestamp: 'noon',
      signature: 'wrong',
      version: '3',
      nonce: 'short',
    };
    assert.equal(verdict(wrong), ERRORS.MISSING_API_KEY_HEADERS);
    wrong.keyId = 'nobody';
    assert.equal(verdict(wrong), ERRORS.UNSUPPORTED_SIGNING_VERSION);
    wrong.version = '1';
    assert.equal(verdict(wrong), ERRORS.INVALID_API_KEY);
    wrong.keyId = KEY.keyId;
    assert.equal(verdict(wrong), ERRORS.UNSUPPORTED_SIGNING_VERSION);
    wrong.version = '2';
    assert.equal(verdict(wrong), ERRORS.API_KEY_REVOKED);
    keys.set(KEY.keyId, KEY);
    assert.equal(verdict(wrong), ERRORS.INVALID_TIMESTAMP);
    wrong.timestamp = String(NOW_SEC - 31);
    assert.equal(verdict(wrong), ERRORS.TIMESTAMP_OUTSIDE_WINDOW);
    wrong.timestamp = String(NOW_SEC);
    assert.equal(verdict(wrong), ERRORS.INVALID_PASSPHRASE);
    wrong.passphrase = PASSPHRASE;
    assert.equal(verdict(wrong), ERRORS.INVALID_HMAC_SIGNATURE);
    wrong.signature = signed(wrong.timestamp, wrong.nonce).signature;
    assert.equal(verdict(wrong), ERRORS.INVALID_NONCE);
    const healed = signed(wrong.timestamp, vector.nonce);
    assert.equal(verdict(healed), 'ok');
    assert.equal(verdict(healed), ERRORS.NONCE_USED);
  });

  it('misses each header that is absent, and the nonce only in version 2', () => {
    for (const name of ['keyId', 'passphrase', 'timestamp', 'signature', 'nonce'] as const) {
      assert.equal(verdict(credentialsOf(vector, 2, { [name]: '' })), ERRORS.MISSING_API_KEY_HEADERS, name);
    }
    assert.equal(verdict(credentialsOf(vector, 1, { nonce: '' })), 'ok');
  });

  it('refuses a key that is for the other version, and shows fronts no secret of a revoked one (4.2)', () => {
    for (const version of [1, 2] as const) {
      for (const required of [1, 2] as const) {
        keys.set(KEY.keyId, { ...KEY, requireSigningVersion: required });
        const expected = version === required ? 'ok' : ERRORS.UNSUPPORTED_SIGNING_VERSION;
        assert.equal(verdict(credentialsOf(vector, version)), expected, `${version} of ${required}`);
      }
    }
    assert.equal(authenticator.secretOf(KEY.keyId), KEY.secret);
    keys.set(KEY.keyId, { ...KEY, revoked: true });
    assert.deepEqual([authenticator.secretOf(KEY.keyId), authenticator.secretOf('unknown')], [null, null]);
  });

  it('refuses an expired key from its last millisecond on', () => {
    keys.set(KEY.keyId, { ...KEY, expiresAtMs: NOW_MS });
    assert.equal(verdict(credentialsOf(vector, 1), NOW_MS), ERRORS.API_KEY_REVOKED);
    assert.equal(verdict(credentialsOf(vector, 1), NOW_MS - 1), 'ok');
  });

  it('takes timestamps up to 30 seconds off and tells its own time otherwise', () => {
    for (const skewSec of [-30, 30]) {
      authenticator = makeAuthenticator();
      assert.equal(verdict(credentialsOf(vector, 1), NOW_MS + skewSec * 1000), 'ok');
    }
    for (const skewSec of [-31, 31]) {
      const nowMs = NOW_MS + skewSec * 1000;
      const result = authenticator.check(credentialsOf(vector, 1), vector.method, vector.path, Buffer.from(''), nowMs);
      assert.deepEqual(result, {
        ok: false,
        row: ERRORS.TIMESTAMP_OUTSIDE_WINDOW,
        details: { step: 'timestamp', server_time: NOW_SEC + skewSec },
      });
    }
  });

  it('takes nothing but digits for a timestamp', () => {
    for (const timestamp of ['-1', '1.5', '1e9', '0x10', ' 1790000000', '9'.repeat(40)]) {
      assert.equal(verdict(credentialsOf(vector, 1, { timestamp })), ERRORS.INVALID_TIMESTAMP, timestamp);
    }
  });

  it('does not spend a nonce on a request whose signature fails', () => {
    const good = credentialsOf(vector, 2);
    assert.equal(verdict({ ...good, signature: 'A'.repeat(43) }), ERRORS.INVALID_HMAC_SIGNATURE);
    assert.equal(verdict(good), 'ok');
  });

  it('refuses a used nonce also under a new timestamp', () => {
    assert.equal(verdict(signed(String(NOW_SEC), vector.nonce)), 'ok');
    assert.equal(verdict(signed(String(NOW_SEC + 5), vector.nonce), NOW_MS + 5000), ERRORS.NONCE_USED);
  });

  it('accepts nonces of 16 to 64 characters and no other form', () => {
    const timestamp = String(NOW_SEC);
    for (const nonce of ['a'.repeat(16), 'Z_-9'.repeat(16)]) assert.equal(verdict(signed(timestamp, nonce)), 'ok');
    for (const nonce of ['a'.repeat(15), 'a'.repeat(65), 'a'.repeat(15).concat('!')]) {
      assert.equal(verdict(signed(timestamp, nonce)), ERRORS.INVALID_NONCE, nonce);
    }
  });

  it('refuses what was signed up to the second of the start, and says why and what to do', () => {
    authenticator = makeAuthenticator(NOW_SEC);
    for (const version of [1, 2] as const) {
      const result = authenticator.admit(credentialsOf(vector, version), NOW_MS);
      assert.ok(!result.ok);
      const { action, ...details } = result.details;
      assert.equal(result.row, ERRORS.TIMESTAMP_OUTSIDE_WINDOW);
      const expected = { step: 'timestamp', server_time: NOW_SEC, reason: 'signed_before_start', sign_after: NOW_SEC };
      assert.deepEqual(details, expected);
      assert.match(action!, /sign the request again/);
    }
    assert.equal(verdict(signed(String(NOW_SEC + 1), vector.nonce)), 'ok');
  });

  it('does not ask for another signature while its clock, set back, would refuse each', () => {
    authenticator = makeAuthenticator(NOW_SEC);
    const actionAt = (nowSec: number): string => {
      const result = authenticator.admit(signed(String(nowSec), vector.nonce), nowSec * 1000);
      assert.ok(!result.ok);
      return result.details.action!;
    };
    assert.match(actionAt(NOW_SEC - 29), /sign the request again/);
    for (const backSec of [30, 3600]) assert.match(actionAt(NOW_SEC - backSec), /clock of the exchange was set back/);
  });

  it('looks at the key again when it was changed while the body was on its way (4.1)', () => {
    const credentials = credentialsOf(vector, 2);
    const changes: [string, ApiKey | null, ErrorRow][] = [
      ['revoked', { ...KEY, revoked: true }, ERRORS.API_KEY_REVOKED],
      ['given another secret', { ...KEY, secret: new HmacKey(Buffer.alloc(32)) }, ERRORS.INVALID_HMAC_SIGNATURE],
      ['expired', { ...KEY, expiresAtMs: NOW_MS }, ERRORS.API_KEY_REVOKED],
      ['gone', null, ERRORS.INVALID_API_KEY],
    ];
    for (const [what, changed, row] of changes) {
      keys.set(KEY.keyId, KEY);
      const admitted = authenticator.admit(credentials, NOW_MS);
      assert.ok(admitted.ok);
      if (changed === null) keys.delete(KEY.keyId);
      else keys.set(KEY.keyId, changed);
      const body = Buffer.from(vector.body);
      const result = authenticator.verify(admitted.key, credentials, vector.method, vector.path, body, NOW_MS);
      assert.equal(result.ok ? 'ok' : result.row, row, what);
    }
  });

  it('keeps the timestamp of a request that is ahead of its clock (NONCES-4)', () => {
    const accepted: number[] = [];
    const ahead = { aheadBeforeStart: () => 0, acceptedAhead: (_: string, sec: number) => void accepted.push(sec) };
    authenticator = new Authenticator({ find: (keyId) => keys.get(keyId) }, new NonceMemory(NOW_SEC - 60, ahead));
    for (const [index, timestampSec] of [NOW_SEC - 30, NOW_SEC, NOW_SEC + 1, NOW_SEC + 30].entries()) {
      assert.equal(verdict(signed(String(timestampSec), `${vector.nonce}-${index}`)), 'ok');
    }
    assert.deepEqual(accepted, [NOW_SEC + 1, NOW_SEC + 30]);
  });

  it('accepts a signature of version 1 once, however it is spelled', () => {
    const [first, last] = [vector.v1.signature.slice(0, -1), vector.v1.signature.slice(-1)];
    // The last character of 32 bytes in base64 has two bits that mean nothing.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const other = first + alphabet[alphabet.indexOf(last) ^ 1];
    const base64 = vector.v1.signature.replaceAll('-', '+').replaceAll('_', '/');
    assert.equal(verdict(credentialsOf(vector, 1)), 'ok');
    for (const signature of [vector.v1.signature, `${vector.v1.signature}=`, base64, `${base64}=`, other]) {
      assert.equal(verdict(credentialsOf(vector, 1, { signature })), ERRORS.SIGNATURE_USED, signature);
    }
    assert.equal(verdict(credentialsOf(vector, 2)), 'ok', 'version 2 of the same request is another');
    const [later, alike] = [String(NOW_SEC), vector.v1.signature];
    assert.equal(verdict(signed(later, alike)), 'ok', 'a nonce that looks like the signature is none');
  });

  it('accepts one border between target and body in version 1', () => {
    const sent = '{"a":1}';
    const timestamp = String(NOW_SEC);
    const sign = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64url');
    const signature = sign(`${timestamp}POST/v1/orders?a=1${sent}`);
    const check = (target: string, body: string, of = signature) =>
      authenticator.check(
        credentialsOf(vector, 1, { timestamp, signature: of }),
        'POST',
        target,
        Buffer.from(body),
        NOW_MS,
      ).ok;
    for (let border = 1; border <= `/v1/orders?a=1${sent}`.length; border++) {
      const whole = `/v1/orders?a=1${sent}`;
      if (border !== whole.indexOf('{')) assert.ok(!check(whole.slice(0, border), whole.slice(border)), String(border));
    }
    const bare = sign(`${timestamp}POST/v1/orders?a=1`);
    assert.ok(!check('/v1/orders?a=', '1', bare), 'a body of one byte begins as JSON does, too');
    assert.ok(check('/v1/orders?a=1', '', bare));
    assert.ok(check('/v1/orders?a=1', sent));
    assert.ok(check('/v1/orders', ` ${sent}`, sign(`${timestamp}POST/v1/orders ${sent}`)), 'white space before it');
  });
});

describe('NonceMemory', () => {
  const nonce = 'n'.repeat(16);

  it('refuses a nonce for at least 90 seconds and keeps keys apart', () => {
    const nonces = new NonceMemory(NOW_SEC, NEVER_AHEAD);
    assert.ok(nonces.tryUse('a', nonce, NOW_SEC, NOW_MS + 89_999));
    assert.ok(nonces.tryUse('b', nonce, NOW_SEC, NOW_MS + 89_999));
    for (const laterMs of [0, 1, 60_000, 89_999, 90_000]) {
      assert.ok(!nonces.tryUse('a', nonce, NOW_SEC, NOW_MS + 89_999 + laterMs), String(laterMs));
    }
  });

  it('forgets a nonce only when no timestamp that could carry it is covered any more', () => {
    const nonces = new NonceMemory(NOW_SEC, NEVER_AHEAD);
    const usedMs = NOW_MS + 100_000;
    assert.ok(nonces.tryUse('a', nonce, NOW_SEC, usedMs));
    assert.ok(nonces.tryUse('a', 'other', NOW_SEC, usedMs + 100_000));
    assert.ok(nonces.tryUse('a', 'another', NOW_SEC, usedMs + 200_000));
    // The clock is set back: the nonce is forgotten, so its time is not covered either.
    assert.equal(nonces.unknownUntilSec('a'), usedMs / 1000 + 130);
  });

  it('remembers a timestamp ahead of the clock before it accepts it, and refuses it after a restart', () => {
    const accepted: [string, number][] = [];
    const ahead = {
      aheadBeforeStart: (keyId: string) => (keyId === 'a' ? NOW_SEC + 7 : 0),
      acceptedAhead: (keyId: string, timestampSec: number) => accepted.push([keyId, timestampSec]),
    };
    const nonces = new NonceMemory(NOW_SEC, ahead);
    assert.ok(nonces.tryUse('b', nonce, NOW_SEC, NOW_MS));
    assert.ok(nonces.tryUse('b', `${nonce}-2`, NOW_SEC + 5, NOW_MS));
    assert.ok(nonces.tryUse('b', `${nonce}-3`, NOW_SEC + 1, NOW_MS + 999), 'one second ahead is ahead');
    const both = [NOW_SEC + 5, NOW_SEC + 1].map((timestampSec) => ['b', timestampSec]);
    assert.deepEqual(accepted, both);
    assert.deepEqual([nonces.unknownUntilSec('a'), nonces.unknownUntilSec('b')], [NOW_SEC + 7, NOW_SEC]);
  });

  it('forgets no less of another process than before (NONCES-2)', () => {
    const nonces = new NonceMemory(NOW_SEC, NEVER_AHEAD);
    for (const [untilSec, unknownSec] of [
      [NOW_SEC - 10, NOW_SEC],
      [NOW_SEC + 10, NOW_SEC + 10],
      [NOW_SEC + 5, NOW_SEC + 10],
    ] as const) {
      nonces.forgetBefore(untilSec);
      assert.equal(nonces.unknownUntilSec('a'), unknownSec);
    }
  });

  it('gives a nonce back, and counts those of all keys', () => {
    const nonces = new NonceMemory(NOW_SEC, NEVER_AHEAD, 100, 4);
    for (const used of ['n1', 'n2', 'n3']) assert.ok(nonces.tryUse('a', used, NOW_SEC, NOW_MS));
    assert.ok(nonces.tryUse('b', 'n1', NOW_SEC, NOW_MS));
    assert.ok(!nonces.tryUse('a', 'n4', NOW_SEC, NOW_MS), 'full: not for the key that has used most');
    assert.ok(nonces.tryUse('b', 'n2', NOW_SEC, NOW_MS), 'but for one that has used fewer than the average');
    assert.ok(!nonces.tryUse('b', 'n3', NOW_SEC, NOW_MS));
    for (const used of ['n1', 'n2', 'unknown']) nonces.giveBack('a', used);
    assert.equal(nonces.known('a'), 1);
    assert.ok(nonces.tryUse('b', 'n3', NOW_SEC, NOW_MS), 'three are left in all, so any key may add one');
    assert.ok(nonces.tryUse('a', 'n1', NOW_SEC, NOW_MS), 'and there is room again');
    assert.ok(nonces.tryUse('a', 'n5', NOW_SEC, NOW_MS + 90_000));
    nonces.giveBack('a', 'n1');
    assert.ok(nonces.tryUse('a', 'n1', NOW_SEC, NOW_MS + 90_001), 'given back from the period before');
  });

  it('refuses when it is full and takes nonces again after two periods', () => {
    const nonces = new NonceMemory(NOW_SEC, NEVER_AHEAD, 2);
    assert.ok(nonces.tryUse('a', 'n1', NOW_SEC, NOW_MS));
    assert.ok(nonces.tryUse('a', 'n2', NOW_SEC, NOW_MS));
    assert.ok(!nonces.tryUse('a', 'n3', NOW_SEC, NOW_MS));
    assert.ok(nonces.tryUse('b', 'n3', NOW_SEC, NOW_MS));
    assert.ok(nonces.tryUse('a', 'n3', NOW_SEC, NOW_MS + 90_000));
    assert.ok(nonces.tryUse('a', 'n1', NOW_SEC, NOW_MS + 180_000));
  });
});

describe('secrets at rest', () => {
  const masterKey = Buffer.alloc(32, 1);
  const secret = Buffer.from(vectors[0].secret, 'base64url');

  it('opens what it sealed, and seals the same secret differently each time', () => {
    const box = sealSecret(masterKey, 'key-1', secret);
    assert.deepEqual(openSecret(masterKey, 'key-1', box), secret);
    assert.notDeepEqual(sealSecret(masterKey, 'key-1', secret), box);
    assert.ok(!box.includes(secret));
  });

  it('does not open for another owner, another master key, or after any change', () => {
    const box = sealSecret(masterKey, 'key-1', secret);
    assert.throws(() => openSecret(masterKey, 'key-2', box));
    assert.throws(() => openSecret(Buffer.alloc(32, 2), 'key-1', box));
    for (let index = 0; index < box.length; index++) {
      const changed = Buffer.from(box);
      changed[index] ^= 1;
      assert.throws(() => openSecret(masterKey, 'key-1', changed), `byte ${index}`);
      assert.throws(() => openSecret(masterKey, 'key-1', box.subarray(0, index)), `cut at ${index}`);
    }
  });

  it('knows a passphrase by its salted hash, and from then on by itself', () => {
    const sealed = sealPassphrase(PASSPHRASE);
    const passphrase = new Passphrase(sealed);
    const wrong = [`${PASSPHRASE} `, PASSPHRASE.slice(1), PASSPHRASE.replace('p', 'q'), '', '\0'.repeat(48)];
    for (const given of wrong) assert.ok(!passphrase.accepts(given), `at first: ${given}`);
    assert.ok(passphrase.accepts(PASSPHRASE));
    for (const given of wrong) assert.ok(!passphrase.accepts(given), `once it is known: ${given}`);
    assert.ok(passphrase.accepts(PASSPHRASE));
    assert.ok(!sealed.includes(PASSPHRASE), 'what is stored does not tell it');
    assert.notDeepEqual(sealPassphrase(PASSPHRASE), sealed, 'nor whether two are the same');
    sealed[0] ^= 1;
    assert.ok(!new Passphrase(sealed).accepts(PASSPHRASE), 'another salt');
  });
});

describe('admin token', () => {
  it('is replaced by another one alone, and says so: what was opened with the one before is closed then (9.50)', () => {
    const token = new AdminToken('first');
    assert.deepEqual([token.replace('first'), token.accepts('first')], [false, true]);
    assert.deepEqual([token.replace('second'), token.accepts('first'), token.accepts('second')], [true, false, true]);
  });

  it('takes the token after the bearer scheme and nothing else', () => {
    const administrators = new Administrators(new AdminToken('the-token'));
    assert.equal(administrators.identify('Bearer the-token'), BOOTSTRAP);
    assert.equal(administrators.identify('bearer the-token'), BOOTSTRAP);
    for (const header of ['', 'the-token', 'Bearer', 'Bearer ', 'Bearer the-token ', 'Basic the-token', 'Bearer the']) {
      assert.equal(administrators.identify(header), null, header);
    }
  });
});

describe('scopes', () => {
  it('are one bit each and come back as names', () => {
    assert.equal(toScopeMask(SCOPE_NAMES), 2 ** SCOPE_NAMES.length - 1);
    assert.deepEqual(toScopeNames(toScopeMask(['trade:orders', 'read:account'])), ['read:account', 'trade:orders']);
  });

  it('are none at all when a name is unknown', () => {
    assert.equal(toScopeMask(['read:account', 'toString']), 0);
    assert.equal(toScopeMask([]), 0);
  });
});
