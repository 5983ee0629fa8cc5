/** Spans of time that statistics are kept by. A bucket is named by its start, a multiple of its span. */
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
 * Rows by the hour of what changes are kept for so long before the newest of them: all of them, and the first of each
 * day. Windows of a week are read by the hour, those of a year by the day; a day more is kept than is read.
 */
export const HOURS_KEPT_MS = 8 * DAY_MS;
export const DAYS_KEPT_MS = 366 * DAY_MS;
