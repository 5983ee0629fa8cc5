import assert from 'node:assert/strict';
import { it } from 'node:test';
import { KeyedHash } from '../../../../shared/base/keyedHash.ts';
import { Random } from '../../../support/random.ts';

const MASK = 0xffff_ffffn;

/** HalfSipHash-1-3 without the block of the length, word by word as its authors draw it. */
function slowly(key: Int32Array, words: Uint32Array): number {
  const turn = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (32n - by))) & MASK;
  const [k0, k1] = [...key].map((word) => BigInt(word >>> 0)) as [bigint, bigint];
  let [v0, v1, v2, v3] = [k0, k1, 0x6c796765n ^ k0, 0x74656462n ^ k1];
  const round = (): void => {
    v0 = (v0 + v1) & MASK;
    v1 = turn(v1, 5n) ^ v0;
    v0 = turn(v0, 16n);
    v2 = (v2 + v3) & MASK;
    v3 = turn(v3, 8n) ^ v2;
    v0 = (v0 + v3) & MASK;
    v3 = turn(v3, 7n) ^ v0;
    v2 = (v2 + v1) & MASK;
    v1 = turn(v1, 13n) ^ v2;
    v2 = turn(v2, 16n);
  };
  for (const word of words.subarray(0, 4)) {
    v3 ^= BigInt(word);
    round();
    v0 ^= BigInt(word);
  }
  v2 ^= 0xffn;
  for (let i = 0; i < 3; i++) round();
  return Number(BigInt.asIntN(32, v1 ^ v3));
}

it('is HalfSipHash-1-3 of the four words at its offset', () => {
  const random = new Random(1);
  for (let i = 0; i < 200; i++) {
    const key = Int32Array.from([random.next(), random.next()]);
    const words = Uint32Array.from({ length: 8 }, () => random.next());
    assert.equal(new KeyedHash(key).of(words, 3), slowly(key, words.slice(3, 7)));
  }
});

it('depends on every bit of the words and of the key: each turns about half of the result', () => {
  const random = new Random(2);
  const input = new Uint32Array(6);
  const result = (): number => new KeyedHash(Int32Array.from(input.subarray(4))).of(input, 0);
  for (let bit = 0; bit < 192; bit++) {
    let turned = 0;
    for (let i = 0; i < 64; i++) {
      for (let word = 0; word < 6; word++) input[word] = random.next();
      const before = result();
      input[bit >>> 5] ^= 1 << (bit & 31);
      for (let changed = before ^ result(); changed !== 0; changed &= changed - 1) turned++;
    }
    assert.ok(turned > 64 * 12 && turned < 64 * 20, `bit ${bit} turns ${turned} of 2048`);
  }
});

it('has another key each time', () => {
  const words = Uint32Array.of(1, 2, 3, 4);
  const results = new Set(Array.from({ length: 50 }, () => new KeyedHash().of(words, 0)));
  assert.ok(results.size > 45);
});
