/** Square roots of several elements, for the lifts of a batch. The fused kernel has rootsFused.as in place of this. */
import { squareRoot } from './element';

/** As many are taken at once. */
export const MOST_ROOTS: usize = 1;
/** The estimated cost of a lift (equation.as). */
export const COST_OF_LIFT = 245;

/** Writes the square root of each of `count` slots, from `from` on, to those from `out` on. */
export function squareRoots(out: usize, from: usize, count: usize): void {
  squareRoot(out, from);
}
