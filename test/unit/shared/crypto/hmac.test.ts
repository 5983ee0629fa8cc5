import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import {
  AUTH_HEADER,
  EMPTY_BODY_SHA256,
  NONCE_FORM,
  stringToSignV1,
  stringToSignV2,
} from '../../../../shared/crypto/hmac.ts';
import { ManualClock } from '../../../support/manualClock.ts';

type Signed = { stringToSign: string; signature: string };
type Vector = Record<'secret' | 'timestamp' | 'nonce' | 'method' | 'path' | 'body', string> & {
  v1: Signed;
  v2: Signed;
};
const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../../../vectors/hmac.json', import.meta.url), 'utf8'),
).vectors;

test('every vector gives its version 2 text and signature', () => {
  assert.ok(vectors.length > 0);
  for (const { secret, timestamp, nonce, method, path, body, v2 } of vectors) {
    const text = stringToSignV2(timestamp, nonce, method, path, createHash('sha256').update(body).digest('hex'));
    assert.equal(text, v2.stringToSign);
    assert.equal(hmac(secret, text), v2.signature);
  }
});

test('every vector gives its version 1 text and signature over the raw bytes of the body', () => {
  for (const { secret, timestamp, method, path, body, v1 } of vectors) {
    const head = stringToSignV1(timestamp, method, path);
    assert.equal(head + body, v1.stringToSign);
    assert.equal(hmac(secret, head, Buffer.from(body)), v1.signature);
  }
});

test('the hash of an empty body is the constant', () => {
  assert.equal(createHash('sha256').digest('hex'), EMPTY_BODY_SHA256);
});

test('the client signs every vector as the vector says, in both versions', () => {
  for (const { secret, timestamp, nonce, method, path, body, v1, v2 } of vectors) {
    const clock = new ManualClock(Number(timestamp) * 1000 + 999);
    const signer = new RequestSigner({ keyId: 'key', secret, passphrase: 'open sesame' }, clock);
    const identity = {
      [AUTH_HEADER.API_KEY]: 'key',
      [AUTH_HEADER.PASSPHRASE]: 'open sesame',
      [AUTH_HEADER.TIMESTAMP]: timestamp,
    };
    assert.deepEqual(signer.headersV1(method, path, body), { ...identity, [AUTH_HEADER.SIGNATURE]: v1.signature });
    assert.deepEqual(signer.headers(method, path, body, nonce), {
      ...identity,
      [AUTH_HEADER.SIGNATURE]: v2.signature,
      [AUTH_HEADER.VERSION]: '2',
      [AUTH_HEADER.NONCE]: nonce,
    });
  }
});

test('the client makes a well-formed nonce and never the same one twice', () => {
  const signer = new RequestSigner({ keyId: 'key', secret: 'c2VjcmV0', passphrase: 'p' }, new ManualClock(0));
  const nonces = Array.from({ length: 1000 }, () => signer.headers('GET', '/v1/time', '')[AUTH_HEADER.NONCE]);
  assert.equal(new Set(nonces).size, nonces.length);
  for (const nonce of nonces) assert.match(nonce, NONCE_FORM);
});

test('a nonce has 16 to 64 characters of A-Z a-z 0-9 _ -', () => {
  for (const good of ['a'.repeat(16), 'Z'.repeat(64), '0123456789_-abcd']) assert.match(good, NONCE_FORM);
  for (const bad of ['', 'a'.repeat(15), 'a'.repeat(65), `${'a'.repeat(16)}\n`, 'a.'.repeat(10), 'é'.repeat(16)]) {
    assert.doesNotMatch(bad, NONCE_FORM);
  }
});

function hmac(secret: string, ...parts: (string | Buffer)[]): string {
  const mac = createHmac('sha256', Buffer.from(secret, 'base64url'));
  for (const part of parts) mac.update(part);
  return mac.digest('base64url');
}
