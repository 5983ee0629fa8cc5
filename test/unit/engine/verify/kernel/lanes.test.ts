/**
 * The arithmetic in lanes is that of BigInt, also with every limb at an end of its bound: there a double that is one
 * bit too short would round, silently (engine/verify/kernel/wasm/lanes.as).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mod } from '@noble/curves/abstract/modular.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { BEST_VARIANT, instantiate, OWN_PAGES, PAGE_BYTES } from '../../../../../engine/verify/kernel/instance.ts';
import { Random } from '../../../../support/random.ts';
import { seedOr, timesOf } from '../../../../support/seeds.ts';

type Lanes = {
  multiplyLanes(out: number, a: number, b: number): void;
  multiplyLanesLess(out: number, a: number, b: number, y: number): void;
  squareLanes(out: number, a: number): void;
  squareLanesLess(out: number, a: number, y: number, z: number): void;
  toTwin(out: number, a: number, b: number): void;
  toSlot(out: number, lane: number): void;
  haveEqualX(a: number, b: number): number;
};

const P = secp256k1.Point.Fp.ORDER;
const LIMBS = 5;
const LIMB_BITS = 51n;
const TIMES = timesOf({ suite: 3000, soak: 300_000 });
const SEED = seedOr(9);
/** Limbs of a slot (field.as). */
const SLOT_LIMBS = 9;
const SLOT_LIMB_BITS = 29;

const skip = BEST_VARIANT !== 'fused';
const { buffer, exports } = instantiate(OWN_PAGES + 1, BEST_VARIANT);
const kernel = exports as unknown as Lanes;
const doubles = new Float64Array(buffer);
const words = new Int32Array(buffer);
const random = new Random(SEED);
/** Twins on the last page, where the kernel has nothing. */
const [A, B, C, D, OUT] = [0, 1, 2, 3, 4].map((slot) => OWN_PAGES * PAGE_BYTES + slot * 80);
type Values = [bigint, bigint];

function mostOf(limb: number, magnitude: number): number {
  return Math.floor(magnitude * (limb === LIMBS - 1 ? 2 ** 51 : 2 ** 50 + 2 ** 39));
}

/** Writes a twin: limbs at random, at an end of the magnitude, or close to one, of one sign or of random signs. */
function put(at: number, magnitude: number): Values {
  for (const lane of [0, 1]) {
    const form = random.below(6);
    for (let k = 0; k < LIMBS; k++) {
      const most = mostOf(k, magnitude);
      const isNegative = form === 1 || (form > 1 && random.below(2) === 1);
      const size = form === 3 ? Math.floor((random.below(2 ** 32) / 2 ** 32) * most) : most;
      const less = form === 4 ? random.below(2 ** 16) : form === 5 ? 2 ** random.below(50) : 0;
      doubles[at / 8 + 2 * k + lane] = isNegative ? -(size - less) : size - less;
    }
  }
  return valuesAt(at);
}

/** The limbs of a lane stand for twice their value. */
function valueAt(at: number, lane: number): bigint {
  let value = 0n;
  for (let k = LIMBS - 1; k >= 0; k--) value = (value << LIMB_BITS) + BigInt(doubles[at / 8 + 2 * k + lane]);
  return 2n * value;
}

function valuesAt(at: number): Values {
  return [valueAt(at, 0), valueAt(at, 1)];
}

/** Both lanes are right, and within LANES-1. */
function assertResult(expected: readonly bigint[], what: string): void {
  for (const lane of [0, 1]) {
    assert.equal(mod(valueAt(OUT, lane), P), mod(expected[lane], P), `${what}, lane ${lane}`);
    for (let k = 0; k < LIMBS; k++) {
      const limb = doubles[OUT / 8 + 2 * k + lane];
      const isWithin = k < LIMBS - 1 ? Math.abs(limb) <= mostOf(k, 1) : limb >= -(2 ** 51) && limb < 2 ** 51;
      assert.ok(isWithin, `${what}: limb ${k} is ${limb}`);
    }
  }
}

const both = (of: (lane: number) => bigint): readonly bigint[] => [of(0), of(1)];

test(`products in lanes are right at every magnitude that is allowed, seed ${SEED}`, { skip }, () => {
  for (let i = 0; i < TIMES; i++) {
    for (const [magnitudeA, magnitudeB] of [
      [1, 1],
      [3, 1],
      [1, 3],
      [1.5, 2],
    ] as const) {
      const [a, b, y] = [put(A, magnitudeA), put(B, magnitudeB), put(C, 1)];
      kernel.multiplyLanes(OUT, A, B);
      assertResult(
        both((lane) => a[lane] * b[lane]),
        'a b',
      );
      kernel.multiplyLanesLess(OUT, A, B, C);
      assertResult(
        both((lane) => a[lane] * b[lane] - y[lane]),
        'a b - y',
      );
    }
    const [a, y, z] = [put(A, 1), put(C, 1), put(D, 1)];
    kernel.squareLanes(OUT, A);
    assertResult(
      both((lane) => a[lane] ** 2n),
      'a²',
    );
    kernel.squareLanesLess(OUT, A, C, D);
    assertResult(
      both((lane) => a[lane] ** 2n - y[lane] - z[lane]),
      'a² - y - z',
    );
  }
});

test(`results in lanes stay within their bounds when they are used again, seed ${SEED}`, { skip }, () => {
  let [a, b] = [put(A, 1), put(B, 1)];
  for (let i = 0; i < TIMES; i++) {
    const isSquare = random.below(3) === 0;
    if (isSquare) kernel.squareLanes(OUT, A);
    else kernel.multiplyLanes(OUT, A, B);
    const [of, by] = [a, isSquare ? a : b];
    assertResult(
      both((lane) => of[lane] * by[lane]),
      `product ${i}`,
    );
    doubles.copyWithin(B / 8, A / 8, A / 8 + 2 * LIMBS);
    doubles.copyWithin(A / 8, OUT / 8, OUT / 8 + 2 * LIMBS);
    [a, b] = [valuesAt(A), valuesAt(B)];
  }
});

/** Writes a slot as products leave it (FIELD-1), or a number near 0 or p. */
function putSlot(at: number): bigint {
  const form = random.below(4);
  const small = BigInt(random.below(4)) - 1n;
  let value = form === 3 ? mod(small, P) : 0n;
  for (let k = 0; k < SLOT_LIMBS; k++) {
    const most = k === SLOT_LIMBS - 1 ? 2 ** 24 - 1 : 2 ** SLOT_LIMB_BITS - 1;
    const slack = k === 2 || k === 5 ? 2 ** 14 : 0;
    const ends = [-slack, most + slack, random.below(most)];
    const isTop = k === SLOT_LIMBS - 1;
    words[at / 4 + k] =
      form === 3 ? Number(isTop ? value : value & 0x1fff_ffffn) : ends[form === 2 ? 2 : random.below(3)];
    value >>= BigInt(SLOT_LIMB_BITS);
  }
  return slotAt(at);
}

function slotAt(at: number): bigint {
  let value = 0n;
  for (let k = SLOT_LIMBS - 1; k >= 0; k--) value = value * 2n ** BigInt(SLOT_LIMB_BITS) + BigInt(words[at / 4 + k]);
  return value;
}

test(`elements are the same in slots and in lanes, at the ends of both, seed ${SEED}`, { skip }, () => {
  for (let i = 0; i < TIMES; i++) {
    const slots = [putSlot(A), putSlot(B)];
    kernel.toTwin(OUT, A, B);
    assertResult(slots, 'in lanes');
    const values = put(A, 1);
    for (const lane of [0, 1]) {
      kernel.toSlot(OUT, A + 8 * lane);
      assert.equal(mod(slotAt(OUT), P), mod(values[lane], P), `lane ${lane} in a slot`);
      for (let k = 0; k < SLOT_LIMBS; k++) {
        const limb = words[OUT / 4 + k];
        const isWithin = k < SLOT_LIMBS - 1 ? limb >= 0 && limb < 2 ** 29 : Math.abs(limb) <= 2 ** 24 + 1;
        assert.ok(isWithin, `limb ${k} is ${limb}`);
      }
    }
  }
});

/** Writes the limbs of a number within 2^255, each nearest to 0, to the first lane. */
function putNumber(at: number, number: bigint): void {
  let rest = number;
  for (let k = 0; k < LIMBS; k++) {
    const limb = k < LIMBS - 1 ? BigInt.asIntN(Number(LIMB_BITS), rest) : rest;
    doubles[at / 8 + 2 * k] = Number(limb);
    rest = (rest - limb) >> LIMB_BITS;
  }
}

test(`equal x are found in whatever way they are written, and no others, seed ${SEED}`, { skip }, () => {
  const end = 1n << 255n;
  for (let i = 0; i < TIMES; i++) {
    // Both numbers from p - 2^255 to 2^255 have another way: less p.
    const number = end - 1n - (BigInt(random.below(2 ** 32)) >> BigInt(random.below(32)));
    putNumber(A, number);
    for (const [other, isEqual] of [
      [number, 1],
      [number - P, 1],
      [number - 1n, 0],
      [number - P - 1n, 0],
      [number - (1n << LIMB_BITS), 0],
      [number - P + (1n << LIMB_BITS), 0],
      [-number, 0],
    ] as const) {
      putNumber(B, other);
      assert.equal(kernel.haveEqualX(A, B), isEqual, `${number}, ${other}`);
      assert.equal(kernel.haveEqualX(B, A), isEqual, `${other}, ${number}`);
    }
    // The lowest limb may be above half of 2^51, and the next one is less by 1.
    const above = BigInt(random.below(2 ** 32));
    putNumber(A, ((number >> 103n) << 102n) - (1n << 50n) + above);
    doubles.copyWithin(B / 8, A / 8, A / 8 + 2 * LIMBS);
    doubles[B / 8] += 2 ** 51;
    doubles[B / 8 + 2] -= 1;
    assert.equal(kernel.haveEqualX(A, B), 1, 'the same number, carried in another way');
    put(C, 1);
    put(D, 1);
    assert.equal(kernel.haveEqualX(C, D), mod(valueAt(C, 0) - valueAt(D, 0), P) === 0n ? 1 : 0);
  }
});
