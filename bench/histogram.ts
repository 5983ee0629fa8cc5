/**
 * Counts durations in nanoseconds in buckets, like an HDR histogram: a power of two is divided into 1024 equal parts,
 * so a value read back is at most 0.1 % too low, which is three significant digits. Recording allocates nothing and
 * costs a few nanoseconds, whatever the number of samples.
 */
const PART_BITS = 10;
const PARTS = 1 << PART_BITS;
/** Durations up to 2^40 ns, 18 minutes. */
const POWERS = 40 - PART_BITS;

/** Points of a curve for each halving of the share that lies above. */
const POINTS_PER_HALVING = 5;

/** A share of the samples (0 … 1) and the duration in microseconds that it does not exceed. */
export type CurvePoint = readonly [share: number, us: number];

export class Histogram {
  count = 0;
  maxNs = 0;
  /** Row 0 holds 0 … 1023 ns exactly; row r the values from 1024 * 2^(r-1) on, 2^(r-1) ns a bucket. */
  readonly #counts = new Float64Array((POWERS + 1) * PARTS);

  record(ns: number): void {
    const value = Math.max(0, Math.round(ns));
    this.#counts[bucketOf(value)]++;
    this.count++;
    if (value > this.maxNs) this.maxNs = value;
  }

  add(other: Histogram): void {
    for (const [bucket, count] of other.#counts.entries()) this.#counts[bucket] += count;
    this.count += other.count;
    this.maxNs = Math.max(this.maxNs, other.maxNs);
  }

  /** The duration that a share (0 … 1) of the samples does not exceed. */
  quantileNs(share: number): number {
    const wanted = Math.max(1, Math.ceil(share * this.count));
    let seen = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      seen += this.#counts[bucket];
      if (seen >= wanted) return lowestOf(bucket);
    }
    return this.maxNs;
  }

  quantileUs(share: number): number {
    return this.quantileNs(share) / 1000;
  }

  /**
   * Returns the whole distribution, with points that get denser towards the slowest sample, as far as there are
   * samples: with a thousand samples the last point before the maximum is the 99.9th percentile.
   */
  curve(): CurvePoint[] {
    if (this.count === 0) return [];
    const points: CurvePoint[] = [];
    for (let step = 0; ; step++) {
      const above = 2 ** (-step / POINTS_PER_HALVING);
      if (above * this.count < 1) break;
      points.push([1 - above, this.quantileUs(1 - above)]);
    }
    points.push([1 - 1 / (2 * this.count), this.maxNs / 1000]);
    return points;
  }
}

function bucketOf(value: number): number {
  const row = value < PARTS ? 0 : Math.min(POWERS, Math.floor(Math.log2(value)) - PART_BITS + 1);
  return row === 0 ? value : row * PARTS + Math.min(PARTS - 1, Math.floor(value / 2 ** (row - 1)) - PARTS);
}

function lowestOf(bucket: number): number {
  const row = Math.floor(bucket / PARTS);
  const part = bucket % PARTS;
  return row === 0 ? part : (PARTS + part) * 2 ** (row - 1);
}
