/**
 * Measures the lag of the read model by shard: how long ago the oldest record was committed that it does not show yet.
 * The journals' own times would not do: after a quiet hour the record before is an hour old.
 * Owner: the gateway thread, which reads the progress at every tick. A lag is exact to the time between two ticks, a
 * long lag to a twentieth of itself.
 *
 * Invariant:
 *   LAG-1  The samples of a shard are in the order of their records, and all of them are after the projected records;
 *          there are at most MOST_SAMPLES.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { Progress } from '../../shared/wire/progress.ts';

const MOST_SAMPLES = 64;

/** Records up to `committed` were there at `atMs`. */
type Sample = { readonly committed: number; readonly atMs: number };

export class ProjectorLag {
  readonly #progress: Pick<Progress, 'shards' | 'committed' | 'projected'>;
  readonly #clock: Clock;
  readonly #samples: Sample[][];
  /** By shard: the least time between two samples. */
  readonly #spacingMs: number[];

  constructor(progress: Pick<Progress, 'shards' | 'committed' | 'projected'>, clock: Clock) {
    this.#progress = progress;
    this.#clock = clock;
    this.#samples = Array.from({ length: progress.shards }, () => []);
    this.#spacingMs = this.#samples.map(() => 0);
  }

  tick(): void {
    for (const [shard, samples] of this.#samples.entries()) {
      this.#forget(shard);
      const committed = this.#progress.committed(shard);
      const last = samples.at(-1)?.committed ?? this.#progress.projected(shard);
      if (committed <= last) continue;
      const nowMs = this.#clock.nowMs();
      if (samples.length === 0) this.#spacingMs[shard] = 0;
      else if (nowMs - samples.at(-1)!.atMs < this.#spacingMs[shard]) continue;
      samples.push({ committed, atMs: nowMs });
      if (samples.length <= MOST_SAMPLES) continue;
      // Removes every second sample, but not the oldest; later samples are as far apart.
      samples.splice(0, samples.length, ...samples.filter((_, index) => index % 2 === 0));
      this.#spacingMs[shard] = (nowMs - samples[0].atMs) / (samples.length - 1);
    }
  }

  milliseconds(shard: number): number {
    this.#forget(shard);
    const [oldest] = this.#samples[shard];
    return oldest === undefined ? 0 : Math.max(this.#clock.nowMs() - oldest.atMs, 0);
  }

  #forget(shard: number): void {
    const samples = this.#samples[shard];
    const projected = this.#progress.projected(shard);
    const first = samples.findIndex(({ committed }) => committed > projected);
    samples.splice(0, first < 0 ? samples.length : first);
  }
}
