/**
 * The field in two lanes: products of two elements by two others, side by side, in doubles, with fused multiplication
 * and addition. Only the fused kernel has it, for the products of a batch that come in twos (README.md).
 *
 * A twin, two elements side by side, is five vectors of two doubles: the limbs v0 to v4 of both, which are integers. v
 * = v0 + v1 2^51 + … + v4 2^204 stands for the element 2 v. So the product of the elements of v and w is that of 2 v w:
 * its columns from 2^255 on, doubled, weigh 2^256 and more, where 2^256 = F = 2^32 + 977 modulo p. Without the 2, a
 * column at 2^255 could not be folded. The magnitude M of an element is the least number with |vk| <= M (2^50 + 2^39)
 * for k < 4 and |v4| <= M 2^51.
 *
 * A product a b of limbs has up to 104 bits. Doubles from 2^103 to 2^104 are 2^51 apart. So with H = 1.5 2^103 the
 * fused a b + H is H + h 2^51, where h is the integer nearest to a b / 2^51, and its bits, as an integer, are those of
 * H plus h. (H + 3 2^51) - (H + h 2^51) is exact: a multiple of 2^51 below 2^104. The fused sum of that and a b is 3
 * 2^51 + l, where l = a b - h 2^51 is an integer from -2^50 to 2^50: as the sum is between 2^52 and 2^53 it is exact,
 * and its bits are those of L = 3 2^51 plus l. From there on h and l are added up as integers of 64 bits; the bits of H
 * and L are subtracted from each column at once. Products with one v4 have a bit more: they use W = 1.5 2^104 and
 * multiples of 2^52. That of v4 and w4 has two, uses X = 1.5 2^105, and its l, of 53 bits, stays a double.
 *
 * Invariants:
 *   LANES-1  A result has magnitude 1, and its v4 is from -2^51 to 2^51 - 1.
 *   LANES-2  The magnitudes of the operands of a product multiply to 3 at most. Then |a b| <= 3 (2^50 + 2^39)² < 2^102
 *            without v4, 3 2^51 (2^50 + 2^39) < 2^103 with one and 3 2^102 < 2^104 with both: every sum with H, W or X
 *            is where doubles are as far apart as said.
 *   LANES-3  A column is within 2^56 of its bias, 2^57 or 2^58, so it is positive when it is carried: it is the sum of
 *            at most 9 h and l of up to 2^52, or twice that of 9 of up to 2^51, and of four numbers of up to 2^51 of
 *            folding, y and z.
 */
/** Bytes of a twin. */
export const TWIN: usize = 80;

/** The bits of L, H, W and X. */
const L: i64 = 0x4338 << 48;
const H: i64 = 0x4668 << 48;
const W: i64 = 0x4678 << 48;
const X: i64 = 0x4688 << 48;
/** Those of 2^52: an integer below 2^52 is the rest of the bits of its sum with it. */
const E: i64 = 0x4330 << 48;

const BITS = memory.data<i64>([L, H, H | 3, W, X, E, (1 << 51) - 1, (1 << 52) - 1], 16);
const BITS_L = BITS;
const BITS_H: usize = BITS + 8;
const BITS_H_L: usize = BITS + 16;
const BITS_W: usize = BITS + 24;
const BITS_X: usize = BITS + 32;
const BITS_E: usize = BITS + 40;
const LIMB_MASK: usize = BITS + 48;
const TOP_MASK: usize = BITS + 56;

/** F, -2^-51 and -2^-52; 2^52 plus the biases of integers that are made doubles: 2^6, 2^50 (and 2^6 or 2^7), 2^51. */
const NUMBERS = memory.data<f64>([
  4294968273, -1.0 / 2251799813685248, -1.0 / 4503599627370496,
  4503599627370560, 5629499534213120, 5629499534213184, 5629499534213248, 6755399441055744,
], 16);
const FOLD = NUMBERS;
const BY_X: usize = NUMBERS + 8;
const BY_W: usize = NUMBERS + 16;
const E_6: usize = NUMBERS + 24;
const E_50: usize = NUMBERS + 32;
const E_50_6: usize = NUMBERS + 40;
const E_50_7: usize = NUMBERS + 48;
const E_51: usize = NUMBERS + 56;

/**
 * The bias of each column, which is added to it, less the bits in it: half a limb, so that carrying rounds to nearest,
 * and 2^57 or 2^58. Columns 0 to 4 are doubled, and get an L and, but for column 0, an H of folding, so this is half of
 * theirs. Column 4 gets the 2^7 of column 3.
 */
const UPPER: i64 = (1 << 57) + (1 << 50);
const LOWEST: i64 = ((1 << 58) + (1 << 50) - L) / 2;
const LOWER: i64 = ((1 << 58) + (1 << 50) - L - H) / 2;
const TOP: i64 = ((1 << 58) + (1 << 51) - (1 << 7) - L - H) / 2;
const OF_PRODUCT = memory.data<i64>([
  LOWEST - L, LOWER - 2 * L - H, LOWER - 3 * L - 2 * H, LOWER - 4 * L - 3 * H, TOP - 5 * L - 4 * H,
  UPPER - 4 * L - 3 * H - 4 * W, UPPER - 3 * L - 2 * H - 4 * W, UPPER - 2 * L - H - 4 * W, UPPER - 4 * W,
], 16);
const OF_SQUARE = memory.data<i64>([
  LOWEST - L, LOWER - L - H, LOWER - 2 * L - H, LOWER - 2 * L - 2 * H, TOP - 3 * L - 2 * H,
  UPPER - 2 * L - 2 * H - 2 * W, UPPER - 2 * L - H - 2 * W, UPPER - L - H - 2 * W, UPPER - 2 * W,
], 16);

/** Constants are loaded where they are used: V8 makes them of words of a register otherwise, at each call. */
@inline
function both(at: usize): v128 {
  return v128.load64_splat(at);
}

@inline
function limb(a: usize, k: usize): v128 {
  return v128.load(a + 16 * k);
}

@inline
function sum(a: v128, b: v128): v128 {
  return i64x2.add(a, b);
}

@inline
function twice(a: v128): v128 {
  return i64x2.add(a, a);
}

/** H + h 2^51. */
@inline
function high(a: v128, b: v128): v128 {
  return f64x2.relaxed_madd(a, b, both(BITS_H));
}

/** L + l. */
@inline
function low(a: v128, b: v128, h: v128): v128 {
  return f64x2.relaxed_madd(a, b, f64x2.sub(both(BITS_H_L), h));
}

/** W + h 2^52. */
@inline
function wideHigh(a: v128, b: v128): v128 {
  return f64x2.relaxed_madd(a, b, both(BITS_W));
}

/** L + l. */
@inline
function wideLow(a: v128, b: v128, h: v128): v128 {
  return f64x2.relaxed_madd(a, b, f64x2.add(f64x2.sub(both(BITS_W), h), both(BITS_L)));
}

/** 2^52 plus the low 51 bits, as a double, but still an integer to which what is carried from below can be added. */
@inline
function rest(c: v128): v128 {
  return v128.or(v128.and(c, both(LIMB_MASK)), both(BITS_E));
}

@inline
function carried(c: v128): v128 {
  return i64x2.shr_u(c, 51);
}

/** c - y - z, of limbs of magnitude 1 of elements of the given address, if it is not 0. */
@inline
function less(c: v128, y: usize, z: usize, k: usize): v128 {
  let t = c;
  if (y != 0) t = sum(t, i64x2.sub(f64x2.sub(both(BITS_L), limb(y, k)), both(BITS_L)));
  if (z != 0) t = sum(t, i64x2.sub(f64x2.sub(both(BITS_L), limb(z, k)), both(BITS_L)));
  return t;
}

/**
 * out = 2 v w - y - z, of the columns of v w, with their biases. `s44` is -h 2^53 and `l44` is l of v4 and w4.
 *
 * d5 to d9 are the upper columns, as doubles, after one round of carries. d9 F is added to column 4, where it may reach
 * 2^256 and more: these multiples h9 of 2^256 join d5, which is folded once again.
 */
@inline
function reduce(
  out: usize, biases: usize, y: usize, z: usize, b0: v128, b1: v128, b2: v128, b3: v128, b4: v128, b5: v128, b6: v128,
  b7: v128, b8: v128, s44: v128, l44: v128,
): void {
  const c8 = sum(b8, both(biases + 64));
  const c7 = sum(b7, both(biases + 56));
  const c6 = sum(b6, both(biases + 48));
  const c5 = sum(b5, both(biases + 40));
  // Below 2^53.
  const d9 = f64x2.relaxed_madd(s44, both(BY_X), f64x2.sub(v128.or(carried(c8), both(BITS_E)), both(E_6)));
  const h9 = wideHigh(d9, both(FOLD));
  const s9 = f64x2.sub(both(BITS_W), h9);
  const l9 = f64x2.relaxed_madd(d9, both(FOLD), f64x2.add(s9, both(BITS_L)));
  const d8 = f64x2.add(f64x2.sub(sum(rest(c8), carried(c7)), both(E_50_6)), l44);
  const d7 = f64x2.sub(sum(rest(c7), carried(c6)), both(E_50_6));
  const d6 = f64x2.sub(sum(rest(c6), carried(c5)), both(E_50_6));
  const d5 = f64x2.relaxed_madd(s9, both(BY_W), f64x2.sub(rest(c5), both(E_50)));
  const h5 = high(d5, both(FOLD)), h6 = high(d6, both(FOLD)), h7 = high(d7, both(FOLD)), h8 = high(d8, both(FOLD));
  const l5 = low(d5, both(FOLD), h5), l6 = low(d6, both(FOLD), h6);
  const l7 = low(d7, both(FOLD), h7), l8 = low(d8, both(FOLD), h8);
  const t0 = less(sum(twice(sum(b0, both(biases))), l5), y, z, 0);
  const t1 = less(sum(sum(twice(sum(b1, both(biases + 8))), l6), h5), y, z, 1);
  const t2 = less(sum(sum(twice(sum(b2, both(biases + 16))), l7), h6), y, z, 2);
  const t3 = less(sum(sum(twice(sum(b3, both(biases + 24))), l8), h7), y, z, 3);
  const t4 = less(sum(sum(sum(twice(sum(b4, both(biases + 32))), l9), h8), carried(t3)), y, z, 4);
  // The multiples of 2^256 are folded as well: at most 2^5 of them.
  const top = f64x2.sub(v128.or(i64x2.shr_u(t4, 52), both(BITS_E)), both(E_6));
  v128.store(out, f64x2.relaxed_madd(top, both(FOLD), f64x2.sub(rest(t0), both(E_50))));
  v128.store(out, f64x2.sub(sum(rest(t1), carried(t0)), both(E_50_7)), 16);
  v128.store(out, f64x2.sub(sum(rest(t2), carried(t1)), both(E_50_7)), 32);
  v128.store(out, f64x2.sub(sum(rest(t3), carried(t2)), both(E_50_7)), 48);
  v128.store(out, f64x2.sub(v128.or(v128.and(t4, both(TOP_MASK)), both(BITS_E)), both(E_51)), 64);
}

@inline
function product(out: usize, a: usize, b: usize, y: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const b0 = limb(b, 0), b1 = limb(b, 1), b2 = limb(b, 2), b3 = limb(b, 3), b4 = limb(b, 4);
  const s44 = f64x2.sub(both(BITS_X), f64x2.relaxed_madd(a4, b4, both(BITS_X)));
  const l44 = f64x2.relaxed_madd(a4, b4, s44);
  const h34 = wideHigh(a3, b4), h43 = wideHigh(a4, b3);
  const l34 = wideLow(a3, b4, h34), l43 = wideLow(a4, b3, h43);
  const c8 = twice(sum(h34, h43));
  const h24 = wideHigh(a2, b4), h42 = wideHigh(a4, b2), h33 = high(a3, b3);
  const l24 = wideLow(a2, b4, h24), l42 = wideLow(a4, b2, h42), l33 = low(a3, b3, h33);
  const c7 = sum(sum(twice(sum(h24, h42)), sum(l34, l43)), h33);
  const h14 = wideHigh(a1, b4), h41 = wideHigh(a4, b1), h23 = high(a2, b3), h32 = high(a3, b2);
  const l14 = wideLow(a1, b4, h14), l41 = wideLow(a4, b1, h41), l23 = low(a2, b3, h23), l32 = low(a3, b2, h32);
  const c6 = sum(sum(sum(twice(sum(h14, h41)), sum(l24, l42)), l33), sum(h23, h32));
  const h04 = wideHigh(a0, b4), h40 = wideHigh(a4, b0), h13 = high(a1, b3), h31 = high(a3, b1), h22 = high(a2, b2);
  const l04 = wideLow(a0, b4, h04), l40 = wideLow(a4, b0, h40);
  const l13 = low(a1, b3, h13), l31 = low(a3, b1, h31), l22 = low(a2, b2, h22);
  const c5 = sum(sum(twice(sum(h04, h40)), sum(sum(l14, l41), sum(l23, l32))), sum(sum(h13, h31), h22));
  const h03 = high(a0, b3), h30 = high(a3, b0), h12 = high(a1, b2), h21 = high(a2, b1);
  const l03 = low(a0, b3, h03), l30 = low(a3, b0, h30), l12 = low(a1, b2, h12), l21 = low(a2, b1, h21);
  const c4 = sum(sum(sum(l04, l40), sum(l13, l31)), sum(sum(sum(h03, h30), sum(h12, h21)), l22));
  const h02 = high(a0, b2), h20 = high(a2, b0), h11 = high(a1, b1);
  const l02 = low(a0, b2, h02), l20 = low(a2, b0, h20), l11 = low(a1, b1, h11);
  const c3 = sum(sum(sum(l03, l30), sum(l12, l21)), sum(sum(h02, h20), h11));
  const h01 = high(a0, b1), h10 = high(a1, b0);
  const l01 = low(a0, b1, h01), l10 = low(a1, b0, h10);
  const c2 = sum(sum(sum(l02, l20), l11), sum(h01, h10));
  const h00 = high(a0, b0);
  const c1 = sum(sum(l01, l10), h00);
  const c0 = low(a0, b0, h00);
  reduce(out, OF_PRODUCT, y, 0, c0, c1, c2, c3, c4, c5, c6, c7, c8, s44, l44);
}

/** Doubling a limb of magnitude 1 is exact, and within LANES-2. */
@inline
function squared(out: usize, a: usize, y: usize, z: usize): void {
  const a0 = limb(a, 0), a1 = limb(a, 1), a2 = limb(a, 2), a3 = limb(a, 3), a4 = limb(a, 4);
  const s44 = f64x2.sub(both(BITS_X), f64x2.relaxed_madd(a4, a4, both(BITS_X)));
  const l44 = f64x2.relaxed_madd(a4, a4, s44);
  const e4 = f64x2.add(a4, a4);
  const h34 = wideHigh(a3, e4), l34 = wideLow(a3, e4, h34);
  const c8 = twice(h34);
  const h24 = wideHigh(a2, e4), l24 = wideLow(a2, e4, h24);
  const h33 = high(a3, a3), l33 = low(a3, a3, h33);
  const c7 = sum(sum(twice(h24), l34), h33);
  const e3 = f64x2.add(a3, a3);
  const h14 = wideHigh(a1, e4), l14 = wideLow(a1, e4, h14);
  const h23 = high(a2, e3), l23 = low(a2, e3, h23);
  const c6 = sum(sum(twice(h14), l24), sum(l33, h23));
  const h04 = wideHigh(a0, e4), l04 = wideLow(a0, e4, h04);
  const h13 = high(a1, e3), l13 = low(a1, e3, h13);
  const h22 = high(a2, a2), l22 = low(a2, a2, h22);
  const c5 = sum(sum(twice(h04), l14), sum(l23, sum(h13, h22)));
  const h03 = high(a0, e3), l03 = low(a0, e3, h03);
  const e2 = f64x2.add(a2, a2);
  const h12 = high(a1, e2), l12 = low(a1, e2, h12);
  const c4 = sum(sum(l04, l13), sum(l22, sum(h03, h12)));
  const h02 = high(a0, e2), l02 = low(a0, e2, h02);
  const h11 = high(a1, a1), l11 = low(a1, a1, h11);
  const c3 = sum(sum(l03, l12), sum(h02, h11));
  const e1 = f64x2.add(a1, a1);
  const h01 = high(a0, e1), l01 = low(a0, e1, h01);
  const c2 = sum(sum(l02, l11), h01);
  const h00 = high(a0, a0);
  const c1 = sum(l01, h00);
  const c0 = low(a0, a0, h00);
  reduce(out, OF_SQUARE, y, z, c0, c1, c2, c3, c4, c5, c6, c7, c8, s44, l44);
}

/** out = a b, in each lane. */
export function multiply(out: usize, a: usize, b: usize): void {
  product(out, a, b, 0);
}

/** out = a b - y, for y of magnitude 1. */
export function multiplyLess(out: usize, a: usize, b: usize, y: usize): void {
  product(out, a, b, y);
}

/** out = a², for `a` of magnitude 1. */
export function square(out: usize, a: usize): void {
  squared(out, a, 0, 0);
}

/** out = a² - y - z, each of magnitude 1. */
export function squareLess(out: usize, a: usize, y: usize, z: usize): void {
  squared(out, a, y, z);
}
