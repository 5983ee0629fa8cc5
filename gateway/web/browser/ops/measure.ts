/**
 * Rates and percentiles from counters: the difference of two reports. Nothing here knows the page.
 *
 * Invariant:
 *   MEASURE-1  A difference is taken only between two reports of one process, the later one second: where counters have
 *              begun anew there is no number, and a graph has a gap.
 */
import type { Operations } from '../../../../shared/client/types.ts';

/** A report, or null for a poll that was not answered. */
export type Sample = { readonly atMs: number; readonly report: Operations | null };
type Histogram = { readonly counts: readonly number[]; readonly sum: number };

/** The histogram that a part of the page looks at; null where a report has none. */
export type Pick = (report: Operations) => Histogram | null;

/** MEASURE-1. The report from which the difference to the one at `index` is taken: at most `windowMs` before it. */
export function earlier(samples: readonly Sample[], index: number, windowMs: number): Operations | null {
  const last = samples[index].report;
  if (last === null) return null;
  let found: Operations | null = null;
  for (let at = index - 1; at >= 0; at--) {
    const { report } = samples[at];
    if (report === null) continue;
    if (report.started !== last.started || last.time - report.time > windowMs) break;
    found = report;
  }
  return found;
}

/** Counts by bucket between two reports; a series that is new in the later one begins at 0. */
export function countsBetween(from: Operations, to: Operations, pick: Pick): readonly number[] | null {
  const later = pick(to);
  if (later === null) return null;
  const before = pick(from)?.counts;
  return later.counts.map((count, bucket) => count - (before?.[bucket] ?? 0));
}

/**
 * The value that this share of observations does not exceed, taken as evenly spread inside a bucket; null without any.
 * Of those above all bounds only the last bound is known.
 */
export function quantile(counts: readonly number[], bounds: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = share * total;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      const low = bucket === 0 ? 0 : bounds[bucket - 1];
      const high = bounds[bucket] ?? low;
      return low + ((high - low) * (wanted - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1) ?? null;
}

/** The growth of a counter in a second. */
export function rate(from: Operations, to: Operations, read: (report: Operations) => number): number {
  const seconds = (to.time - from.time) / 1000;
  return seconds <= 0 ? 0 : Math.max(read(to) - read(from), 0) / seconds;
}

export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Two histograms of the same bounds as one. */
export function merged(histograms: readonly Histogram[]): Histogram | null {
  const [first] = histograms;
  if (first === undefined) return null;
  return {
    counts: first.counts.map((_, bucket) => histograms.reduce((sum, { counts }) => sum + counts[bucket], 0)),
    sum: histograms.reduce((sum, each) => sum + each.sum, 0),
  };
}
