/**
 * The table of an R of a batch: R and (1 - lambda) R, and their images under lambda and lambda². The fused kernel has
 * rTableFused.as in place of this.
 */
import { copy } from './element';
import { multiply, SLOT } from './field';
import { SUM_X, SUM_Y } from './pairs';
import { BETA } from './point';

/** An entry: x, beta x, beta² x, and y. */
export const R_ENTRY: usize = 4 * SLOT;
const Y: usize = 3 * SLOT;

/** The name of the x of lambda^power times the point (pairs.as). */
@inline
export function xOf(entry: usize, power: usize): usize {
  return entry + SLOT * power;
}

@inline
export function yOf(entry: usize, power: usize): usize {
  return entry + Y;
}

/** Makes an entry of a point. */
export function setEntry(entry: usize, x: usize, y: usize): void {
  copy(entry, x);
  copy(entry + Y, y);
  multiply(entry + SLOT, entry, BETA);
  multiply(entry + 2 * SLOT, entry + SLOT, BETA);
}

/** Makes an entry of the sum of a pair. */
export function setEntryToSum(entry: usize, pair: usize): void {
  setEntry(entry, pair + SUM_X, pair + SUM_Y);
}
