import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { HmacKey, NO_SECRET } from '../../../../gateway/base/hmacKey.ts';
import { Random } from '../../../support/random.ts';

const SEED = 20;
const ROUNDS = 400;
/** One to four bytes each in UTF-8. */
const CHARACTERS = ['a', '/', '\n', '%', 'é', '€', '漢', '😀'];

function sign(secret: Uint8Array, text: string, body: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(text).update(body).digest();
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256));
}

describe('a key that checks signatures', () => {
  it('accepts exactly what HMAC-SHA256 gives, for secrets, texts and bodies of every length', () => {
    const random = new Random(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const secret = randomBytes(random, random.pick([0, 1, 16, 32, 63, 64, 65, 200]));
      const text = Array.from({ length: random.below(200) }, () => random.pick(CHARACTERS)).join('');
      const body = randomBytes(random, random.pick([0, 1, 55, 64, 1000, 5000]));
      const key = new HmacKey(secret);
      const digest = sign(secret, text, body);
      const context = `seed ${SEED}, round ${round}`;
      for (const encoding of ['base64', 'base64url'] as const) {
        assert.ok(key.accepts(digest.toString(encoding), text, body), context);
      }
      digest[random.below(digest.length)] ^= 1 << random.below(8);
      assert.ok(!key.accepts(digest.toString('base64'), text, body), context);
    }
  });

  it('has a number of its own for each secret that is given to it, which its copies share (HMACKEY-1)', () => {
    const secret = Buffer.alloc(32, 1);
    const [first, again] = [new HmacKey(secret), new HmacKey(secret)];
    assert.notEqual(first.number, again.number, 'whoever has checked with one has not checked with the other');
    assert.notEqual(first.number, NO_SECRET);
    const copy = new HmacKey(structuredClone(first.copy));
    assert.equal(copy.number, first.number);
    const body = Buffer.from('body');
    assert.ok(copy.accepts(sign(secret, 'text', body).toString('base64'), 'text', body));
  });

  it('tells keys, texts and bodies apart whose bytes another one left in the buffers', () => {
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const body = Buffer.from('body');
    const signature = sign(one, 'text', body).toString('base64');
    const key = new HmacKey(one);
    assert.ok(key.accepts(signature, 'text', body));
    assert.ok(!new HmacKey(other).accepts(signature, 'text', body));
    assert.ok(!key.accepts(signature, 'tex', body));
    assert.ok(!key.accepts(signature, 'text', body.subarray(0, 3)));
    assert.ok(key.accepts(signature, 'textbo', body.subarray(2)), 'text and body are one message, as signed');
  });

  it('refuses what is not base64 of 32 bytes', () => {
    const body = new Uint8Array(0);
    const key = new HmacKey(Buffer.alloc(32, 1));
    const signature = sign(Buffer.alloc(32, 1), 'text', body).toString('base64');
    assert.ok(key.accepts(signature.slice(0, 43), 'text', body));
    const wrong = ['', '=', signature.slice(0, 42), `${signature}=`, `${signature.slice(0, 43)}A`, '!'.repeat(44)];
    for (const text of wrong) assert.ok(!key.accepts(text, 'text', body), text);
  });
});
