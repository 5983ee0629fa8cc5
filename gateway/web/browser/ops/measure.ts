/**
 * Computes rates and percentiles from counters, as the difference of two reports. Nothing here depends on the page.
 *
 * Invariant:
 *   MEASURE-1  A difference is taken only between an earlier and a later report of the same process: if counters have
 *              restarted there is no number, and a graph has a gap.
 */
import type { Operations } from '../../../../shared/client/types.ts';

/** A report, or null for a poll that was not answered. */
export type Sample = { readonly atMs: number; readonly report: Operations | null };
type Histogram = { readonly counts: readonly number[]; readonly sum: number };

/** Selects the histogram for a part of the page; null if a report does not have it. */
export type Pick = (report: Operations) => Histogram | null;

/** MEASURE-1. Returns the report to compare with the one at `index`: at most `windowMs` before it. */
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
 * Returns the value that this share of the observations does not exceed, assuming that observations are spread evenly
 * within a bucket; null without observations. Of observations above all bounds only the last bound is known.
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

/** The growth of a counter per second. */
export function rate(from: Operations, to: Operations, read: (report: Operations) => number): number {
  const seconds = (to.time - from.time) / 1000;
  return seconds <= 0 ? 0 : Math.max(read(to) - read(from), 0) / seconds;
}

export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Merges histograms with the same bounds. */
export function merged(histograms: readonly Histogram[]): Histogram | null {
  const [first] = histograms;
  if (first === undefined) return null;
  return {
    counts: first.counts.map((_, bucket) => histograms.reduce((sum, { counts }) => sum + counts[bucket], 0)),
    sum: histograms.reduce((sum, each) => sum + each.sum, 0),
  };
}
