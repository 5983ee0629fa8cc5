/** Spans of time that statistics are kept by. A bucket is named by its start, a multiple of its span. */
export const MINUTE_MS = 60_000;
export const FIVE_MINUTES_MS = 300_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export function bucketOf(timeMs: number, spanMs: number): number {
  return timeMs - (timeMs % spanMs);
}
