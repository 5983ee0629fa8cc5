/**
 * The kernel's arithmetic is that of BigInt, also with every limb at an end of its bound: there an integer of 64 bits
 * that is one bit too short would overflow, silently (engine/verify/kernel/wasm/field.as).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invert, mod } from '@noble/curves/abstract/modular.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { instantiate, OWN_PAGES, PAGE_BYTES } from '../../../../../engine/verify/kernel/instance.ts';
import { testedVariant } from '../../../../support/kernelVariant.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr, timesOf } from '../../../../support/seeds.ts';

type Arithmetic = {
  multiply(out: number, a: number, b: number): void;
  multiplyLess(out: number, a: number, b: number, c: number, d: number): void;
  multiplyLessTimes(out: number, a: number, b: number, n: bigint, y: number): void;
  square(out: number, a: number): void;
  squareTimes(out: number, a: number, times: number): void;
  squareLessTimes(out: number, a: number, n: bigint, y: number): void;
  squareTriple(out: number, a: number): void;
  halve(out: number, a: number): void;
  normalise(a: number): void;
  isZero(a: number): number;
  squareRoot(out: number, a: number): void;
  invertElement(out: number, a: number): void;
  addScalars(out: number, a: number, b: number): void;
  multiplyScalars(out: number, a: number, b: number): void;
  negateScalar(out: number, a: number): void;
  invertScalar(out: number, a: number): void;
};

const P = secp256k1.Point.Fp.ORDER;
const N = secp256k1.Point.Fn.ORDER;
const LIMBS = 9;
const LIMB_BITS = 29;
const TIMES = timesOf({ suite: 1500, soak: 100_000 });
const SEED = seedOr(5);

const PAGES = OWN_PAGES + 1;
const { buffer, exports } = instantiate(PAGES, testedVariant());
const kernel = exports as unknown as Arithmetic;
const limbs = new Int32Array(buffer);
const random = new Random(SEED);
/** Slots on the last page, where the kernel has nothing. */
const [A, B, C, D, OUT] = [0, 1, 2, 3, 4].map((slot) => (PAGES - 1) * PAGE_BYTES + slot * 64);

function topOf(limb: number): number {
  return limb === LIMBS - 1 ? 2 ** 24 : 2 ** LIMB_BITS;
}

/** Writes an element: random limbs, or all at an end of the magnitude, of one sign or of random signs. */
function put(at: number, magnitude: number): bigint {
  const form = random.below(4);
  for (let i = 0; i < LIMBS; i++) {
    const most = Math.min(Math.floor(magnitude * topOf(i) * (1 + 2 ** -15)), 2 ** 31 - 1);
    const isNegative = form === 1 || (form > 1 && random.below(2) === 1);
    const size = form === 3 ? random.below(most) : most;
    limbs[at / 4 + i] = isNegative ? -size : size;
  }
  return valueAt(at);
}

function putCanonical(at: number, value: bigint): bigint {
  for (let i = 0; i < LIMBS; i++) limbs[at / 4 + i] = Number((value >> BigInt(LIMB_BITS * i)) & 0x1fff_ffffn);
  return value;
}

function valueAt(at: number): bigint {
  let value = 0n;
  for (let i = LIMBS - 1; i >= 0; i--) value = value * 2n ** BigInt(LIMB_BITS) + BigInt(limbs[at / 4 + i]);
  return value;
}

/** The result is right, and within FIELD-1. */
function assertResult(expected: bigint): void {
  assert.equal(mod(valueAt(OUT), P), mod(expected, P));
  for (let i = 0; i < LIMBS; i++) {
    const slack = i === 2 || i === 5 ? 2 ** 14 : 0;
    const limb = limbs[OUT / 4 + i];
    assert.ok(limb >= -slack && limb < topOf(i) + slack, `limb ${i} is ${limb}`);
  }
}

/** A number below the modulus, often near 0, near the modulus, or with long runs of equal bits. */
function below(modulus: bigint): bigint {
  let value = 0n;
  for (let i = 0; i < 8; i++) value = (value << 32n) | BigInt(random.below(2 ** 32));
  const shift = BigInt(random.below(256));
  const forms = [value, value >> shift, modulus - 1n - (value >> shift), (1n << 256n) - 1n - (value >> shift)];
  return mod(forms[random.below(forms.length)], modulus);
}

test(`products are right at every magnitude that is allowed, seed ${SEED}`, () => {
  for (let i = 0; i < TIMES; i++) {
    let [a, b] = [put(A, 3), put(B, 1)];
    kernel.multiply(OUT, A, B);
    assertResult(a * b);
    b = put(B, 1.5);
    a = put(A, 2);
    kernel.multiply(OUT, B, A);
    assertResult(a * b);
    kernel.squareLessTimes(OUT, B, 2n, A);
    assertResult(b * b - 2n * a);
    kernel.square(OUT, B);
    assertResult(b * b);
    const times = 1 + (i % 4);
    kernel.squareTimes(OUT, B, times);
    assertResult(mod(b, P) ** BigInt(2 ** times));
    a = put(A, 1);
    kernel.squareTriple(OUT, A);
    assertResult(3n * a * a);
    const [c, d] = [put(C, 1), put(D, 1)];
    kernel.multiplyLess(OUT, A, B, C, D);
    assertResult(a * b - c * d);
    kernel.multiplyLessTimes(OUT, A, B, i % 2 === 0 ? 1n : -1n, C);
    assertResult(i % 2 === 0 ? a * b - c : a * b + c);
  }
});

test(`halves, canonical forms and zeros are right, seed ${SEED}`, () => {
  for (let i = 0; i < TIMES; i++) {
    const half = put(A, 1);
    kernel.halve(OUT, A);
    assert.equal(mod(2n * valueAt(OUT), P), mod(half, P));
    const value = put(A, 3.99);
    assert.equal(kernel.isZero(A), value % P === 0n ? 1 : 0);
    kernel.normalise(A);
    assert.equal(valueAt(A), mod(value, P));
    const multiple = BigInt(random.below(255) - 127) * P;
    for (const [offset, isZero] of [
      [0n, 1],
      [1n, 0],
      [-977n, 0],
    ] as const) {
      putCanonical(A, multiple + offset);
      limbs[A / 4 + LIMBS - 1] = Number((multiple + offset) >> BigInt(LIMB_BITS * (LIMBS - 1)));
      assert.equal(kernel.isZero(A), isZero);
      kernel.normalise(A);
      assert.equal(valueAt(A), mod(offset, P));
    }
  }
});

test(`inverses and square roots are right, seed ${SEED}`, () => {
  const { Fp } = secp256k1.Point;
  for (const value of [0n, 1n, P - 1n, 2n, P - 2n, ...Array.from({ length: TIMES / 10 }, () => below(P))]) {
    putCanonical(A, value);
    kernel.invertElement(OUT, A);
    assert.equal(valueAt(OUT), value === 0n ? 0n : invert(value, P));
    kernel.squareRoot(OUT, A);
    assertResult(Fp.pow(value, (P + 1n) / 4n));
  }
});

test(`scalars are right modulo the order, seed ${SEED}`, () => {
  const ends = [0n, 1n, N - 1n, N - 2n, (N - 1n) / 2n, 2n ** 255n];
  for (let i = 0; i < TIMES; i++) {
    const [a, b] = [ends[i] ?? below(N), ends[random.below(40)] ?? below(N)];
    putCanonical(A, a);
    putCanonical(B, b);
    kernel.multiplyScalars(OUT, A, B);
    assert.equal(valueAt(OUT), (a * b) % N);
    kernel.addScalars(OUT, A, B);
    assert.equal(valueAt(OUT), (a + b) % N);
    kernel.negateScalar(OUT, A);
    assert.equal(valueAt(OUT), mod(-a, N));
    if (i >= TIMES / 10) continue;
    kernel.invertScalar(OUT, A);
    assert.equal(valueAt(OUT), a === 0n ? 0n : invert(a, N));
  }
});
