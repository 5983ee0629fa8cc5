/**
 * Measures how fast the disk fills, by the straight line through the free bytes of the last six hours, as the alert
 * DiskFilling draws it (`predict_linear`).
 * Owner: the gateway thread.
 */

const SAMPLE_EVERY_MS = 60_000;
const KEPT_MS = 6 * 3_600_000;
/** A snapshot or a backup within a shorter time would look like growth for ever. */
const LEAST_SPAN_MS = 30 * 60_000;
const DAY_MS = 86_400_000;

type Sample = { readonly atMs: number; readonly freeBytes: number };

export class DiskTrend {
  #samples: Sample[] = [];

  /** May be called at any pace: one value a minute is kept. */
  note(freeBytes: number, atMs: number): void {
    const newest = this.#samples.at(-1);
    if (newest !== undefined && atMs - newest.atMs < SAMPLE_EVERY_MS) return;
    this.#samples = [...this.#samples.filter((each) => atMs - each.atMs <= KEPT_MS), { atMs, freeBytes }];
  }

  /** Bytes that a day takes, less than 0 if the free space grows; null until half an hour is known. */
  growthPerDay(): number | null {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs - first.atMs < LEAST_SPAN_MS) return null;
    const count = this.#samples.length;
    const middleMs = sum(this.#samples, ({ atMs }) => atMs - first.atMs) / count;
    const middleBytes = sum(this.#samples, ({ freeBytes }) => freeBytes) / count;
    const away = ({ atMs }: Sample): number => atMs - first.atMs - middleMs;
    const slope =
      sum(this.#samples, (each) => away(each) * (each.freeBytes - middleBytes)) /
      sum(this.#samples, (each) => away(each) ** 2);
    return Math.round(0 - slope * DAY_MS);
  }
}

function sum(samples: readonly Sample[], read: (sample: Sample) => number): number {
  return samples.reduce((total, each) => total + read(each), 0);
}
