/** roots.as in two lanes (lanes.as), for four elements at a time: two products wait less for each other than one. */
import { squareRoot } from './element';
import { SLOT } from './field';
import { LANE, toSlot, toTwin } from './lanePoint';
import { multiply, square, TWIN } from './lanes';

export const MOST_ROOTS: usize = 4;
/** The estimated cost of one of four lifts (equation.as): a step has time for two groups of them. */
export const COST_OF_LIFT = 185;
const LEAST: usize = 3;

/** Two twins. */
const GROUP: usize = 2 * TWIN;
const POWERS = memory.data(1280, 16);

function squareTimes(out: usize, a: usize, times: i32): void {
  let from = a;
  do {
    square(out, from);
    square(out + TWIN, from + TWIN);
    from = out;
  } while (--times > 0);
}

function raise(out: usize, a: usize, times: i32, b: usize): void {
  squareTimes(out, a, times);
  multiply(out, out, b);
  multiply(out + TWIN, out + TWIN, b + TWIN);
}

export function squareRoots(out: usize, from: usize, count: usize): void {
  if (count < LEAST) {
    for (let i: usize = 0; i < count; i++) squareRoot(out + SLOT * i, from + SLOT * i);
    return;
  }
  const x1 = POWERS;
  const x2 = POWERS + GROUP;
  const x3 = POWERS + 2 * GROUP;
  const x11 = POWERS + 3 * GROUP;
  const x22 = POWERS + 4 * GROUP;
  const x44 = POWERS + 5 * GROUP;
  const x88 = POWERS + 6 * GROUP;
  const power = POWERS + 7 * GROUP;
  toTwin(x1, from, from + SLOT);
  toTwin(x1 + TWIN, from + 2 * SLOT, from + 3 * SLOT);
  raise(x2, x1, 1, x1);
  raise(x3, x2, 1, x1);
  raise(power, x3, 3, x3);
  raise(power, power, 3, x3);
  raise(x11, power, 2, x2);
  raise(x22, x11, 11, x11);
  raise(x44, x22, 22, x22);
  raise(x88, x44, 44, x44);
  raise(power, x88, 88, x88);
  raise(power, power, 44, x44);
  raise(power, power, 3, x3);
  raise(power, power, 23, x22);
  raise(power, power, 6, x2);
  squareTimes(power, power, 2);
  for (let i: usize = 0; i < count; i++) toSlot(out + SLOT * i, laneOf(power, i));
}

@inline
function laneOf(group: usize, index: usize): usize {
  return group + TWIN * (index >> 1) + LANE * (index & 1);
}
