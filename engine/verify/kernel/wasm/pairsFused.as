/**
 * pairs.as in two lanes (lanes.as): two additions at a time, each with the products of a lane, and each lane with an
 * inverse of its own, of which there is one inversion too.
 *
 * Sums are points in lanes (lanePoint.as), and are named by the address of the point both times, that of y odd if y is
 * negated. Points of tables are in slots: they are converted as they come.
 *
 * A record holds two additions: the names of y of their points, the denominators, and the products up to them, which at
 * last give way to the sums. When both points of an addition are the same, both its names are.
 *
 * CHORD-1 and CHORD-2 (pairs.as) hold here as well.
 *
 * Invariants:
 *   TWINS-1  Each lane of a record has an addition when products are inverted: the second repeats the first if there is
 *            none.
 */
import { add, isZero, subtract } from './element';
import { multiply as multiplySlots, SLOT } from './field';
import { firstsOf, LANE, negateLanes, POINT, secondsOf, subtractTwins, toSlot, toTwin } from './lanePoint';
import { multiply, multiplyLess, squareLess, TWIN } from './lanes';
import { invertElement } from './point';

/** A sum is named by its address alone. */
export const SUM_X: usize = 0;
export const SUM_Y: usize = 0;
/** The estimated cost of a pair when it is added to a round, and of a record when it is completed (equation.as). */
export const COST_OF_PAIR = 6;
export const COST_OF_SUM = 16;

/** The terms of a batch are at most 2,700 (terms.as), and a round has at most one record that is half empty. */
const MOST_RECORDS: usize = 1376;
const RECORD: usize = 16 + 2 * TWIN;
const ADDITION: usize = 8;
const DENOMINATORS: usize = 16;
const PRODUCTS: usize = 16 + TWIN;
const records = memory.data(<i32>(MOST_RECORDS * RECORD), 16);
/** The points of tables among these terms: 44 of each of 32 signers, and 26 of the generator. */
const MOST_CONVERTED: usize = 1440;
const converted = memory.data(<i32>(MOST_CONVERTED * POINT), 16);

/** The first record of the round, the next free one, and its next free lane, of ADDITION bytes each. */
let first: usize = records;
let free: usize = records;
let freeLane: usize = 0;
let multiplied: usize = records;
let open: usize = records;
let nextConverted: usize = converted;

/** 1 in both lanes: (p + 1) / 2 = 2^255 - (2^32 + 976) / 2. */
const ONE = memory.data<f64>([-2147484136, -2147484136, 0, 0, 0, 0, 0, 0, 2251799813685248, 2251799813685248], 16);
const INVERSE = memory.data(80, 16);
const OWN_INVERSE = memory.data(80, 16);
const X_A = memory.data(80, 16);
const Y_A = memory.data(80, 16);
const X_B = memory.data(80, 16);
const Y_B = memory.data(80, 16);
const RISE = memory.data(80, 16);
const X = memory.data(80, 16);
const Y = memory.data(80, 16);
const F: f64 = 4294968273;
const SLOT_A = memory.data(48, 16);
const SLOT_B = memory.data(48, 16);

export function beginPairs(): void {
  free = records;
  nextConverted = converted;
  beginRound();
}

export function beginRound(): void {
  first = free;
  multiplied = free;
}

export function isEmptyRound(): bool {
  return first == free && freeLane == 0;
}

/** The name of the y of a point in lanes. */
function inLanes(x: usize, y: usize): usize {
  if (x == (y & ~1)) return y;
  const point = nextConverted;
  nextConverted += POINT;
  toTwin(point, x, y & ~1);
  return point | (y & 1);
}

/** A slot with the x of a point that is named. */
export function xInSlot(x: usize, y: usize): usize {
  if (x != (y & ~1)) return x;
  toSlot(SLOT_A, x);
  return SLOT_A;
}

/** And a slot with its y: odd if that is negated. */
export function yInSlot(x: usize, y: usize): usize {
  if (x != (y & ~1)) return y;
  toSlot(SLOT_B, x + LANE);
  return SLOT_B | (y & 1);
}

export function addPair(xa: usize, ya: usize, xb: usize, yb: usize): usize {
  const a = inLanes(xa, ya);
  let b = inLanes(xb, yb);
  if (haveEqualX(a & ~1, b & ~1)) {
    if (!haveEqualY(a, b)) return 0;
    b = a;
  }
  const record = free;
  const sum = record + DENOMINATORS + TWIN / ADDITION * freeLane;
  store<usize>(record + freeLane, a);
  store<usize>(record + freeLane, b, 4);
  freeLane ^= ADDITION;
  if (freeLane == 0) free += RECORD;
  return sum;
}

/**
 * @returns true if two points have the same x. The limbs of both are those of numbers within 2^255 and a bit, so if x
 * is the same the difference of these is k p, with k from -1 to 1, and that of the lowest limbs is -k F modulo 2^51.
 */
@inline
export function haveEqualX(a: usize, b: usize): bool {
  const difference = abs(load<f64>(a) - load<f64>(b));
  if (difference > F && difference < 2251799813685248 - F) return false;
  toSlot(SLOT_A, a);
  toSlot(SLOT_B, b);
  subtract(SLOT_A, SLOT_A, SLOT_B);
  return isZero(SLOT_A);
}

function haveEqualY(a: usize, b: usize): bool {
  toSlot(SLOT_A, (a & ~1) + LANE);
  toSlot(SLOT_B, (b & ~1) + LANE);
  if (((a ^ b) & 1) == 0) subtract(SLOT_A, SLOT_A, SLOT_B);
  else add(SLOT_A, SLOT_A, SLOT_B);
  return isZero(SLOT_A);
}

/** Of the pairs whose records are full. */
export function multiplyUp(): void {
  for (; multiplied < free; multiplied += RECORD) {
    const denominators = multiplied + DENOMINATORS;
    const a0 = load<usize>(multiplied), b0 = load<usize>(multiplied, 4);
    const a1 = load<usize>(multiplied, 8), b1 = load<usize>(multiplied, 12);
    firstsOf(X_A, a0 & ~1, a1 & ~1);
    firstsOf(X_B, b0 & ~1, b1 & ~1);
    subtractTwins(denominators, X_B, X_A);
    if (a0 == b0) doubleLane(denominators, a0);
    if (a1 == b1) doubleLane(denominators + LANE, a1);
    multiply(multiplied + PRODUCTS, productsBefore(multiplied), denominators);
  }
}

/** Writes 2 y of a point that is named. */
function doubleLane(lane: usize, y: usize): void {
  const factor: f64 = (y & 1) == 0 ? 2 : -2;
  for (let k: usize = 0; k < TWIN; k += 16) store<f64>(lane + k, factor * load<f64>((y & ~1) + LANE + k));
}

@inline
function productsBefore(record: usize): usize {
  return record == first ? ONE : record - RECORD + PRODUCTS;
}

export function invertRound(): void {
  if (freeLane != 0) {
    store<u64>(free + ADDITION, load<u64>(free));
    freeLane = 0;
    free += RECORD;
  }
  multiplyUp();
  open = free;
  const products = open - RECORD + PRODUCTS;
  toSlot(SLOT_A, products);
  toSlot(SLOT_B, products + LANE);
  multiplySlots(INVERTED, SLOT_A, SLOT_B);
  invertElement(INVERTED, INVERTED);
  multiplySlots(SLOT_B, SLOT_B, INVERTED);
  multiplySlots(SLOT_A, SLOT_A, INVERTED);
  toTwin(INVERSE, SLOT_B, SLOT_A);
}
const INVERTED = memory.data(48, 16);

/** Computes the sums of the last record that has none. @returns whether there is another one. */
export function completePair(): bool {
  const record = open - RECORD;
  open = record;
  multiply(OWN_INVERSE, INVERSE, productsBefore(record));
  multiply(INVERSE, INVERSE, record + DENOMINATORS);
  const a0 = load<usize>(record), b0 = load<usize>(record, 4);
  const a1 = load<usize>(record, 8), b1 = load<usize>(record, 12);
  firstsOf(X_A, a0 & ~1, a1 & ~1);
  secondsOf(Y_A, a0 & ~1, a1 & ~1);
  firstsOf(X_B, b0 & ~1, b1 & ~1);
  secondsOf(Y_B, b0 & ~1, b1 & ~1);
  negateLanes(Y_A, a0, a1);
  negateLanes(Y_B, b0, b1);
  subtractTwins(RISE, Y_B, Y_A);
  if (a0 == b0) tripleLane(RISE, X_A);
  if (a1 == b1) tripleLane(RISE + LANE, X_A + LANE);
  multiply(RISE, RISE, OWN_INVERSE);
  squareLess(X, RISE, X_A, X_B);
  subtractTwins(X_A, X_A, X);
  multiplyLess(Y, RISE, X_A, Y_A);
  firstsOf(record + DENOMINATORS, X, Y);
  secondsOf(record + DENOMINATORS + TWIN, X, Y);
  return record != first;
}

const TRIPLE = memory.data(80, 16);

/** Writes 3 x² of a lane. */
function tripleLane(lane: usize, x: usize): void {
  for (let k: usize = 0; k < TWIN; k += 16) {
    const limb = load<f64>(x + k);
    store<f64>(TRIPLE + k, 3 * limb);
    store<f64>(TRIPLE + k, limb, 8);
  }
  // The product of the lanes with each other.
  secondsOf(OTHERS, TRIPLE, TRIPLE);
  multiply(TRIPLE, TRIPLE, OTHERS);
  for (let k: usize = 0; k < TWIN; k += 16) store<f64>(lane + k, load<f64>(TRIPLE + k));
}
const OTHERS = memory.data(80, 16);
