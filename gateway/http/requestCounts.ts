/**
 * Counts the requests of every route by status, and refusals by code. Of requests that place it counts besides those
 * that were carried out, and those that an account was refused for a cause of the exchange's own: their share says that
 * trading has stopped, whatever the status of the refusals, and no request without credentials is in either.
 * Owner: the gateway thread.
 */
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { RouteSpec } from './spec.ts';

/** The status of a call whose client went away before there was an answer. */
export const NO_STATUS = 0;

/**
 * Refusals that say nothing of the order or of its account. Those that an operator has asked for, and those of a member
 * that does not lead, are not among them: they have metrics of their own.
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
  /** Calls without credentials that a proxy has passed on which the settings do not name. */
  ofUnnamedProxies = 0;
  /** Requests that place: those that were carried out, and by the code of the error those that the exchange refused. */
  readonly placed = { taken: 0, turnedAway: new Map([...OWN_CAUSES].map(({ code }) => [code, 0])) };

  /** @param refusedAs null for a request that was not refused */
  count(route: RouteSpec | null, status: number, refusedAs: ErrorRow | null = null): void {
    if (refusedAs !== null) this.addRefusals(refusedAs.code, 1);
    this.add(route, status, 1);
    if (route?.placing !== true) return;
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
