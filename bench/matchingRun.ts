/** The shape in which the matching bench drives its subjects. */
import type { Totals } from './workload.ts';

/** One pass of a subject through a stream. */
export type Run = {
  readonly count: number;
  step(index: number): void;
  endBatch(): void;
  /** Asserts that the run ended with the known totals. */
  check(totals: Totals): void;
};
