/** Counts the requests of every route by status. Owner: the gateway thread; two look-ups a request. */
import type { RouteSpec } from './spec.ts';

/** The status of a call whose client went away before there was an answer. */
export const NO_STATUS = 0;

export class RequestCounts {
  /** The key null counts the requests that match no route. */
  readonly #byRoute = new Map<RouteSpec | null, Map<number, number>>();

  count(route: RouteSpec | null, status: number): void {
    let byStatus = this.#byRoute.get(route);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#byRoute.set(route, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  forEach(report: (route: RouteSpec | null, status: number, count: number) => void): void {
    for (const [route, byStatus] of this.#byRoute) {
      for (const [status, count] of byStatus) report(route, status, count);
    }
  }
}
