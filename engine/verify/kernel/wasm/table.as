/**
 * Tables of a point's odd multiples P, 3 P, 5 P …, by which sums (terms.as) are shortened. An entry has three elements:
 * x and y of the multiple, and beta x, the x of lambda times it (same y).
 */
import { copy } from './element';
import { multiply, SLOT, square } from './field';
import * as point from './point';

export const ENTRY: usize = 3 * SLOT;
export const ENTRY_Y: usize = SLOT;
export const ENTRY_BETA_X: usize = 2 * SLOT;
/** For each multiple X, Y, Z, and the product of all Z up to it. */
const WORK: usize = 4 * SLOT;
const PRODUCT: usize = 3 * SLOT;
const multiples = memory.data(49152, 16);

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

/** Writes 2^64 times the affine point. */
export function raisePoint(outX: usize, outY: usize, x: usize, y: usize): void {
  point.setPoint(x, y);
  for (let i = 0; i < 64; i++) point.double();
  point.toAffine(outX, outY);
}

const UPPER_X = memory.data(48, 16);
const UPPER_Y = memory.data(48, 16);

/** The tables of the generator, at 1 and at 2^64: odd multiples up to 511 G. */
export const GENERATOR_WIDTH = 10;
const GENERATOR_ENTRIES = 256;
export const GENERATOR = memory.data(36864, 16);
export const UPPER_GENERATOR = memory.data(36864, 16);

export function makeGeneratorTables(): void {
  makeTable(GENERATOR, GENERATOR_ENTRIES, point.GENERATOR_X, point.GENERATOR_Y);
  raisePoint(UPPER_X, UPPER_Y, point.GENERATOR_X, point.GENERATOR_Y);
  makeTable(UPPER_GENERATOR, GENERATOR_ENTRIES, UPPER_X, UPPER_Y);
}
