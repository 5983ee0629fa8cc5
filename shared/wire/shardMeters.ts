/**
 * The measurements that a shard makes of itself, in memory that the gateway reads for its metrics. The cells outlive a
 * thread of the shard: its successor continues the counts. Owner: the thread of the shard writes its part; the gateway
 * reads.
 *
 *   buffer   the part of shard 0 | the part of shard 1 | …
 *   part     a histogram for each of HISTOGRAMS, a 64-bit cell for each of COUNTS, and one for each of MEMORY_KINDS
 */

import { assert } from '../base/assert.ts';
import { DURATION_BOUNDS_SEC, Histogram } from '../base/histogram.ts';
import { recordOf } from '../base/namesOf.ts';
import { MEMORY_KINDS, type ThreadMemory } from '../base/threadMemory.ts';

const BATCH_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

const HISTOGRAMS = {
  /** The time from the moment the gateway wrote a command until it runs, exact to the millisecond. */
  queueSec: DURATION_BOUNDS_SEC,
  /** The number of commands in a committed batch. */
  batchCommands: BATCH_BOUNDS,
  /** The time of running the commands of such a batch, and of waiting for more of them. */
  runSec: DURATION_BOUNDS_SEC,
  /** The time of making the batch durable. */
  commitSec: DURATION_BOUNDS_SEC,
  /** The time of passing its events to the gateway. */
  publishSec: DURATION_BOUNDS_SEC,
  /** The number of signatures that were checked together. */
  batchSignatures: BATCH_BOUNDS,
} as const;

const COUNTS = [
  /**
   * Signatures that this thread decided alone, signatures decided in batches, and signatures decided by verifier
   * threads.
   */
  'checksAlone',
  'checksTogether',
  'checksByVerifiers',
  /** Batches that decided nothing, because one of their signatures was wrong. */
  'undecidedBatches',
  /** Wrong signatures after which an account was kept out of batches. */
  'keptOutOfBatches',
  /** The number of orders that the shard has ever accepted: a state, which is set. */
  'ordersEver',
] as const;

type HistogramName = keyof typeof HISTOGRAMS;
type CountName = (typeof COUNTS)[number];

const BYTES_PER_CELL = 8;
const HISTOGRAM_CELLS = Object.values(HISTOGRAMS).reduce((sum, bounds) => sum + Histogram.cellsFor(bounds), 0);
const PART_BYTES = (HISTOGRAM_CELLS + COUNTS.length + MEMORY_KINDS.length) * BYTES_PER_CELL;

export function createShardMeters(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(PART_BYTES * shards);
}

export class ShardMeters {
  readonly histograms: Readonly<Record<HistogramName, Histogram>>;
  readonly #counts: Float64Array;
  readonly #memory: Float64Array;

  constructor(buffer: SharedArrayBuffer, shard: number) {
    const start = shard * PART_BYTES;
    assert(start + PART_BYTES <= buffer.byteLength, 'shard meters: the shard has a part of the buffer');
    let at = start;
    const entries = Object.entries(HISTOGRAMS).map(([name, bounds]) => {
      const cells = new Float64Array(buffer, at, Histogram.cellsFor(bounds));
      at += cells.byteLength;
      return [name, new Histogram(bounds, cells)];
    });
    this.histograms = Object.fromEntries(entries);
    this.#counts = new Float64Array(buffer, at, COUNTS.length);
    this.#memory = new Float64Array(buffer, at + this.#counts.byteLength, MEMORY_KINDS.length);
  }

  count(name: CountName): number {
    return this.#counts[COUNTS.indexOf(name)];
  }

  /** The memory of the checkpointer, which the shard's thread starts; null before. */
  get checkpointerMemory(): ThreadMemory | null {
    if (this.#memory[0] === 0) return null;
    return recordOf(MEMORY_KINDS, (_, index) => this.#memory[index]);
  }

  set checkpointerMemory(memory: ThreadMemory | null) {
    for (const [index, kind] of MEMORY_KINDS.entries()) this.#memory[index] = memory?.[kind] ?? 0;
  }

  set(name: CountName, count: number): void {
    this.#counts[COUNTS.indexOf(name)] = count;
  }

  add(name: CountName, count: number): void {
    this.#counts[COUNTS.indexOf(name)] += count;
  }
}
