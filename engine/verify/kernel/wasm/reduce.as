/**
 * From the seventeen columns of a product to an element of magnitude 1 (FIELD-1).
 *
 * Column k weighs 2^(29 k). Columns 9 to 16 are folded into 0 to 8, because 2^261 = 2^5 (2^32 + 977) = 256 2^29 + 31264
 * modulo p. A column has up to 63 bits and 31264 has 15, so each is split first into its low 29 bits and the rest,
 * which weighs as much as the next column: no chain of carries is needed for that. Then two chains run side by side,
 * through limbs 0 to 3 and 4 to 8; what passes 2^256 comes back at the bottom as 8 2^29 + 977.
 */
const MASK: i64 = (1 << 29) - 1;
const TOP_MASK: i64 = (1 << 24) - 1;

@inline
export function reduce(
  out: usize, c0: i64, c1: i64, c2: i64, c3: i64, c4: i64, c5: i64, c6: i64, c7: i64, c8: i64,
  c9: i64, c10: i64, c11: i64, c12: i64, c13: i64, c14: i64, c15: i64, c16: i64,
): void {
  // At most 2^34 + 2^29 each; column 17 is the rest of column 16, and its fold reaches column 9.
  const d17 = c16 >> 29;
  const d9 = (c9 & MASK) + 256 * d17;
  const d10 = (c10 & MASK) + (c9 >> 29);
  const d11 = (c11 & MASK) + (c10 >> 29);
  const d12 = (c12 & MASK) + (c11 >> 29);
  const d13 = (c13 & MASK) + (c12 >> 29);
  const d14 = (c14 & MASK) + (c13 >> 29);
  const d15 = (c15 & MASK) + (c14 >> 29);
  const d16 = (c16 & MASK) + (c15 >> 29);
  let t0 = c0 + 31264 * d9;
  let t1 = c1 + 31264 * d10 + 256 * d9;
  let t2 = c2 + 31264 * d11 + 256 * d10;
  let t3 = c3 + 31264 * d12 + 256 * d11;
  let t4 = c4 + 31264 * d13 + 256 * d12;
  let t5 = c5 + 31264 * d14 + 256 * d13;
  let t6 = c6 + 31264 * d15 + 256 * d14;
  let t7 = c7 + 31264 * d16 + 256 * d15;
  let t8 = c8 + 31264 * d17 + 256 * d16;
  t1 += t0 >> 29;
  t5 += t4 >> 29;
  t2 += t1 >> 29;
  t6 += t5 >> 29;
  t3 += t2 >> 29;
  t7 += t6 >> 29;
  // At most 2^34 + 2^29.
  t4 = (t4 & MASK) + (t3 >> 29);
  t8 += t7 >> 29;
  // At most 2^39, so 2^49 is added to limb 0, 2^42 to limb 1, then 2^14 to limb 2 and 2^6 to limb 5.
  const top = t8 >> 24;
  t0 = (t0 & MASK) + 977 * top;
  t1 = (t1 & MASK) + 8 * top + (t0 >> 29);
  store<i32>(out, <i32>(t0 & MASK), 0);
  store<i32>(out, <i32>(t1 & MASK), 4);
  store<i32>(out, <i32>((t2 & MASK) + (t1 >> 29)), 8);
  store<i32>(out, <i32>(t3 & MASK), 12);
  store<i32>(out, <i32>(t4 & MASK), 16);
  store<i32>(out, <i32>((t5 & MASK) + (t4 >> 29)), 20);
  store<i32>(out, <i32>(t6 & MASK), 24);
  store<i32>(out, <i32>(t7 & MASK), 28);
  store<i32>(out, <i32>(t8 & TOP_MASK), 32);
}

/** The same for the product less n y, where |n| times the magnitude of y is at most 16. */
@inline
export function reduceLess(
  out: usize, n: i64, y: usize, c0: i64, c1: i64, c2: i64, c3: i64, c4: i64, c5: i64, c6: i64, c7: i64, c8: i64,
  c9: i64, c10: i64, c11: i64, c12: i64, c13: i64, c14: i64, c15: i64, c16: i64,
): void {
  reduce(
    out,
    c0 - n * load<i32>(y, 0),
    c1 - n * load<i32>(y, 4),
    c2 - n * load<i32>(y, 8),
    c3 - n * load<i32>(y, 12),
    c4 - n * load<i32>(y, 16),
    c5 - n * load<i32>(y, 20),
    c6 - n * load<i32>(y, 24),
    c7 - n * load<i32>(y, 28),
    c8 - n * load<i32>(y, 32),
    c9, c10, c11, c12, c13, c14, c15, c16,
  );
}
