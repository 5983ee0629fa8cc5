/** rTable.as in two lanes (lanes.as), whose points are in lanes from the lift on. */
import { copyTwin, POINT, toTwin } from './lanePoint';
import { multiply, TWIN } from './lanes';

/** An entry: the point and both images. */
export const R_ENTRY: usize = 3 * POINT;

/** beta and beta² = -1 - beta. */
const BETAS = memory.data<f64>([
  -925701938446089, 925699790961952, -192211184952300, 192211184952300, 114803724640403, -114803724640403,
  497097787959211, -497097787959211, 1081143417580512, 1170656396104736,
], 16);
const X_TWICE = memory.data(80, 16);
const IMAGES = memory.data(80, 16);

@inline
export function xOf(entry: usize, power: usize): usize {
  return entry + POINT * power;
}

@inline
export function yOf(entry: usize, power: usize): usize {
  return entry + POINT * power;
}

export function setEntry(entry: usize, x: usize, y: usize): void {
  toTwin(entry, x, y);
  addImages(entry);
}

export function setEntryToSum(entry: usize, pair: usize): void {
  copyTwin(entry, pair);
  addImages(entry);
}

/** beta x and beta² x are one product. */
function addImages(entry: usize): void {
  for (let k: usize = 0; k < TWIN; k += 16) v128.store(X_TWICE + k, v128.load64_splat(entry + k));
  multiply(IMAGES, X_TWICE, BETAS);
  for (let k: usize = 0; k < TWIN; k += 16) {
    const point = v128.load(entry + k);
    const images = v128.load(IMAGES + k);
    v128.store(entry + POINT + k, v128.shuffle<u64>(images, point, 0, 3));
    v128.store(entry + 2 * POINT + k, v128.shuffle<u64>(images, point, 1, 3));
  }
}
