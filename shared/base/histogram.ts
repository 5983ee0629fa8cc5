/**
 * A histogram for hot paths: an observation is a few comparisons and two additions to cells that exist already, which
 * may be shared memory. Values derived from the counts are computed when they are read.
 *
 * Invariants:
 *   HISTOGRAM-1  One thread writes the cells; any may read them. A cell is 64 bits wide and is written atomically on
 *                the machines on which Node runs; a reader may see a count whose sum is one observation older.
 *   HISTOGRAM-2  Counts and sum only grow: a negative time, because a clock was set back, counts as zero.
 */
import { assert } from './assert.ts';

type Bounds = readonly number[];
type CountCells = Float64Array<ArrayBufferLike>;

export class Histogram {
  /** Upper bounds of the buckets, ascending. A value that equals its bound is in the bucket. */
  readonly bounds: Float64Array;
  /** Counts by bucket, then the count above all bounds, then the sum of all values. */
  readonly #cells: CountCells;

  static cellsFor(bounds: Bounds): number {
    return bounds.length + 2;
  }

  constructor(bounds: Bounds, cells: CountCells = new Float64Array(Histogram.cellsFor(bounds))) {
    assert(cells.length === Histogram.cellsFor(bounds), 'histogram: it has a cell for each bucket, and two');
    this.bounds = Float64Array.from(bounds);
    this.#cells = cells;
  }

  observe(value: number): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]) bucket++;
    this.#cells[bucket]++;
    if (value > 0) this.#cells[bounds.length + 1] += value;
  }

  /** All observations, as a copy for a message to another thread. */
  copy(): Float64Array {
    return Float64Array.from(this.#cells);
  }

  /** @param cells a copy of the cells of a histogram with the same bounds */
  add(cells: Float64Array): void {
    assert(cells.length === this.#cells.length, 'histogram: bounds are the same');
    for (const [index, value] of cells.entries()) this.#cells[index] += value;
  }

  /** Counts by bucket; the last bucket is above all bounds. */
  get counts(): CountCells {
    return this.#cells.subarray(0, this.bounds.length + 1);
  }

  get sum(): number {
    return this.#cells[this.bounds.length + 1];
  }

  get count(): number {
    return this.counts.reduce((total, count) => total + count, 0);
  }
}

/** For every duration, from that of a read to one that a person notices, in seconds. */
export const DURATION_BOUNDS_SEC: Bounds = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
