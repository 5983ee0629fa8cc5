/** The fused kernel needs a processor with fused multiplication and addition. Tests ask it for its arithmetic. */
export { toSlot, toTwin } from './lanePoint';
export {
  multiply as multiplyLanes, multiplyLess as multiplyLanesLess, square as squareLanes, squareLess as squareLanesLess,
} from './lanes';
export { haveEqualX } from './pairs';

/** 1 + 2^-30, and -(1 + 2^-29), which is its square rounded: the fused sum is 2^-60. */
const FACTOR = memory.data<f64>([1.000000000931322574615478515625], 16);
const ROUNDED = memory.data<f64>([-1.00000000186264514923095703125], 16);

/**
 * @returns true if multiplication and addition are fused in both lanes. It is the engine's choice, but the same one for
 * all code of a process.
 */
export function canRun(): bool {
  const factor = v128.load64_splat(FACTOR);
  const rest = f64x2.relaxed_madd(factor, factor, v128.load64_splat(ROUNDED));
  return f64x2.extract_lane(rest, 0) != 0 && f64x2.extract_lane(rest, 1) != 0;
}
