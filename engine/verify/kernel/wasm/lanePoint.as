/**
 * Elements and points in the form of lanes.as: twins, whose lanes are one element each. A point is a twin of x and y.
 * The other form, of field.as, is called a slot here.
 */
import { TWIN } from './lanes';

export const POINT: usize = TWIN;
/** From the first to the second lane of a twin, and from x to y of a point. */
export const LANE: usize = 8;
const VECTOR: usize = 16;

const LIMB_BITS = 51;
const TOP_BITS = 52;
const LIMB_MASK: i64 = (1 << 51) - 1;
/** L and its bits (lanes.as). */
const L: f64 = 6755399441055744;
const BITS_L: i64 = 0x4338 << 48;

/** Masks, and numbers that limbs get: half a limb, so that carrying rounds to nearest, and those of lanes.as. */
const INTEGERS = memory.data<i64>([
  1, 0x1000003d1, 1 << 15, 1 << 51, 0x7fffff, 0xffff, 0x1ff, 3, 1 << 50, (1 << 50) - (1 << 6), 1 << 24,
  (1 << 51) - 1, (1 << 52) - 1, 0x4330 << 48,
], 16);
const NUMBERS = memory.data<f64>([4294968273, 4503599627370496, 5629499534213120, 6755399441055744], 16);
const ONE = INTEGERS;
const FOLD: usize = INTEGERS + 8;
const BIT_15: usize = INTEGERS + 16;
const BIT_51: usize = INTEGERS + 24;
const BITS_23: usize = INTEGERS + 32;
const BITS_16: usize = INTEGERS + 40;
const BITS_9: usize = INTEGERS + 48;
const BITS_2: usize = INTEGERS + 56;
const HALF: usize = INTEGERS + 64;
const HALF_LESS: usize = INTEGERS + 72;
const BIT_24: usize = INTEGERS + 80;
const BITS_51: usize = INTEGERS + 88;
const BITS_52: usize = INTEGERS + 96;
const BITS_E: usize = INTEGERS + 104;
const F = NUMBERS;
const E: usize = NUMBERS + 8;
const E_50: usize = NUMBERS + 16;
const E_51: usize = NUMBERS + 24;

@inline
function both(at: usize): v128 {
  return v128.load64_splat(at);
}

@inline
function sum(a: v128, b: v128): v128 {
  return i64x2.add(a, b);
}

/** The limb of both elements whose sum with half a limb is given, less what is carried from it. */
@inline
function limbOf(value: v128): v128 {
  return f64x2.sub(v128.or(v128.and(value, both(BITS_51)), both(BITS_E)), both(E_50));
}

/**
 * Writes two results of products as a twin, within LANES-1: half of each modulo p, as limbs stand for twice their
 * value. The limbs of 29 bits are spread over those of 51, then carried once.
 */
export function toTwin(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a), a4 = v128.load(a, 16), b0 = v128.load(b), b4 = v128.load(b, 16);
  const x01 = v128.shuffle<u32>(a0, b0, 0, 4, 1, 5), x23 = v128.shuffle<u32>(a0, b0, 2, 6, 3, 7);
  const x45 = v128.shuffle<u32>(a4, b4, 0, 4, 1, 5), x67 = v128.shuffle<u32>(a4, b4, 2, 6, 3, 7);
  const x0 = i64x2.extend_low_i32x4_s(x01), x1 = i64x2.extend_high_i32x4_s(x01);
  const x2 = i64x2.extend_low_i32x4_s(x23), x3 = i64x2.extend_high_i32x4_s(x23);
  const x4 = i64x2.extend_low_i32x4_s(x45), x5 = i64x2.extend_high_i32x4_s(x45);
  const x6 = i64x2.extend_low_i32x4_s(x67), x7 = i64x2.extend_high_i32x4_s(x67);
  const x8 = i64x2.extend_low_i32x4_s(v128.load32_lane(b + 32, v128.load32_zero(a + 32), 1));
  // An odd one plus p = 2^256 - F is even.
  const odd = i64x2.neg(v128.and(x0, both(ONE)));
  const even = i64x2.sub(x0, v128.and(odd, both(FOLD)));
  // Limb 5 may be negative, so it gets 2^15.
  const raised = sum(x5, both(BIT_15));
  const v0 = sum(i64x2.shr_u(sum(even, both(BIT_51)), 1), i64x2.shl(v128.and(x1, both(BITS_23)), 28));
  const low1 = sum(i64x2.shr_u(x1, 23), i64x2.shl(x2, 6));
  const low2 = sum(i64x2.shr_u(x3, 16), i64x2.shl(x4, 13));
  const low3 = sum(i64x2.shr_u(raised, 9), i64x2.shl(x6, 20));
  const low4 = sum(i64x2.shr_u(x7, 2), i64x2.shl(sum(x8, v128.and(odd, both(BIT_24))), 27));
  const high1 = sum(i64x2.shl(v128.and(x3, both(BITS_16)), 35), both(HALF));
  const high2 = sum(i64x2.shl(v128.and(x5, both(BITS_9)), 42), both(HALF));
  const high3 = sum(i64x2.shl(v128.and(x7, both(BITS_2)), 49), both(HALF_LESS));
  const v1 = sum(sum(low1, high1), i64x2.shr_u(v0, LIMB_BITS));
  const v2 = sum(sum(low2, high2), i64x2.shr_u(v1, LIMB_BITS));
  const v3 = sum(sum(low3, high3), i64x2.shr_u(v2, LIMB_BITS));
  const v4 = sum(sum(low4, both(BIT_51)), i64x2.shr_u(v3, LIMB_BITS));
  const top = f64x2.sub(v128.or(i64x2.shr_u(v4, TOP_BITS), both(BITS_E)), both(E));
  v128.store(out, f64x2.add(limbOf(v0), f64x2.mul(top, both(F))));
  v128.store(out, limbOf(v1), 16);
  v128.store(out, limbOf(v2), 32);
  v128.store(out, limbOf(v3), 48);
  const topLimb = v128.or(v128.and(v4, both(BITS_52)), both(BITS_E));
  v128.store(out, f64x2.sub(topLimb, both(E_51)), 64);
}

@inline
function laneLimb(lane: usize, index: usize): i64 {
  return reinterpret<i64>(load<f64>(lane + VECTOR * index) + L) - BITS_L;
}

/** Writes a lane of magnitude 1 to a slot, where its magnitude is 1 too. */
export function toSlot(out: usize, lane: usize): void {
  const v0 = laneLimb(lane, 0);
  const v1 = laneLimb(lane, 1) + (v0 >> LIMB_BITS);
  const v2 = laneLimb(lane, 2) + (v1 >> LIMB_BITS);
  const v3 = laneLimb(lane, 3) + (v2 >> LIMB_BITS);
  const v4 = laneLimb(lane, 4) + (v3 >> LIMB_BITS);
  store<i32>(out, <i32>((v0 << 1) & 0x1fffffff), 0);
  store<i32>(out, <i32>(((v0 & LIMB_MASK) >> 28) + ((v1 & 0x3f) << 23)), 4);
  store<i32>(out, <i32>((v1 >> 6) & 0x1fffffff), 8);
  store<i32>(out, <i32>(((v1 & LIMB_MASK) >> 35) + ((v2 & 0x1fff) << 16)), 12);
  store<i32>(out, <i32>((v2 >> 13) & 0x1fffffff), 16);
  store<i32>(out, <i32>(((v2 & LIMB_MASK) >> 42) + ((v3 & 0xfffff) << 9)), 20);
  store<i32>(out, <i32>((v3 >> 20) & 0x1fffffff), 24);
  store<i32>(out, <i32>(((v3 & LIMB_MASK) >> 49) + ((v4 & 0x7ffffff) << 2)), 28);
  store<i32>(out, <i32>(v4 >> 27), 32);
}

/** Writes the first lane of `a` and the first of `b` as a twin. */
@inline
export function firstsOf(out: usize, a: usize, b: usize): void {
  v128.store(out, v128.shuffle<u64>(v128.load(a), v128.load(b), 0, 2));
  v128.store(out, v128.shuffle<u64>(v128.load(a, 16), v128.load(b, 16), 0, 2), 16);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 32), v128.load(b, 32), 0, 2), 32);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 48), v128.load(b, 48), 0, 2), 48);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 64), v128.load(b, 64), 0, 2), 64);
}

/** The same of the second lanes. */
@inline
export function secondsOf(out: usize, a: usize, b: usize): void {
  v128.store(out, v128.shuffle<u64>(v128.load(a), v128.load(b), 1, 3));
  v128.store(out, v128.shuffle<u64>(v128.load(a, 16), v128.load(b, 16), 1, 3), 16);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 32), v128.load(b, 32), 1, 3), 32);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 48), v128.load(b, 48), 1, 3), 48);
  v128.store(out, v128.shuffle<u64>(v128.load(a, 64), v128.load(b, 64), 1, 3), 64);
}

export function copyTwin(out: usize, a: usize): void {
  for (let k: usize = 0; k < TWIN; k += VECTOR) v128.store(out + k, v128.load(a + k));
}

/** out = a - b: the magnitudes add up. */
@inline
export function subtractTwins(out: usize, a: usize, b: usize): void {
  v128.store(out, f64x2.sub(v128.load(a), v128.load(b)));
  v128.store(out, f64x2.sub(v128.load(a, 16), v128.load(b, 16)), 16);
  v128.store(out, f64x2.sub(v128.load(a, 32), v128.load(b, 32)), 32);
  v128.store(out, f64x2.sub(v128.load(a, 48), v128.load(b, 48)), 48);
  v128.store(out, f64x2.sub(v128.load(a, 64), v128.load(b, 64)), 64);
}

/** Negates the first lane if the lowest bit of `first` is set, and the second if that of `second` is. */
@inline
export function negateLanes(a: usize, first: usize, second: usize): void {
  const signs = i64x2.replace_lane(i64x2.splat(<i64>first << 63), 1, <i64>second << 63);
  v128.store(a, v128.xor(v128.load(a), signs));
  v128.store(a, v128.xor(v128.load(a, 16), signs), 16);
  v128.store(a, v128.xor(v128.load(a, 32), signs), 32);
  v128.store(a, v128.xor(v128.load(a, 48), signs), 48);
  v128.store(a, v128.xor(v128.load(a, 64), signs), 64);
}
