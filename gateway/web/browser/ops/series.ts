/** The columns of the graphs, made from the samples: one value per sample, null if there is none. */
import type { Operations } from '../../../../shared/client/types.ts';
import type { Line } from './chart.ts';
import { countsBetween, earlier, merged, type Pick, quantile, rate, type Sample } from './measure.ts';

const MS = 1000;
/** Long enough for a percentile, and short enough to show a stall at once. */
const WINDOW_MS = 10_000;

export function timesOf(samples: readonly Sample[]): number[] {
  return samples.map(({ atMs }) => atMs / MS);
}

/** A value read from each report. */
export function levels(samples: readonly Sample[], read: (report: Operations) => number): (number | null)[] {
  return samples.map(({ report }) => (report === null ? null : read(report)));
}

/** The growth of a counter per second, over the last ten seconds. */
export function rates(samples: readonly Sample[], read: (report: Operations) => number): (number | null)[] {
  return samples.map(({ report }, index) => {
    const before = earlier(samples, index, WINDOW_MS);
    return report === null || before === null ? null : rate(before, report, read);
  });
}

export function quantiles(samples: readonly Sample[], pick: Pick, share: number): (number | null)[] {
  return samples.map(({ report }, index) => {
    const before = earlier(samples, index, WINDOW_MS);
    if (report === null || before === null) return null;
    const counts = countsBetween(before, report, pick);
    return counts === null ? null : quantile(counts, report.bounds_seconds, share);
  });
}

/** The median and the 99th percentile of a duration. */
export function p50p99(samples: readonly Sample[], pick: Pick): Line[] {
  return [
    { name: 'p50', values: quantiles(samples, pick, 0.5) },
    { name: 'p99', values: quantiles(samples, pick, 0.99) },
  ];
}

type Shard = Operations['shards'][number];

/** Merges the histograms of all shards. */
export function ofAllShards(read: (shard: Shard) => Shard['commit']): Pick {
  return ({ shards }) => merged(shards.map(read));
}

/** A line for each shard. */
export function byShard(samples: readonly Sample[], read: (shard: Shard) => number): Line[] {
  const shards = samples.at(-1)?.report?.shards ?? samples.findLast(({ report }) => report !== null)?.report?.shards;
  return (shards ?? []).map(({ shard }) => {
    return { name: `Shard ${shard}`, values: levels(samples, ({ shards: all }) => read(all[shard])) };
  });
}

export function ofRoute(name: string): Pick {
  return ({ routes }) => routes.find((route) => routeName(route) === name) ?? null;
}

export function routeName({ method, route }: RouteName): string {
  return `${method} ${route}`;
}

type RouteName = { readonly method: string; readonly route: string };
