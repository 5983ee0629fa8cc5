/**
 * The field of the curve: integers modulo p = 2^256 - 2^32 - 977, as nine signed limbs of 29 bits.
 *
 * An element is a pointer to a slot of 48 bytes: x = x0 + x1 2^29 + … + x8 2^232, each limb an i32; the last three
 * words of a slot are never read as limbs. The magnitude M of an element is the least number with |xi| <= M 2^29 (1 +
 * 2^-15) for i < 8 and |x8| <= M 2^24 (1 + 2^-15).
 *
 * Invariants:
 *   FIELD-1  A product's result has magnitude 1: limbs from 0 to 2^29, except that limbs 2 and 5 may exceed that range
 *            by 2^14 at either end. So the difference of two results has magnitude 1 as well, their sum 2.
 *   FIELD-2  The products of magnitudes that one product adds up sum to less than 4. Column 7, the largest, is then
 *            below 8 4 2^58 = 2^63; what folding adds is below 2^50, and every use stays at 3 or less.
 *   FIELD-3  An element in memory has a magnitude below 4, for its limbs are below 2^31.
 */
import { reduce, reduceLess } from './reduce';

export const SLOT: usize = 48;
export const LIMBS: usize = 9;
export const LIMB_BITS: i64 = 29;
export const LIMB_MASK: i64 = (1 << 29) - 1;
/** Of the ninth limb. */
export const TOP_BITS: i64 = 24;
export const TOP_MASK: i64 = (1 << 24) - 1;

@inline
export function limb(a: usize, index: usize): i64 {
  return load<i32>(a + 4 * index);
}

/** out = a b. */
export function multiply(out: usize, a: usize, b: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const b0 = limb(b, 0), b1 = limb(b, 1), b2 = limb(b, 2), b3 = limb(b, 3), b4 = limb(b, 4);
  const b5 = limb(b, 5), b6 = limb(b, 6), b7 = limb(b, 7), b8 = limb(b, 8);
  const c0 = a0 * b0;
  const c1 = a0 * b1 + a1 * b0;
  const c2 = a0 * b2 + a1 * b1 + a2 * b0;
  const c3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
  const c4 = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0;
  const c5 = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0;
  const c6 = a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0;
  const c7 = a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0;
  const c8 = a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0;
  const c9 = a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1;
  const c10 = a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2;
  const c11 = a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3;
  const c12 = a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4;
  const c13 = a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5;
  const c14 = a6 * b8 + a7 * b7 + a8 * b6;
  const c15 = a7 * b8 + a8 * b7;
  const c16 = a8 * b8;
  reduce(out, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16);
}

/** out = a². */
export function square(out: usize, a: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const c0 = a0 * a0;
  const c1 = 2 * a0 * a1;
  const c2 = 2 * a0 * a2 + a1 * a1;
  const c3 = 2 * (a0 * a3 + a1 * a2);
  const c4 = 2 * (a0 * a4 + a1 * a3) + a2 * a2;
  const c5 = 2 * (a0 * a5 + a1 * a4 + a2 * a3);
  const c6 = 2 * (a0 * a6 + a1 * a5 + a2 * a4) + a3 * a3;
  const c7 = 2 * (a0 * a7 + a1 * a6 + a2 * a5 + a3 * a4);
  const c8 = 2 * (a0 * a8 + a1 * a7 + a2 * a6 + a3 * a5) + a4 * a4;
  const c9 = 2 * (a1 * a8 + a2 * a7 + a3 * a6 + a4 * a5);
  const c10 = 2 * (a2 * a8 + a3 * a7 + a4 * a6) + a5 * a5;
  const c11 = 2 * (a3 * a8 + a4 * a7 + a5 * a6);
  const c12 = 2 * (a4 * a8 + a5 * a7) + a6 * a6;
  const c13 = 2 * (a5 * a8 + a6 * a7);
  const c14 = 2 * a6 * a8 + a7 * a7;
  const c15 = 2 * a7 * a8;
  const c16 = a8 * a8;
  reduce(out, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16);
}

/**
 * out = a^(2^times), where times is not 0. A square root is 253 squares one after the other: here the limbs of those
 * between stay out of memory, which saves a sixth. The columns are those of square(), and what follows is reduce(), for
 * the comments and bounds of which see there.
 */
export function squareTimes(out: usize, a: usize, times: i32): void {
  let a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  let a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  do {
    const c9 = 2 * (a1 * a8 + a2 * a7 + a3 * a6 + a4 * a5);
    const c10 = 2 * (a2 * a8 + a3 * a7 + a4 * a6) + a5 * a5;
    const c11 = 2 * (a3 * a8 + a4 * a7 + a5 * a6);
    const c12 = 2 * (a4 * a8 + a5 * a7) + a6 * a6;
    const c13 = 2 * (a5 * a8 + a6 * a7);
    const c14 = 2 * a6 * a8 + a7 * a7;
    const c15 = 2 * a7 * a8;
    const c16 = a8 * a8;
    const d17 = c16 >> LIMB_BITS;
    const d9 = (c9 & LIMB_MASK) + 256 * d17;
    const d10 = (c10 & LIMB_MASK) + (c9 >> LIMB_BITS);
    const d11 = (c11 & LIMB_MASK) + (c10 >> LIMB_BITS);
    const d12 = (c12 & LIMB_MASK) + (c11 >> LIMB_BITS);
    const d13 = (c13 & LIMB_MASK) + (c12 >> LIMB_BITS);
    const d14 = (c14 & LIMB_MASK) + (c13 >> LIMB_BITS);
    const d15 = (c15 & LIMB_MASK) + (c14 >> LIMB_BITS);
    const d16 = (c16 & LIMB_MASK) + (c15 >> LIMB_BITS);
    let t0 = a0 * a0 + 31264 * d9;
    let t1 = 2 * a0 * a1 + 31264 * d10 + 256 * d9;
    let t2 = 2 * a0 * a2 + a1 * a1 + 31264 * d11 + 256 * d10;
    let t3 = 2 * (a0 * a3 + a1 * a2) + 31264 * d12 + 256 * d11;
    let t4 = 2 * (a0 * a4 + a1 * a3) + a2 * a2 + 31264 * d13 + 256 * d12;
    let t5 = 2 * (a0 * a5 + a1 * a4 + a2 * a3) + 31264 * d14 + 256 * d13;
    let t6 = 2 * (a0 * a6 + a1 * a5 + a2 * a4) + a3 * a3 + 31264 * d15 + 256 * d14;
    let t7 = 2 * (a0 * a7 + a1 * a6 + a2 * a5 + a3 * a4) + 31264 * d16 + 256 * d15;
    let t8 = 2 * (a0 * a8 + a1 * a7 + a2 * a6 + a3 * a5) + a4 * a4 + 31264 * d17 + 256 * d16;
    t1 += t0 >> LIMB_BITS;
    t5 += t4 >> LIMB_BITS;
    t2 += t1 >> LIMB_BITS;
    t6 += t5 >> LIMB_BITS;
    t3 += t2 >> LIMB_BITS;
    t7 += t6 >> LIMB_BITS;
    t4 = (t4 & LIMB_MASK) + (t3 >> LIMB_BITS);
    t8 += t7 >> LIMB_BITS;
    const top = t8 >> TOP_BITS;
    t0 = (t0 & LIMB_MASK) + 977 * top;
    t1 = (t1 & LIMB_MASK) + 8 * top + (t0 >> LIMB_BITS);
    a0 = t0 & LIMB_MASK;
    a1 = t1 & LIMB_MASK;
    a2 = (t2 & LIMB_MASK) + (t1 >> LIMB_BITS);
    a3 = t3 & LIMB_MASK;
    a4 = t4 & LIMB_MASK;
    a5 = (t5 & LIMB_MASK) + (t4 >> LIMB_BITS);
    a6 = t6 & LIMB_MASK;
    a7 = t7 & LIMB_MASK;
    a8 = t8 & TOP_MASK;
  } while (--times > 0);
  storeLimbs(out, a0, a1, a2, a3, a4, a5, a6, a7, a8);
}

@inline
function storeLimbs(
  out: usize, a0: i64, a1: i64, a2: i64, a3: i64, a4: i64, a5: i64, a6: i64, a7: i64, a8: i64,
): void {
  store<i32>(out, <i32>a0, 0);
  store<i32>(out, <i32>a1, 4);
  store<i32>(out, <i32>a2, 8);
  store<i32>(out, <i32>a3, 12);
  store<i32>(out, <i32>a4, 16);
  store<i32>(out, <i32>a5, 20);
  store<i32>(out, <i32>a6, 24);
  store<i32>(out, <i32>a7, 28);
  store<i32>(out, <i32>a8, 32);
}

/** out = a b - c d with one reduction. */
export function multiplyLess(out: usize, a: usize, b: usize, c: usize, d: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const b0 = limb(b, 0), b1 = limb(b, 1), b2 = limb(b, 2), b3 = limb(b, 3), b4 = limb(b, 4);
  const b5 = limb(b, 5), b6 = limb(b, 6), b7 = limb(b, 7), b8 = limb(b, 8);
  const c0 = limb(c, 0), c1 = limb(c, 1), c2 = limb(c, 2), c3 = limb(c, 3), c4 = limb(c, 4);
  const c5 = limb(c, 5), c6 = limb(c, 6), c7 = limb(c, 7), c8 = limb(c, 8);
  const d0 = limb(d, 0), d1 = limb(d, 1), d2 = limb(d, 2), d3 = limb(d, 3), d4 = limb(d, 4);
  const d5 = limb(d, 5), d6 = limb(d, 6), d7 = limb(d, 7), d8 = limb(d, 8);
  const e0 = a0 * b0 - c0 * d0;
  const e1 = a0 * b1 + a1 * b0 - (c0 * d1 + c1 * d0);
  const e2 = a0 * b2 + a1 * b1 + a2 * b0 - (c0 * d2 + c1 * d1 + c2 * d0);
  const e3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 - (c0 * d3 + c1 * d2 + c2 * d1 + c3 * d0);
  const e4 = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0 - (c0 * d4 + c1 * d3 + c2 * d2 + c3 * d1 + c4 * d0);
  const e5 =
    a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0 -
    (c0 * d5 + c1 * d4 + c2 * d3 + c3 * d2 + c4 * d1 + c5 * d0);
  const e6 =
    a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0 -
    (c0 * d6 + c1 * d5 + c2 * d4 + c3 * d3 + c4 * d2 + c5 * d1 + c6 * d0);
  const e7 =
    a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0 -
    (c0 * d7 + c1 * d6 + c2 * d5 + c3 * d4 + c4 * d3 + c5 * d2 + c6 * d1 + c7 * d0);
  const e8 =
    a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0 -
    (c0 * d8 + c1 * d7 + c2 * d6 + c3 * d5 + c4 * d4 + c5 * d3 + c6 * d2 + c7 * d1 + c8 * d0);
  const e9 =
    a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1 -
    (c1 * d8 + c2 * d7 + c3 * d6 + c4 * d5 + c5 * d4 + c6 * d3 + c7 * d2 + c8 * d1);
  const e10 =
    a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2 -
    (c2 * d8 + c3 * d7 + c4 * d6 + c5 * d5 + c6 * d4 + c7 * d3 + c8 * d2);
  const e11 =
    a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3 -
    (c3 * d8 + c4 * d7 + c5 * d6 + c6 * d5 + c7 * d4 + c8 * d3);
  const e12 = a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4 - (c4 * d8 + c5 * d7 + c6 * d6 + c7 * d5 + c8 * d4);
  const e13 = a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 - (c5 * d8 + c6 * d7 + c7 * d6 + c8 * d5);
  const e14 = a6 * b8 + a7 * b7 + a8 * b6 - (c6 * d8 + c7 * d7 + c8 * d6);
  const e15 = a7 * b8 + a8 * b7 - (c7 * d8 + c8 * d7);
  const e16 = a8 * b8 - c8 * d8;
  reduce(out, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16);
}

/** out = a b - n y, for a small n. */
export function multiplyLessTimes(out: usize, a: usize, b: usize, n: i64, y: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const b0 = limb(b, 0), b1 = limb(b, 1), b2 = limb(b, 2), b3 = limb(b, 3), b4 = limb(b, 4);
  const b5 = limb(b, 5), b6 = limb(b, 6), b7 = limb(b, 7), b8 = limb(b, 8);
  const c0 = a0 * b0;
  const c1 = a0 * b1 + a1 * b0;
  const c2 = a0 * b2 + a1 * b1 + a2 * b0;
  const c3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
  const c4 = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0;
  const c5 = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0;
  const c6 = a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0;
  const c7 = a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0;
  const c8 = a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0;
  const c9 = a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1;
  const c10 = a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2;
  const c11 = a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3;
  const c12 = a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4;
  const c13 = a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5;
  const c14 = a6 * b8 + a7 * b7 + a8 * b6;
  const c15 = a7 * b8 + a8 * b7;
  const c16 = a8 * b8;
  reduceLess(out, n, y, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16);
}

/** out = a² - n y, for a small n. */
export function squareLessTimes(out: usize, a: usize, n: i64, y: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const c0 = a0 * a0;
  const c1 = 2 * a0 * a1;
  const c2 = 2 * a0 * a2 + a1 * a1;
  const c3 = 2 * (a0 * a3 + a1 * a2);
  const c4 = 2 * (a0 * a4 + a1 * a3) + a2 * a2;
  const c5 = 2 * (a0 * a5 + a1 * a4 + a2 * a3);
  const c6 = 2 * (a0 * a6 + a1 * a5 + a2 * a4) + a3 * a3;
  const c7 = 2 * (a0 * a7 + a1 * a6 + a2 * a5 + a3 * a4);
  const c8 = 2 * (a0 * a8 + a1 * a7 + a2 * a6 + a3 * a5) + a4 * a4;
  const c9 = 2 * (a1 * a8 + a2 * a7 + a3 * a6 + a4 * a5);
  const c10 = 2 * (a2 * a8 + a3 * a7 + a4 * a6) + a5 * a5;
  const c11 = 2 * (a3 * a8 + a4 * a7 + a5 * a6);
  const c12 = 2 * (a4 * a8 + a5 * a7) + a6 * a6;
  const c13 = 2 * (a5 * a8 + a6 * a7);
  const c14 = 2 * a6 * a8 + a7 * a7;
  const c15 = 2 * a7 * a8;
  const c16 = a8 * a8;
  reduceLess(out, n, y, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16);
}

/** out = 3 a². */
export function squareTriple(out: usize, a: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const c0 = a0 * a0;
  const c1 = 2 * a0 * a1;
  const c2 = 2 * a0 * a2 + a1 * a1;
  const c3 = 2 * (a0 * a3 + a1 * a2);
  const c4 = 2 * (a0 * a4 + a1 * a3) + a2 * a2;
  const c5 = 2 * (a0 * a5 + a1 * a4 + a2 * a3);
  const c6 = 2 * (a0 * a6 + a1 * a5 + a2 * a4) + a3 * a3;
  const c7 = 2 * (a0 * a7 + a1 * a6 + a2 * a5 + a3 * a4);
  const c8 = 2 * (a0 * a8 + a1 * a7 + a2 * a6 + a3 * a5) + a4 * a4;
  const c9 = 2 * (a1 * a8 + a2 * a7 + a3 * a6 + a4 * a5);
  const c10 = 2 * (a2 * a8 + a3 * a7 + a4 * a6) + a5 * a5;
  const c11 = 2 * (a3 * a8 + a4 * a7 + a5 * a6);
  const c12 = 2 * (a4 * a8 + a5 * a7) + a6 * a6;
  const c13 = 2 * (a5 * a8 + a6 * a7);
  const c14 = 2 * a6 * a8 + a7 * a7;
  const c15 = 2 * a7 * a8;
  const c16 = a8 * a8;
  reduce(
    out, 3 * c0, 3 * c1, 3 * c2, 3 * c3, 3 * c4, 3 * c5, 3 * c6, 3 * c7, 3 * c8,
    3 * c9, 3 * c10, 3 * c11, 3 * c12, 3 * c13, 3 * c14, 3 * c15, 3 * c16,
  );
}
