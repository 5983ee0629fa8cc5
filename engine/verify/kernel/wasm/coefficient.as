/**
 * The random coefficient of a signature in a batch, a = b + c lambda with signed b and c of 64 bits, and its digits.
 *
 * As lambda is a cube root of 1 other than 1, b + c lambda is computed like an Eisenstein integer b + c w with w² = -1
 * - w. Those not divisible by 2 fall into twelve classes modulo 4, and each class has one digit: a unit ±1, ±w, ±w², or
 * one of these times 1 - w. A digit makes the rest divisible by 4, so at most every other power of two has one, three
 * of seven on average. A unit times a point costs nothing: w (x, y) = (beta x, y) and w² (x, y) = (beta² x, y). So the
 * table of R has two entries, R and (1 - w) R = R - lambda R.
 *
 * The coefficient is not zero modulo n, and different pairs (b, c) give different ones: a difference of two pairs is
 * shorter than 2^65, and the shortest (b, c) but (0, 0) with b + c lambda = 0 modulo n is longer than 2^127.
 */
import { LIMB_MASK, SLOT } from './field';
import { R_ENTRY, xOf, yOf } from './rTable';
import { addScalars, LAMBDA, multiplyScalars, negateScalar } from './scalar';
import { addTerm } from './terms';

/**
 * For b modulo 4 and c modulo 4 a digit: its b, its c, and where its point is: the entry (4), the power of w (0 to 2),
 * the sign (8).
 */
const DIGITS = memory.data<i8>([
  0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, -1, 9, 0,
  1, 0, 0, 0, 1, 1, 10, 0, 1, 2, 5, 0, 1, -1, 4, 0,
  0, 0, 0, 0, 2, 1, 14, 0, 0, 0, 0, 0, -2, -1, 6, 0,
  -1, 0, 8, 0, -1, 1, 12, 0, -1, -2, 13, 0, -1, -1, 2, 0,
]);

const B = memory.data(48, 16);
const C = memory.data(48, 16);

/** Writes b + c lambda modulo n. */
export function coefficientOf(out: usize, b: i64, c: i64): void {
  setScalar(B, b);
  setScalar(C, c);
  multiplyScalars(C, C, LAMBDA);
  addScalars(out, B, C);
}

function setScalar(out: usize, value: i64): void {
  // The absolute value, of 64 bits also for -2^63.
  const absolute: u64 = value < 0 ? 0 - <u64>value : <u64>value;
  memory.fill(out, 0, SLOT);
  store<i32>(out, <i32>(absolute & LIMB_MASK));
  store<i32>(out, <i32>((absolute >> 29) & LIMB_MASK), 4);
  store<i32>(out, <i32>(absolute >> 58), 8);
  if (value < 0) negateScalar(out, out);
}

/** Adds the terms of -(b + c lambda) times the point of the table. */
export function subtractCoefficientTerms(b: i64, c: i64, table: usize): void {
  let position = 0;
  while ((b | c) != 0) {
    const zeros = ctz(b | c);
    b >>= zeros;
    c >>= zeros;
    position += <i32>zeros;
    const at = DIGITS + 16 * <usize>(b & 3) + 4 * <usize>(c & 3);
    const which: usize = load<u8>(at, 2);
    const entry = table + R_ENTRY * ((which >> 2) & 1);
    const power = which & 3;
    addTerm(position, xOf(entry, power), yOf(entry, power) | ((which >> 3) ^ 1));
    // (b - digit) / 4, without passing 64 bits.
    b = (b >> 2) + (((b & 3) - load<i8>(at)) >> 2);
    c = (c >> 2) + (((c & 3) - load<i8>(at, 1)) >> 2);
    position += 2;
  }
}
