/**
 * The meters of a thread as a message, and the sum of those of several: metrics show the requests of all threads
 * together.
 */

import type { RequestMeters } from './requestMeters.ts';
import { STAGES } from './requestTimes.ts';
import type { RouteSpec } from './spec.ts';

/** Null: requests that match no route. */
type RouteName = { readonly method: string; readonly path: string } | null;

export type MetersImage = {
  readonly statuses: readonly (readonly [route: RouteName, status: number, count: number])[];
  readonly refusals: readonly (readonly [code: string, count: number])[];
  readonly ofUnnamedProxies: number;
  /** Cells of the histograms: in all, then by stage. */
  readonly times: readonly (readonly [route: RouteName, cells: readonly Float64Array[]])[];
  readonly turns: Float64Array;
  readonly turnsMs: number;
  /** The longest turns of late. */
  readonly worst: readonly (readonly [route: RouteName, tookMs: number])[];
};

/** @param isTimed of which routes the times are wanted */
export function imageOf(
  { counts, times, turns }: RequestMeters,
  isTimed: (route: RouteSpec | null) => boolean = () => true,
): MetersImage {
  const statuses: [RouteName, number, number][] = [];
  counts.forEach((route, status, count) => void statuses.push([nameOf(route), status, count]));
  const worst: [RouteName, number][] = [];
  turns.forEachWorst((route, tookMs) => void worst.push([nameOf(route), tookMs]));
  return {
    statuses,
    refusals: [...counts.refusals],
    ofUnnamedProxies: counts.ofUnnamedProxies,
    times: [...times.byRoute]
      .filter(([route]) => isTimed(route))
      .map(([route, { total, stages }]) => {
        return [nameOf(route), [total.copy(), ...STAGES.map((stage) => stages[stage].copy())]];
      }),
    turns: turns.counts.slice(),
    turnsMs: turns.totalMs,
    worst,
  };
}

type RouteOf = (method: string, path: string) => RouteSpec;

/** Adds what another thread has counted. @param routeOf the route with these names */
export function addImage(sum: RequestMeters, image: MetersImage, routeOf: RouteOf): void {
  const find = (name: RouteName): RouteSpec | null => (name === null ? null : routeOf(name.method, name.path));
  for (const [route, status, count] of image.statuses) sum.counts.add(find(route), status, count);
  for (const [code, count] of image.refusals) sum.counts.addRefusals(code, count);
  sum.counts.ofUnnamedProxies += image.ofUnnamedProxies;
  for (const [route, [total, ...ofStages]] of image.times) {
    const times = sum.times.of(find(route));
    times.total.add(total);
    for (const [index, cells] of ofStages.entries()) times.stages[STAGES[index]].add(cells);
  }
  for (const [bucket, count] of image.turns.entries()) sum.turns.counts[bucket] += count;
  sum.turns.totalMs += image.turnsMs;
  for (const [route, tookMs] of image.worst) sum.turns.note(find(route), tookMs);
}

/** The sum of what this thread has counted and others. @param empty meters that become the sum */
export function sumOf(
  own: RequestMeters,
  images: readonly MetersImage[],
  routeOf: RouteOf,
  empty: RequestMeters,
): RequestMeters {
  const elsewhere = new Set(
    images.flatMap(({ times }) => times.map(([name]) => name && routeOf(name.method, name.path))),
  );
  for (const [route, times] of own.times.byRoute) if (!elsewhere.has(route)) empty.times.byRoute.set(route, times);
  addImage(
    empty,
    imageOf(own, (route) => elsewhere.has(route)),
    routeOf,
  );
  for (const image of images) addImage(empty, image, routeOf);
  return empty;
}

function nameOf(route: RouteSpec | null): RouteName {
  return route && { method: route.method, path: route.path };
}
