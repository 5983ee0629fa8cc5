/**
 * The times of fills. A record has one time, in milliseconds, and may have thousands of fills; each fill of a market
 * has a time of its own in microseconds, in the order of the fills (RULES.md 13.12): that of its record, or the
 * microsecond after the fill before it. None of this is journaled: a thread that follows fills derives the times from
 * the records, and keeps the time of each market's last fill.
 *
 * Invariants:
 *   FILLTIME-1  Of two fills of a market the later one has the later time, whichever records they are part of.
 */
export const MICROS_PER_MS = 1000;

/** No fill is later than its record by more than this: a market would need a million fills in one second. */
export const MOST_AFTER_MS = 1000;

/** @param lastMicros time of the market's previous fill; 0 if there is none */
export function filledMicros(recordMs: number, lastMicros: number): number {
  return Math.max(recordMs * MICROS_PER_MS, lastMicros + 1);
}

/** RFC 3339 with six digits. @param afterMicros how long after its record, which is not negative */
export function fillTime(recordMs: number, afterMicros: number): string {
  const micros = afterMicros % MICROS_PER_MS;
  const time = new Date(recordMs + (afterMicros - micros) / MICROS_PER_MS).toISOString();
  return `${time.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}
