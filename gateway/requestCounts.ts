/** How many requests every route has answered with which status. Owner: the gateway thread; two look-ups a request. */
import type { Route } from './route.ts';

/** The status of a call whose client went away before there was an answer. */
export const NO_STATUS = 0;

export class RequestCounts {
  /** Null is what matches no route. */
  readonly #byRoute = new Map<Route | null, Map<number, number>>();

  count(route: Route | null, status: number): void {
    let byStatus = this.#byRoute.get(route);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#byRoute.set(route, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  forEach(tell: (route: Route | null, status: number, count: number) => void): void {
    for (const [route, byStatus] of this.#byRoute) {
      for (const [status, count] of byStatus) tell(route, status, count);
    }
  }
}
