/** Counts the requests of every route by status, and refusals by code. Owner: the gateway thread. */
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { RouteSpec } from './spec.ts';

/** The status of a call whose client went away before there was an answer. */
export const NO_STATUS = 0;

export class RequestCounts {
  /** The key null counts the requests that match no route. */
  readonly #byRoute = new Map<RouteSpec | null, Map<number, number>>();

  /** Refused requests by the code of the error. */
  readonly refusals = new Map<string, number>();

  /** @param refusedAs null for a request that was not refused */
  count(route: RouteSpec | null, status: number, refusedAs: ErrorRow | null = null): void {
    if (refusedAs !== null) this.addRefusals(refusedAs.code, 1);
    this.add(route, status, 1);
  }

  addRefusals(code: string, count: number): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + count);
  }

  add(route: RouteSpec | null, status: number, count: number): void {
    let byStatus = this.#byRoute.get(route);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#byRoute.set(route, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + count);
  }

  forEach(report: (route: RouteSpec | null, status: number, count: number) => void): void {
    for (const [route, byStatus] of this.#byRoute) {
      for (const [status, count] of byStatus) report(route, status, count);
    }
  }
}
