/**
 * Counts of a shard's signature checks, for the metrics.
 * Owner: the thread of the shard.
 */
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';

type CountName = Parameters<ShardMeters['add']>[0];

export class CheckCounts {
  /**
   * Signatures that the shard decided alone, signatures decided in a batch, and signatures decided by verifier threads.
   */
  alone = 0;
  together = 0;
  byVerifiers = 0;
  /** Batches that decided nothing because one of their signatures was wrong. */
  undecided = 0;
  /** Wrong signatures after which an account was kept out of batches. */
  keptOut = 0;
  readonly #reported = new Map<CountName, number>();

  /** Adds everything counted since the last report. */
  report(meters: ShardMeters): void {
    this.#report(meters, 'checksAlone', this.alone);
    this.#report(meters, 'checksTogether', this.together);
    this.#report(meters, 'checksByVerifiers', this.byVerifiers);
    this.#report(meters, 'undecidedBatches', this.undecided);
    this.#report(meters, 'keptOutOfBatches', this.keptOut);
  }

  #report(meters: ShardMeters, name: CountName, count: number): void {
    meters.add(name, count - (this.#reported.get(name) ?? 0));
    this.#reported.set(name, count);
  }
}
