/**
 * Additions of pairs of affine points that need not wait for each other, so one inversion serves a whole round of them:
 * with l = (yb - ya) / (xb - xa), x = l² - xa - xb and y = l (xa - x) - ya. When the points are the same, l = 3 xa² / 2
 * ya. The denominators d1 … dk of a round are multiplied up; from I = 1 / (d1 … dk), 1 / dk = I (d1 … dk-1), and I dk
 * is the I of the others.
 *
 * A point is named by the address of its x and that of its y, the latter odd if y is negated, as in terms (terms.as). A
 * record holds the names of its pair, then the denominator and the product up to it, and at last the sum in their
 * place: a sum can be named as soon as its pair is added, and read after the round. The fused kernel has pairsFused.as
 * in place of this.
 *
 * Invariants:
 *   CHORD-1  No denominator is zero: the pairs whose sum is infinity are refused, and 2 y is never zero.
 *   CHORD-2  The points are on the curve, and results of products, but for the sign of y. Denominators have magnitude
 *            1.
 */
import { add, copy, isZero, negate, normalise, subtract } from './element';
import { multiply, multiplyLessTimes, SLOT, squareLessTimes, squareTriple } from './field';
import { invertElement } from './point';

/** The estimated cost of a pair when it is added to a round, and of a sum (equation.as). */
export const COST_OF_PAIR = 7;
export const COST_OF_SUM = 13;

/** Every addition makes one point of two: those of the terms, and one for each R. */
const MOST_PAIRS = 2752;
const RECORD: usize = 16 + 2 * SLOT;
export const SUM_X: usize = 16;
export const SUM_Y: usize = 16 + SLOT;
const DENOMINATOR: usize = SUM_X;
const PRODUCT: usize = SUM_Y;
const records = memory.data(308224, 16);

/**
 * The first record of the round, and the next free one; the first whose product is not known yet, and behind the last
 * whose sum is not.
 */
let first: usize = records;
let free: usize = records;
let multiplied: usize = records;
let open: usize = records;
const INVERSE = memory.data(48, 16);
const OWN_INVERSE = memory.data(48, 16);
const RISE = memory.data(48, 16);
const SUM = memory.data(48, 16);
const Y_A = memory.data(48, 16);
const Y_B = memory.data(48, 16);

/** Forgets all records. */
export function beginPairs(): void {
  free = records;
  beginRound();
}

export function beginRound(): void {
  first = free;
  multiplied = free;
}

export function isEmptyRound(): bool {
  return first == free;
}

/** A slot with the x of a point that is named. */
@inline
export function xInSlot(x: usize, y: usize): usize {
  return x;
}

/** And a slot with its y: odd if that is negated. */
@inline
export function yInSlot(x: usize, y: usize): usize {
  return y;
}

/** Puts y at `out`, with its sign. */
function readY(out: usize, y: usize): void {
  if ((y & 1) == 0) copy(out, y);
  else negate(out, y & ~1);
}

/** Adds a pair to the round. @returns its record, or 0 when the sum is infinity. */
export function addPair(xa: usize, ya: usize, xb: usize, yb: usize): usize {
  const record = free;
  const denominator = record + DENOMINATOR;
  store<usize>(record, xa);
  store<usize>(record, ya, 4);
  store<usize>(record, xb, 8);
  store<usize>(record, yb, 12);
  subtract(denominator, xb, xa);
  if (isZero(denominator)) {
    readY(Y_A, ya);
    readY(Y_B, yb);
    subtract(denominator, Y_A, Y_B);
    if (!isZero(denominator)) return 0;
    store<usize>(record, 0, 8);
    add(denominator, Y_A, Y_A);
    normalise(denominator);
  }
  free = record + RECORD;
  return record;
}

/**
 * Multiplies up the denominators of the pairs added since the last time: apart from adding them, so that the processor
 * fetches several points at once.
 */
export function multiplyUp(): void {
  for (; multiplied < free; multiplied += RECORD) {
    const product = multiplied + PRODUCT;
    if (multiplied == first) copy(product, multiplied + DENOMINATOR);
    else multiply(product, product - RECORD, multiplied + DENOMINATOR);
  }
}

/** Inverts the product of all denominators of a round that is not empty. */
export function invertRound(): void {
  multiplyUp();
  open = free;
  invertElement(INVERSE, open - RECORD + PRODUCT);
}

/** Computes the sum of the last pair that has none. @returns whether there is another one. */
export function completePair(): bool {
  const record = open - RECORD;
  const denominator = record + DENOMINATOR;
  open = record;
  let inverse = INVERSE;
  if (record != first) {
    inverse = OWN_INVERSE;
    multiply(OWN_INVERSE, INVERSE, record - RECORD + PRODUCT);
    multiply(INVERSE, INVERSE, denominator);
  }
  const xa = load<usize>(record);
  const ya = load<usize>(record, 4);
  const xb = load<usize>(record, 8);
  if (xb == 0) squareTriple(RISE, xa);
  else rise(ya, load<usize>(record, 12));
  multiply(RISE, RISE, inverse);
  add(SUM, xa, xb == 0 ? xa : xb);
  squareLessTimes(record + SUM_X, RISE, 1, SUM);
  subtract(SUM, xa, record + SUM_X);
  multiplyLessTimes(record + SUM_Y, RISE, SUM, (ya & 1) == 0 ? 1 : -1, ya & ~1);
  return record != first;
}

/** RISE = yb - ya: magnitude 1 or, with different signs, 2. */
function rise(ya: usize, yb: usize): void {
  const a = ya & ~1;
  const b = yb & ~1;
  if (((ya ^ yb) & 1) != 0) {
    add(RISE, a, b);
    if ((yb & 1) != 0) negate(RISE, RISE);
  } else if ((ya & 1) == 0) {
    subtract(RISE, b, a);
  } else {
    subtract(RISE, a, b);
  }
}
