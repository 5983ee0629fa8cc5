/**
 * The times of requests, by route and stage. A call notes the moment at which each stage begins, and all of them are
 * counted when it is over: five readings of the clock and one look-up a request, and one object is allocated.
 *
 *   receive    from the headers until the body is complete; a request without a body has no such stage
 *   identify   key or token, scope, rate limit, with the wait for a shared counter
 *   validate   idempotency key, admission, JSON and schema, and for administrators the record in the audit log
 *   handle     the handler until it has its answer: for an order this is ring, shard and commit
 *   answer     until everything durable is on disk and the answer is written; a long answer until its last piece
 *
 * A refused request has times for the stages up to its refusal, and `total` has every answered request. Owner: the
 * gateway thread.
 */
import { DURATION_BOUNDS_SEC, Histogram } from '../../shared/base/histogram.ts';
import { nowUs, secondsBetween } from '../../shared/base/stopwatch.ts';
import type { RouteSpec } from './spec.ts';

export const STAGES = ['receive', 'identify', 'validate', 'handle', 'answer'] as const;
type Stage = (typeof STAGES)[number];

/** The moments by nowUs at which the stages of a call began; 0 where it has not come so far. */
export class Moments {
  arrivedUs = 0;
  completeUs = 0;
  identifiedUs = 0;
  handledUs = 0;
  answeredUs = 0;
}

class RouteTimes {
  readonly total = new Histogram(DURATION_BOUNDS_SEC);
  readonly stages: Readonly<Record<Stage, Histogram>> = {
    receive: new Histogram(DURATION_BOUNDS_SEC),
    identify: new Histogram(DURATION_BOUNDS_SEC),
    validate: new Histogram(DURATION_BOUNDS_SEC),
    handle: new Histogram(DURATION_BOUNDS_SEC),
    answer: new Histogram(DURATION_BOUNDS_SEC),
  };
}

export class RequestTimes {
  /** The key null has the requests that match no route. */
  readonly byRoute = new Map<RouteSpec | null, RouteTimes>();

  of(route: RouteSpec | null): RouteTimes {
    let times = this.byRoute.get(route);
    if (times === undefined) {
      times = new RouteTimes();
      this.byRoute.set(route, times);
    }
    return times;
  }

  /** The call is over. @returns the seconds that it took. */
  end(route: RouteSpec | null, moments: Readonly<Moments>): number {
    const endUs = nowUs();
    const times = this.of(route);
    const { arrivedUs, completeUs, identifiedUs, handledUs, answeredUs } = moments;
    const { receive, identify, validate, handle, answer } = times.stages;
    if (completeUs !== 0) receive.observe(secondsBetween(arrivedUs, completeUs));
    if (identifiedUs !== 0) identify.observe(secondsBetween(completeUs || arrivedUs, identifiedUs));
    if (handledUs !== 0) {
      validate.observe(secondsBetween(identifiedUs, handledUs));
      if (answeredUs !== 0) handle.observe(secondsBetween(handledUs, answeredUs));
    }
    const tookSec = secondsBetween(arrivedUs, endUs);
    if (answeredUs === 0) return tookSec;
    answer.observe(secondsBetween(answeredUs, endUs));
    times.total.observe(tookSec);
    return tookSec;
  }
}
