import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addSafe,
  bpsFloor,
  divCeil,
  divFloor,
  MAX_SAFE,
  mulDivCeil,
  mulDivFloor,
  mulSafe,
  productToString,
} from '../../../../shared/base/int.ts';
import { Random } from '../../../support/random.ts';

const BILLION_USDC = 1_000_000_000_000_000;

describe('sums and products', () => {
  it('reach the last safe integer and stop there', () => {
    assert.equal(addSafe(MAX_SAFE - 1, 1), MAX_SAFE);
    assert.equal(addSafe(-MAX_SAFE, 0), -MAX_SAFE);
    assert.throws(() => addSafe(MAX_SAFE, 1), /safe integers/);
    assert.throws(() => addSafe(-MAX_SAFE, -1), /safe integers/);
    assert.equal(mulSafe(2 ** 26, 2 ** 26), 2 ** 52);
    assert.equal(mulSafe(6361 * 69431, 20394401), MAX_SAFE);
    assert.throws(() => mulSafe(2 ** 26, 2 ** 27), /safe integers/);
  });

  it('are shown in full where they are no safe integers', () => {
    assert.equal(productToString(2 ** 26, 2 ** 26), '4503599627370496');
    assert.equal(productToString(MAX_SAFE, 10_000), '90071992547409910000');
  });
});

describe('division', () => {
  it('is exact up to the last safe integer', () => {
    assert.equal(divFloor(MAX_SAFE, 2), 2 ** 52 - 1);
    assert.equal(divCeil(MAX_SAFE, 2), 2 ** 52);
    assert.equal(divCeil(MAX_SAFE - 1, 2), 2 ** 52 - 1);
  });

  it('floors and ceils', () => {
    assert.deepEqual([divFloor(0, 7), divCeil(0, 7)], [0, 0]);
    assert.deepEqual([divFloor(6, 7), divCeil(6, 7)], [0, 1]);
    assert.deepEqual([divFloor(7, 7), divCeil(7, 7)], [1, 1]);
    assert.deepEqual([divFloor(8, 7), divCeil(8, 7)], [1, 2]);
  });

  it('is exact next to every multiple, where a rounded quotient is the wrong side of a whole number', () => {
    const random = new Random(20_260_201);
    for (let i = 0; i < 20_000; i++) {
      const b = 1 + (i % 2 === 0 ? random.below(2 ** 31) : random.below(10_000));
      const multiple = Math.floor(Math.floor(MAX_SAFE / b) / (1 + random.below(1000))) * b;
      for (const a of [multiple - 1, multiple, multiple + 1]) {
        if (a < 0 || a > MAX_SAFE) continue;
        const floor = BigInt(a) / BigInt(b);
        const rest = BigInt(a) % BigInt(b);
        assert.equal(BigInt(divFloor(a, b)), floor, `${a} / ${b}`);
        assert.equal(BigInt(divCeil(a, b)), rest === 0n ? floor : floor + 1n, `${a} / ${b}`);
      }
    }
  });

  it('of a product is exact on either side of 2^53', () => {
    const values = [0, 1, 9, 10_000, 94_906_265, 94_906_266, 2 ** 31, BILLION_USDC - 1, BILLION_USDC];
    for (const a of values) {
      for (const b of values) {
        for (const c of [1, 3, 7, 9_999, BILLION_USDC]) {
          const exact = (BigInt(a) * BigInt(b)) / BigInt(c);
          if (exact > BigInt(MAX_SAFE)) continue;
          assert.equal(BigInt(mulDivFloor(a, b, c)), exact, `${a} x ${b} / ${c}`);
          const isWhole = (BigInt(a) * BigInt(b)) % BigInt(c) === 0n;
          assert.equal(BigInt(mulDivCeil(a, b, c)), isWhole ? exact : exact + 1n, `${a} x ${b} / ${c}`);
        }
      }
    }
  });

  it('whose quotient is no safe integer is a bug of the caller', () => {
    assert.throws(() => mulDivFloor(MAX_SAFE, 3, 2), /quotient/);
    assert.throws(() => mulDivCeil(MAX_SAFE, 3, 2), /quotient/);
  });
});

describe('basis points', () => {
  it('are floored, exactly, for random amounts of every size', () => {
    const random = new Random(20_260_202);
    for (let i = 0; i < 20_000; i++) {
      const amount = random.next() * 2 ** random.below(21) + random.below(2 ** 20);
      const bps = random.below(10_001);
      assert.equal(BigInt(bpsFloor(amount, bps)), (BigInt(amount) * BigInt(bps)) / 10_000n, `${bps} of ${amount}`);
    }
  });

  it('are floored, exactly, for every amount and rate', () => {
    for (const amount of [0, 1, 199, 200, 9_999, 10_000, 10_001, BILLION_USDC - 1, BILLION_USDC, MAX_SAFE]) {
      for (const bps of [0, 1, 49, 50, 51, 9_999, 10_000]) {
        assert.equal(BigInt(bpsFloor(amount, bps)), (BigInt(amount) * BigInt(bps)) / 10_000n, `${bps} of ${amount}`);
      }
    }
  });
});
