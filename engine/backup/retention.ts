/**
 * Decides which points of a backup are kept: all of the last day, and the newest of each of the last days, weeks and
 * months that have a point. Days are those of UTC, weeks begin on Monday.
 */

type Kept = { readonly days: number; readonly weeks: number; readonly months: number };

const KEPT: Kept = { days: 7, weeks: 4, months: 12 };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 1970-01-01 was a Thursday. */
const MONDAY_OFFSET_DAYS = 3;

type Timed = { readonly name: string; readonly takenMs: number };

/** Returns the names of the points to remove. The newest point always stays. */
export function outdated(points: readonly Timed[], nowMs: number, { days, weeks, months }: Kept = KEPT): string[] {
  const newestFirst = points.toSorted((a, b) => b.takenMs - a.takenMs);
  const kept = new Set(newestFirst.slice(0, 1));
  for (const point of newestFirst) if (nowMs - point.takenMs < DAY_MS) kept.add(point);
  keepNewest(newestFirst, days, dayOf, kept);
  keepNewest(newestFirst, weeks, (ms) => Math.floor((dayOf(ms) + MONDAY_OFFSET_DAYS) / 7), kept);
  keepNewest(newestFirst, months, monthOf, kept);
  return newestFirst.filter((point) => !kept.has(point)).map(({ name }) => name);
}

/** Keeps the newest point of each of the last `count` periods that have a point. */
function keepNewest(newestFirst: readonly Timed[], count: number, periodOf: (ms: number) => number, kept: Set<Timed>) {
  const seen = new Set<number>();
  for (const point of newestFirst) {
    const period = periodOf(point.takenMs);
    if (seen.has(period)) continue;
    if (seen.size === count) return;
    seen.add(period);
    kept.add(point);
  }
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}
