/** Spans of time by which statistics are kept. The name of a bucket is its start, a multiple of its span. */
export const MINUTE_MS = 60_000;
export const FIVE_MINUTES_MS = 300_000;
export const FIFTEEN_MINUTES_MS = 900_000;
export const HOUR_MS = 3_600_000;
export const FOUR_HOURS_MS = 14_400_000;
export const DAY_MS = 86_400_000;

export function bucketOf(timeMs: number, spanMs: number): number {
  return timeMs - (timeMs % spanMs);
}

/**
 * Rows by the hour are kept up to this age, counted from the newest change: all of them up to HOURS_KEPT_MS, the first
 * of each day up to DAYS_KEPT_MS. Windows of a week are read by the hour, windows of a year by the day; one day more is
 * kept than is read.
 */
export const HOURS_KEPT_MS = 8 * DAY_MS;
export const DAYS_KEPT_MS = 366 * DAY_MS;
