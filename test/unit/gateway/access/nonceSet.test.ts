import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NonceSet } from '../../../../gateway/access/nonceSet.ts';
import { TextHash } from '../../../../shared/base/textHash.ts';
import { seededRandom } from '../../../support/random.ts';

const SEED = 20_261_122;

test(`adding, finding and removing are those of a set of texts, seed ${SEED}`, () => {
  const random = seededRandom(SEED);
  const hash = new TextHash(Int32Array.of(SEED, -SEED));
  const nonces = new NonceSet();
  const texts = new Set<string>();
  for (let step = 0; step < 40_000; step++) {
    // Lengths with every remainder of four, and few texts, so that most come again.
    const text = String(Math.floor(random() * 6000)).padStart(16 + Math.floor(random() * 4), '-');
    hash.of(text);
    assert.equal(nonces.has(hash), texts.has(text), text);
    if (random() < 0.4) assert.equal(nonces.tryDelete(hash), texts.delete(text), text);
    else {
      const isNew = !texts.has(text);
      assert.equal(nonces.tryAdd(hash), isNew, text);
      texts.add(text);
    }
    assert.equal(nonces.size, texts.size);
  }
});

test('added nonces are found after any growth of the set, and still after some are removed', () => {
  const hash = new TextHash(Int32Array.of(SEED, SEED));
  const nonces = new NonceSet();
  const count = 60_000;
  const each = (act: (index: number) => void): void => {
    for (let index = 0; index < count; index++) {
      hash.of(`a-nonce-with-number-${index}`);
      act(index);
    }
  };
  each(() => assert.ok(nonces.tryAdd(hash)));
  each(() => assert.ok(nonces.has(hash) && !nonces.tryAdd(hash)));
  each((index) => assert.equal(index % 3 === 0 && nonces.tryDelete(hash), index % 3 === 0));
  each((index) => assert.equal(nonces.has(hash), index % 3 !== 0));
  assert.equal(nonces.size, (count / 3) * 2);
});

test('a hash depends on every character, on the length and on the key', () => {
  const hashes = new Set<string>();
  const add = (hash: TextHash, text: string): void => {
    hash.of(text);
    assert.notEqual(hash.second, 0);
    hashes.add(`${hash.first} ${hash.second}`);
  };
  const text = 'abcdefghijklmnopqrstuvwxyz_-0123456789';
  const hash = new TextHash(Int32Array.of(1, 2));
  for (let index = 0; index < text.length; index++) add(hash, `${text.slice(0, index)}!${text.slice(index + 1)}`);
  for (let length = 0; length <= text.length; length++) add(hash, text.slice(0, length));
  for (const key of [
    [0, 2],
    [1, 3],
  ]) {
    add(new TextHash(Int32Array.from(key)), text);
  }
  assert.equal(hashes.size, text.length + text.length + 1 + 2);
});
