/**
 * Scalars: integers modulo the order n of the group, always canonical (0 <= a < n), in nine limbs of 29 bits.
 *
 * n = 2^256 - C, where C has 129 bits, and 2^261 = 32 C modulo n: what passes 261 bits comes back as a multiple of
 * that.
 */
import { limb, LIMB_BITS, LIMB_MASK, LIMBS } from './field';
import { copy, fromBytes } from './element';
import { invert } from './inverse';

const N = memory.data<i32>([
  0x10364141, 0x1e92f466, 0x12280eef, 0x1db9cd5e, 0x1fffebaa, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0xffffff, 0, 0, 0,
]);
/** A cube root of 1: lambda (x, y) = (beta x, y) on the curve (point.as). */
export const LAMBDA = memory.data<i32>([
  0x1b23bd72, 0x1814b3e0, 0x599e37, 0x1c45d441, 0x645a122, 0xe014409, 0x3829498, 0x9980b86, 0x5363ad, 0, 0, 0,
]);
const INVERSE_OF_N: i64 = 0xa774ec1;
/** C and 32 C, five limbs each. */
const C = memory.data<i32>([0xfc9bebf, 0x16d0b99, 0xdd7f110, 0x24632a1, 0x1455, 0, 0, 0, 0]);
const K_0: i64 = 0x1937d7e0;
const K_1: i64 = 0xda1732f;
const K_2: i64 = 0x1afe2201;
const K_3: i64 = 0x8c6542d;
const K_4: i64 = 0x28aa2;
const TOP_BITS: i64 = 24;
const TOP_MASK: i64 = (1 << 24) - 1;
/** Eighteen columns of eight bytes. */
const COLUMNS = memory.data(144, 16);

@inline
export function wideLimb(index: usize): i64 {
  return load<i64>(COLUMNS + 8 * index);
}

/** Carries the columns from `first` to `last`; the last keeps what passes. */
function carryColumns(first: usize, last: usize): void {
  let rest: i64 = 0;
  for (let i: usize = first; i < last; i++) {
    const sum = wideLimb(i) + rest;
    store<i64>(COLUMNS + 8 * i, sum & LIMB_MASK);
    rest = sum >> LIMB_BITS;
  }
  store<i64>(COLUMNS + 8 * last, wideLimb(last) + rest);
}

/** The product of two values below 2^261, as eighteen limbs in COLUMNS. A column is at most 9 2^58. */
export function multiplyWide(a: usize, b: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const a5 = limb(a, 5), a6 = limb(a, 6), a7 = limb(a, 7), a8 = limb(a, 8);
  const b0 = limb(b, 0), b1 = limb(b, 1), b2 = limb(b, 2), b3 = limb(b, 3), b4 = limb(b, 4);
  const b5 = limb(b, 5), b6 = limb(b, 6), b7 = limb(b, 7), b8 = limb(b, 8);
  store<i64>(COLUMNS, a0 * b0, 0);
  store<i64>(COLUMNS, a0 * b1 + a1 * b0, 8);
  store<i64>(COLUMNS, a0 * b2 + a1 * b1 + a2 * b0, 16);
  store<i64>(COLUMNS, a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0, 24);
  store<i64>(COLUMNS, a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0, 32);
  store<i64>(COLUMNS, a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0, 40);
  store<i64>(COLUMNS, a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0, 48);
  store<i64>(COLUMNS, a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0, 56);
  store<i64>(COLUMNS, a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0, 64);
  store<i64>(COLUMNS, a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1, 72);
  store<i64>(COLUMNS, a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2, 80);
  store<i64>(COLUMNS, a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3, 88);
  store<i64>(COLUMNS, a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4, 96);
  store<i64>(COLUMNS, a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5, 104);
  store<i64>(COLUMNS, a6 * b8 + a7 * b7 + a8 * b6, 112);
  store<i64>(COLUMNS, a7 * b8 + a8 * b7, 120);
  store<i64>(COLUMNS, a8 * b8, 128);
  store<i64>(COLUMNS, 0, 136);
  carryColumns(0, 17);
}

/** Adds 32 C times each column from `first` to `last` to those nine below it, and clears it. */
function foldColumns(first: usize, last: usize): void {
  for (let i: usize = first; i <= last; i++) {
    const times = wideLimb(i);
    const at = COLUMNS + 8 * (i - LIMBS);
    store<i64>(COLUMNS + 8 * i, 0);
    store<i64>(at, load<i64>(at, 0) + times * K_0, 0);
    store<i64>(at, load<i64>(at, 8) + times * K_1, 8);
    store<i64>(at, load<i64>(at, 16) + times * K_2, 16);
    store<i64>(at, load<i64>(at, 24) + times * K_3, 24);
    store<i64>(at, load<i64>(at, 32) + times * K_4, 32);
  }
}

/** out = a b modulo n. */
export function multiplyScalars(out: usize, a: usize, b: usize): void {
  multiplyWide(a, b);
  // 522 bits. A fold of column i reaches columns i - 9 to i - 5, so one of 17 columns leaves 14, and one of those 10.
  foldHigh(17);
  foldHigh(13);
  // Below 2^261 + 2^268 now.
  const top = (wideLimb(9) << 5) | (wideLimb(8) >> TOP_BITS);
  let rest: i64 = 0;
  for (let i: usize = 0; i < LIMBS; i++) {
    const own = i == LIMBS - 1 ? wideLimb(i) & TOP_MASK : wideLimb(i);
    rest += own + top * load<i32>(C + 4 * i);
    store<i32>(out + 4 * i, <i32>(rest & LIMB_MASK));
    rest >>= LIMB_BITS;
  }
  subtractOrder(out);
}

/** Folds the limbs from 9 to `last` of a carried number, and carries it again. */
function foldHigh(last: usize): void {
  foldColumns(LIMBS, last);
  carryColumns(0, last);
}

/** a := a - n if a >= n, for a below 2 n: that is when a + C passes 2^256. */
function subtractOrder(a: usize): void {
  let rest: i64 = 0;
  for (let i: usize = 0; i < 4 * LIMBS; i += 4) {
    rest += <i64>load<i32>(a + i) + <i64>load<i32>(C + i);
    store<i32>(LESS_N + i, <i32>(rest & LIMB_MASK));
    rest >>= LIMB_BITS;
  }
  const top = load<i32>(LESS_N, 32);
  if (<i64>top >> TOP_BITS == 0) return;
  store<i32>(LESS_N, top & <i32>TOP_MASK, 32);
  copy(a, LESS_N);
}

const LESS_N = memory.data(48, 16);

/** out = a + b modulo n. */
export function addScalars(out: usize, a: usize, b: usize): void {
  let rest: i64 = 0;
  for (let i: usize = 0; i < 4 * LIMBS; i += 4) {
    rest += <i64>load<i32>(a + i) + <i64>load<i32>(b + i);
    store<i32>(out + i, <i32>(rest & LIMB_MASK));
    rest >>= LIMB_BITS;
  }
  subtractOrder(out);
}

/** out = -a modulo n. */
export function negateScalar(out: usize, a: usize): void {
  let rest: i64 = 0;
  for (let i: usize = 0; i < 4 * LIMBS; i += 4) {
    rest += <i64>load<i32>(N + i) - <i64>load<i32>(a + i);
    store<i32>(out + i, <i32>(rest & LIMB_MASK));
    rest >>= LIMB_BITS;
  }
  subtractOrder(out);
}

export function invertScalar(out: usize, a: usize): void {
  invert(out, a, N, INVERSE_OF_N);
}

/** The 32 bytes modulo n: 2^256 is below 2 n. */
export function scalarFromBytes(out: usize, bytes: usize): void {
  fromBytes(out, bytes);
  subtractOrder(out);
}
