/**
 * Sums of multiples of points. A scalar k = k1 + k2 lambda is written in signed digits with few that are not zero:
 * every such digit is odd, below 2^(width - 1), and followed by at least width - 1 zeros. Each is a term: an entry of a
 * point's table (table.as), maybe negated, times a power of two. The sum of all terms is evaluated from the highest
 * power on.
 *
 * A term is kept as its position (the exponent), the address of its x, and the address of its y, whose lowest bit says
 * that y is negated: slots are aligned to 16 bytes. There are two sets of terms, for the check of one signature and for
 * a batch that is under way meanwhile.
 */
import { negate } from './element';
import { xInSlot, yInSlot } from './pairs';
import * as point from './point';
import * as parts from './split';
import { BASES, ENTRY, ENTRY_BETA_X, ENTRY_Y, SPAN } from './table';

/**
 * Digits of a scalar of 128 bits and the carry of the last one; and 64 doublings more than a digit of 64 bits needs.
 */
const POSITIONS = 132;
/**
 * 32 signatures with a short pair of scalars (33 terms), and two parts of a long one in digits of width 6 (22 each),
 * and those of the generator (2 times 13).
 */
const MOST_TERMS = 2700;
const TERM: usize = 12;
export const SORTED_TERM: usize = 8;
export const ALONE = memory.data(55072, 16);
export const BATCH = memory.data(55072, 16);
/**
 * First the counts and starts of all positions, the number of terms and the highest position; then the terms, as they
 * came, and sorted.
 */
const NUMBER: usize = 8 * POSITIONS;
const TOP: usize = NUMBER + 4;
const UNSORTED: usize = NUMBER + 16;
const SORTED: usize = UNSORTED + TERM * MOST_TERMS;

let set: usize = ALONE;
const NEGATED = memory.data(48, 16);

/** Chooses the set of terms that the other functions mean. */
export function useTerms(which: usize): void {
  set = which;
}

export function beginTerms(which: usize): void {
  set = which;
  memory.fill(set, 0, UNSORTED);
}

/**
 * Adds ±scalar times the point of the table. `nextBase`, if not 0, is the distance from its table at one base to that
 * at the next.
 */
export function addScalarTerms(scalar: usize, isNegative: bool, table: usize, nextBase: usize, width: i32): void {
  parts.split(scalar);
  addTerms(parts.low1, parts.high1, isNegative != parts.isNegative1, table, nextBase, 0, width);
  addTerms(parts.low2, parts.high2, isNegative != parts.isNegative2, table, nextBase, ENTRY_BETA_X, width);
}

/** Adds ±(low + 2^64 high) times the point, or lambda times that if `offsetOfX` is that of beta x. */
function addTerms(
  low: u64, high: u64, isNegative: bool, table: usize, nextBase: usize, offsetOfX: usize, width: i32,
): void {
  const mask = (<u64>1 << width) - 1;
  const half = <u64>1 << (width - 1);
  let l = low;
  let h = high;
  let position = 0;
  while ((l | h) != 0) {
    if (l == 0) {
      l = h;
      h = 0;
      position += 64;
    }
    const zeros = ctz(l);
    if (zeros > 0) {
      l = (l >> zeros) | (h << (64 - zeros));
      h >>= zeros;
      position += <i32>zeros;
    }
    // The number left is odd: subtracting the digit makes its last `width` bits zero.
    let digit = l & mask;
    const isBelow = digit > half;
    l -= digit;
    if (isBelow) {
      digit = (half << 1) - digit;
      l += half << 1;
      if (l == 0) h++;
    }
    // The carry of the last digit is at the end of the last base.
    const base = nextBase == 0 ? 0 : min(position / SPAN, BASES - 1);
    const entry = table + <usize>base * nextBase + <usize>(digit >> 1) * ENTRY;
    const sign: usize = isBelow != isNegative ? 1 : 0;
    addTerm(position - SPAN * base, entry + offsetOfX, (entry + ENTRY_Y) | sign);
  }
}

/** Adds 2^position times the point of these addresses. */
export function addTerm(position: i32, x: usize, y: usize): void {
  const number = load<usize>(set + NUMBER);
  store<usize>(set + NUMBER, number + 1);
  const at = set + UNSORTED + TERM * number;
  store<i32>(at, position);
  store<usize>(at, x, 4);
  store<usize>(at, y, 8);
  const counter = set + 4 * position;
  store<u32>(counter, load<u32>(counter) + 1);
}

export function countAt(position: i32): u32 {
  return load<u32>(set + 4 * position);
}

export function setCountAt(position: i32, value: u32): void {
  store<u32>(set + 4 * position, value);
}

/** The address of the first sorted term of a position; each has x and y, eight bytes. */
export function termsAt(position: i32): usize {
  return set + SORTED + SORTED_TERM * load<u32>(set + 4 * (POSITIONS + position));
}

/** The highest position that had a term when they were sorted. */
export function top(): i32 {
  return load<i32>(set + TOP);
}

/** Pairs that a round of additions would have (pairs.as). */
export function countPairs(): u32 {
  let pairs: u32 = 0;
  for (let position = 0; position <= top(); position++) pairs += countAt(position) / 2;
  return pairs;
}

/** Sorts the terms by position: afterwards each position has its count and its start. */
export function sortTerms(): void {
  let start: u32 = 0;
  for (let position = 0; position < POSITIONS; position++) {
    store<u32>(set + 4 * (POSITIONS + position), start);
    start += countAt(position);
    if (countAt(position) > 0) store<i32>(set + TOP, position);
    setCountAt(position, 0);
  }
  const number = load<usize>(set + NUMBER);
  for (let i: usize = 0; i < number; i++) {
    const from = set + UNSORTED + TERM * i;
    const position = load<i32>(from);
    const to = termsAt(position) + SORTED_TERM * countAt(position);
    store<u64>(to, load<u64>(from, 4));
    setCountAt(position, countAt(position) + 1);
  }
}

/** Sets the accumulator to the sum of all terms. */
export function evaluate(): void {
  point.setInfinity();
  for (let position = top(); position >= 0; position--) descend(position);
}

/** Doubles the accumulator and adds the terms of a position. */
export function descend(position: i32): void {
  point.double();
  const from = termsAt(position);
  const end = from + SORTED_TERM * countAt(position);
  for (let at = from; at < end; at += SORTED_TERM) {
    const name = load<usize>(at, 4);
    const x = xInSlot(load<usize>(at), name);
    const y = yInSlot(load<usize>(at), name);
    if ((y & 1) == 0) {
      point.addPoint(x, y);
    } else {
      negate(NEGATED, y & ~1);
      point.addPoint(x, NEGATED);
    }
  }
}
