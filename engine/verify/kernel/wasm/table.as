/**
 * Tables of a point's odd multiples P, 3 P, 5 P …, by which sums (terms.as) are shortened. An entry has three elements:
 * x and y of the multiple, and beta x, the x of lambda times it (same y).
 *
 * Points that stay have a table at each of BASES bases, one after the other: the multiples of 2^(SPAN k) P are in table
 * k. A sum of their multiples then needs SPAN doublings, and not BASES times as many.
 */
import { copy } from './element';
import { multiply, SLOT, square } from './field';
import * as point from './point';

export const ENTRY: usize = 3 * SLOT;
export const ENTRY_Y: usize = SLOT;
export const ENTRY_BETA_X: usize = 2 * SLOT;
export const BASES = 4;
export const SPAN = 32;
/** For each multiple X, Y, Z, and the product of all Z up to it. */
const WORK: usize = 4 * SLOT;
const PRODUCT: usize = 3 * SLOT;
const multiples = memory.data(98304, 16);

const DOUBLE_X = memory.data(48, 16);
const DOUBLE_Y = memory.data(48, 16);
const DOUBLE_Z = memory.data(48, 16);
const INVERSE = memory.data(48, 16);

/**
 * Makes a table of the affine point (x, y). With Z that of 2 P, (X, Y) -> (X / Z², Y / Z³) maps y² = x³ + 7 Z^6 to the
 * curve, and adding does not depend on the 7: on that other curve 2 P is affine, and so is P. Its results' Z are too
 * small by the factor Z.
 */
export function makeTable(table: usize, entries: i32, x: usize, y: usize): void {
  point.setPoint(x, y);
  point.double();
  copy(DOUBLE_X, point.X);
  copy(DOUBLE_Y, point.Y);
  copy(DOUBLE_Z, point.Z);
  square(INVERSE, DOUBLE_Z);
  multiply(point.X, x, INVERSE);
  multiply(INVERSE, INVERSE, DOUBLE_Z);
  multiply(point.Y, y, INVERSE);
  point.setPoint(point.X, point.Y);
  let at = multiples;
  for (let i = 0; i < entries; i++) {
    // Neither is infinity ever, nor is 2 P added to ±2 P: the order of P is prime and larger than these multiples.
    if (i > 0) point.addPoint(DOUBLE_X, DOUBLE_Y);
    copy(at, point.X);
    copy(at + SLOT, point.Y);
    multiply(at + 2 * SLOT, point.Z, DOUBLE_Z);
    if (i == 0) copy(at + PRODUCT, at + 2 * SLOT);
    else multiply(at + PRODUCT, at - WORK + PRODUCT, at + 2 * SLOT);
    at += WORK;
  }
  normaliseMultiples(table, entries);
}

/** Makes all multiples affine with one inversion: 1 / Z_i = (Z_1 … Z_i-1) / (Z_1 … Z_i). */
function normaliseMultiples(table: usize, entries: i32): void {
  point.invertElement(INVERSE, multiples + WORK * (entries - 1) + PRODUCT);
  for (let i = entries - 1; i >= 0; i--) {
    const from = multiples + WORK * i;
    const entry = table + ENTRY * i;
    if (i == 0) copy(DOUBLE_Z, INVERSE);
    else multiply(DOUBLE_Z, INVERSE, from - WORK + PRODUCT);
    multiply(INVERSE, INVERSE, from + 2 * SLOT);
    point.affineBy(entry, entry + ENTRY_Y, from, from + SLOT, DOUBLE_Z);
    multiply(entry + ENTRY_BETA_X, entry, point.BETA);
  }
}

/** Writes 2^SPAN times the affine point. */
function raisePoint(outX: usize, outY: usize, x: usize, y: usize): void {
  point.setPoint(x, y);
  for (let i = 0; i < SPAN; i++) point.double();
  point.toAffine(outX, outY);
}

const BASE_X = memory.data(48, 16);
const BASE_Y = memory.data(48, 16);

/** Makes the table of the next base, after that at `table`. */
export function makeNextTable(table: usize, entries: i32): void {
  raisePoint(BASE_X, BASE_Y, table, table + ENTRY_Y);
  makeTable(table + ENTRY * entries, entries, BASE_X, BASE_Y);
}

/** The tables of the generator: odd multiples up to 1,023 of each base. */
export const GENERATOR_WIDTH = 11;
const GENERATOR_ENTRIES = 512;
export const NEXT_GENERATOR: usize = ENTRY * GENERATOR_ENTRIES;
export const GENERATOR = memory.data(294912, 16);

export function makeGeneratorTables(): void {
  makeTable(GENERATOR, GENERATOR_ENTRIES, point.GENERATOR_X, point.GENERATOR_Y);
  for (let base = 1; base < BASES; base++) {
    makeNextTable(GENERATOR + NEXT_GENERATOR * <usize>(base - 1), GENERATOR_ENTRIES);
  }
}
