/**
 * The group: points of y² = x³ + 7, which has prime order n, so the only point with y = 0 or of small order is
 * infinity.
 *
 * An affine point is x and y, each an element of magnitude 1; y may also be the negation of one. The accumulator is a
 * point in Jacobian coordinates, x = X / Z² and y = Y / Z³, or infinity, which is a flag.
 *
 * Invariants:
 *   POINT-1  X, Y and Z of the accumulator are results of products, so differences with other results have magnitude 1.
 *            X may also come from a lane (lanePoint.as). Then its limb 8 may be negative, and that of a difference
 *            reaches 2^25 + 1: columns 8 to 16, where it counts, stay below column 7, and FIELD-2 holds.
 *   POINT-2  Every addition checks for equal x, so sums are right for all points: also those that an adversary chose.
 */
import { add, copy, halve, isZero, normalise, setSmall, subtract } from './element';
import { multiply, multiplyLess, SLOT, square, squareLessTimes, squareTriple } from './field';
import { invert } from './inverse';

/** Coordinates of the generator, and beta, a cube root of 1: (beta x, y) is lambda times (x, y). */
export const GENERATOR_X = memory.data<i32>([
  0x16f81798, 0xf940ad8, 0x138a3656, 0x17f9b65b, 0x10b07029, 0x114ae743, 0xeb15681, 0xfdf3b97, 0x79be66, 0, 0, 0,
], 16);
export const GENERATOR_Y = memory.data<i32>([
  0x1b10d4b8, 0x23e847f, 0x1550667, 0xf68914d, 0x108a8fd1, 0x1dfe0708, 0x11957693, 0xee4d478, 0x483ada, 0, 0, 0,
], 16);
export const BETA = memory.data<i32>([
  0x119501ee, 0x9cb6143, 0x1d626570, 0x92ea25, 0x34e99cf, 0x3cf561a, 0x1c41b991, 0x56caf80, 0x7ae96a, 0, 0, 0,
], 16);
const P = memory.data<i32>([
  0x1ffffc2f, 0x1ffffff7, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0x1fffffff, 0xffffff, 0, 0, 0,
], 16);
const INVERSE_OF_P: i64 = 0xddacacf;

export const X = memory.data(48, 16);
export const Y = memory.data(48, 16);
export const Z = memory.data(48, 16);
export let isInfinity: bool = true;

const A = memory.data(48, 16);
const B = memory.data(48, 16);
const C = memory.data(48, 16);
const D = memory.data(48, 16);
const E = memory.data(48, 16);

/** out = 1 / a, for a of magnitude 1; 0 for 0. */
export function invertElement(out: usize, a: usize): void {
  copy(A, a);
  normalise(A);
  invert(out, A, P, INVERSE_OF_P);
}

export function setInfinity(): void {
  isInfinity = true;
}

/** Writes the accumulator to three slots and a flag behind them, for another time. */
export function savePoint(to: usize): void {
  copy(to, X);
  copy(to + SLOT, Y);
  copy(to + 2 * SLOT, Z);
  store<u32>(to + 3 * SLOT, <u32>isInfinity);
}

export function restorePoint(from: usize): void {
  copy(X, from);
  copy(Y, from + SLOT);
  copy(Z, from + 2 * SLOT);
  isInfinity = load<u32>(from + 3 * SLOT) != 0;
}

export function setPoint(x: usize, y: usize): void {
  copy(X, x);
  copy(Y, y);
  // It may be a negation.
  normalise(Y);
  setSmall(Z, 1);
  isInfinity = false;
}

/** L = 3 X² / 2, X' = L² - 2 X Y², Y' = L (X Y² - X') - Y^4, Z' = Y Z. */
export function double(): void {
  if (isInfinity) return;
  squareTriple(A, X);
  halve(A, A);
  square(B, Y);
  multiply(C, X, B);
  multiply(Z, Y, Z);
  squareLessTimes(X, A, 2, C);
  subtract(C, C, X);
  // Magnitudes 1 1 + 1 1 = 2.
  multiplyLess(Y, A, C, B, B);
}

/**
 * Adds an affine point: with H = x Z² - X and R = y Z³ - Y,
 * X' = R² - H³ - 2 X H², Y' = R (X H² - X') - Y H³, Z' = Z H.
 */
export function addPoint(x: usize, y: usize): void {
  if (isInfinity) {
    setPoint(x, y);
    return;
  }
  square(A, Z);
  multiply(B, x, A);
  multiply(C, y, Z);
  multiply(C, C, A);
  subtract(B, B, X);
  subtract(C, C, Y);
  if (isZero(B)) {
    // The same x: the same point, or its negation.
    if (isZero(C)) double();
    else isInfinity = true;
    return;
  }
  square(A, B);
  multiply(Z, Z, B);
  multiply(B, B, A);
  multiply(A, X, A);
  // H³ + 2 X H² has magnitude 3.
  add(D, A, A);
  add(D, D, B);
  squareLessTimes(X, C, 1, D);
  subtract(A, A, X);
  // Magnitudes 1 1 + 1 1 = 2.
  multiplyLess(Y, C, A, Y, B);
}

/** The accumulator, which is not infinity, as an affine point; its Z is lost. */
export function toAffine(x: usize, y: usize): void {
  invertElement(Z, Z);
  affineBy(x, y, X, Y, Z);
}

/** x = X inverse², y = Y inverse³. */
export function affineBy(x: usize, y: usize, fromX: usize, fromY: usize, inverse: usize): void {
  square(D, inverse);
  multiply(E, D, inverse);
  multiply(x, fromX, D);
  multiply(y, fromY, E);
}
