/** Recovery of a public key from a signature, when nothing is known of its signer. */
import { add, equals, fromBytes, isOdd, negate, normalise, squareRoot } from './element';
import { multiply, square } from './field';
import * as point from './point';
import { invertScalar, multiplyScalars, scalarFromBytes } from './scalar';
import { S } from './signature';
import { GENERATOR, GENERATOR_WIDTH, makeTable } from './table';
import { addScalarTerms, ALONE, beginTerms, evaluate, sortTerms } from './terms';

const WIDTH = 5;
const ENTRIES = 8;
const R_TABLE = memory.data(1152, 16);
const R_X = memory.data(48, 16);
const R_Y = memory.data(48, 16);
const CUBE = memory.data(48, 16);
const ROOT_SQUARE = memory.data(48, 16);
const SEVEN = memory.data<i32>([7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);
const R = memory.data(48, 16);
const U = memory.data(48, 16);
const INVERSE = memory.data(48, 16);

/** Reads x, an integer below p in 32 bytes, and computes x³ + 7. */
export function beginLift(x: usize, cube: usize, bytes: usize): void {
  fromBytes(x, bytes);
  square(cube, x);
  multiply(cube, cube, x);
  add(cube, cube, SEVEN);
}

/**
 * Makes the root of x³ + 7 in y the y of this parity.
 * @returns false when x³ + 7 is no square.
 */
export function endLift(y: usize, cube: usize, bit: i32): bool {
  square(ROOT_SQUARE, y);
  normalise(cube);
  normalise(ROOT_SQUARE);
  if (!equals(cube, ROOT_SQUARE)) return false;
  normalise(y);
  if (isOdd(y) != (bit == 1)) {
    negate(y, y);
    normalise(y);
  }
  return true;
}

/** Writes the key Q = (s R - z G) / r in canonical form. @returns false when R is no point or Q is infinity. */
export function recoverKey(x: usize, y: usize, digest: usize, signature: usize, bit: i32): bool {
  beginLift(R_X, CUBE, signature);
  squareRoot(R_Y, CUBE);
  if (!endLift(R_Y, CUBE, bit)) return false;
  makeTable(R_TABLE, ENTRIES, R_X, R_Y);
  scalarFromBytes(R, signature);
  invertScalar(INVERSE, R);
  beginTerms(ALONE);
  scalarFromBytes(U, signature + S);
  multiplyScalars(U, U, INVERSE);
  addScalarTerms(U, false, R_TABLE, 0, WIDTH);
  scalarFromBytes(U, digest);
  multiplyScalars(U, U, INVERSE);
  addScalarTerms(U, true, GENERATOR, 0, GENERATOR_WIDTH);
  sortTerms();
  evaluate();
  if (point.isInfinity) return false;
  point.toAffine(x, y);
  normalise(x);
  normalise(y);
  return true;
}
