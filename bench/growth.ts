/**
 * Decides whether a quantity of an exchange grows with what has been: a line through its values at the end of each
 * month, less what it may keep for ever of that time's orders, trades, accounts and markets.
 */

/** Counts of what there has been so far. */
export type Been = {
  readonly orders: number;
  readonly trades: number;
  readonly accounts: number;
  readonly markets: number;
};

/** The units of a quantity that are kept for ever for each of these. */
export type Kept = Readonly<Partial<Record<keyof Been, number>>>;

type Verdict = {
  /** Units for each order, beyond what may be kept. */
  readonly perOrder: number;
  readonly isGrowing: boolean;
};

/** Of the months, the first ones fill what has a bound: caches, files that are kept a number of days. */
const FILLING_SHARE = 1 / 3;
/** Three values at least, because a line through two fits everything. */
const LEAST_MONTHS = 3;
/** A slope counts when it exceeds its own standard error this many times. */
const ERRORS = 3;

/**
 * @param values at the end of each month
 * @param been at the same moments
 * @param slack a growth by no more than this over all months does not count
 */
export function judge(values: readonly number[], been: readonly Been[], kept: Kept, slack: number): Verdict {
  const first = Math.min(Math.ceil(values.length * FILLING_SHARE), Math.max(values.length - LEAST_MONTHS, 0));
  const beyond = values.map((value, month) => value - allowed(been[month], kept)).slice(first);
  const orders = been.slice(first).map((each) => each.orders);
  if (beyond.length < LEAST_MONTHS) return { perOrder: 0, isGrowing: false };
  const { slope, error } = fit(orders, beyond);
  const grown = slope * (orders.at(-1)! - orders[0]);
  return { perOrder: slope, isGrowing: grown > slack && slope > ERRORS * error };
}

function allowed(been: Been, kept: Kept): number {
  let sum = 0;
  for (const of of Object.keys(kept) as (keyof Been)[]) sum += been[of] * (kept[of] ?? 0);
  return sum;
}

/** Least squares, and the standard error of the slope. */
function fit(xs: readonly number[], ys: readonly number[]): { slope: number; error: number } {
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const spread = sumOf(xs, (x) => (x - meanX) ** 2);
  if (spread === 0) return { slope: 0, error: 0 };
  const slope = sumOf(xs, (x, index) => (x - meanX) * (ys[index] - meanY)) / spread;
  const rest = sumOf(xs, (x, index) => (ys[index] - meanY - slope * (x - meanX)) ** 2);
  return { slope, error: Math.sqrt(rest / (xs.length - 2) / spread) };
}

function mean(values: readonly number[]): number {
  return sumOf(values, (value) => value) / values.length;
}

function sumOf(values: readonly number[], of: (value: number, index: number) => number): number {
  return values.reduce((sum, value, index) => sum + of(value, index), 0);
}
