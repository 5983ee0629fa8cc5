/**
 * Everything that is measured of requests, for the metrics and the log.
 * Owner: the gateway thread.
 */
import type { Logger } from '../base/log.ts';
import type { Call } from './call.ts';
import { RequestCounts } from './requestCounts.ts';
import { RequestTimes } from './requestTimes.ts';
import { SlowRequests } from './slowRequests.ts';
import { TurnTimes } from './turnTimes.ts';

export class RequestMeters {
  readonly counts = new RequestCounts();
  readonly times = new RequestTimes();
  readonly turns = new TurnTimes();
  readonly #log: Logger;
  readonly #slow: SlowRequests;

  constructor(slowRequestMs: number, log: Logger) {
    this.#log = log;
    this.#slow = new SlowRequests(slowRequestMs, log);
  }

  /** The call is over. */
  ended(call: Call): void {
    const { route, status, refusedAs, moments } = call;
    this.counts.count(route, status, refusedAs);
    this.#slow.ended(call, this.times.end(route, moments));
  }

  /** A stage or a handler has thrown. */
  readonly failed = (error: unknown, { id, method, route }: Call): void => {
    this.#log.error({ err: error, request_id: id, method, route: route?.path }, 'request failed');
  };
}
