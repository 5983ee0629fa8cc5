/**
 * Counts the requests of every route by status, and refusals by code. For requests that place orders it also counts how
 * many were carried out, and how many accounts were refused for a cause on the exchange's side. A high share of the
 * latter shows that trading has stopped; requests without credentials are in neither count. Owner: the gateway thread.
 */
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { RouteSpec } from './spec.ts';

/** The status of a call whose client went away before there was an answer. */
export const NO_STATUS = 0;

/**
 * Refusals that have nothing to do with the order or its account. Refusals requested by an operator, and those of a
 * standby, are not among them: they have their own metrics.
 */
const OWN_CAUSES: ReadonlySet<ErrorRow> = new Set([
  ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE,
  ERRORS.SETTLEMENT_UNHEALTHY,
  ERRORS.ORDER_CAPACITY_REACHED,
  ERRORS.ENGINE_BUSY,
  ERRORS.OUTCOME_UNKNOWN,
  ERRORS.INTERNAL_ERROR,
]);
const FIRST_ERROR_STATUS = 400;

export class RequestCounts {
  /** The key null counts the requests that match no route. */
  readonly #byRoute = new Map<RouteSpec | null, Map<number, number>>();

  /** Refused requests by the code of the error. */
  readonly refusals = new Map<string, number>();
  /** Calls without credentials from a proxy that the settings do not name. */
  ofUnnamedProxies = 0;
  /** Requests that place: those that were carried out, and by the code of the error those that the exchange refused. */
  readonly placed = { taken: 0, turnedAway: new Map([...OWN_CAUSES].map(({ code }) => [code, 0])) };

  /** @param refusedAs null for a request that was not refused */
  count(route: RouteSpec | null, status: number, refusedAs: ErrorRow | null = null): void {
    if (refusedAs !== null) this.addRefusals(refusedAs.code, 1);
    this.add(route, status, 1);
    if (route?.risk === undefined) return;
    if (refusedAs === null) this.placed.taken += Number(status !== NO_STATUS && status < FIRST_ERROR_STATUS);
    else if (OWN_CAUSES.has(refusedAs)) this.#turnAway(refusedAs.code);
  }

  #turnAway(code: string): void {
    const { turnedAway } = this.placed;
    turnedAway.set(code, (turnedAway.get(code) ?? 0) + 1);
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
