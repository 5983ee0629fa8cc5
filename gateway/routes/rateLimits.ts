/** What the caller's key may still ask for, endpoint by endpoint (RULES.md 4.8). */
import type { Clock } from '../../shared/clock.ts';
import { ERRORS } from '../../shared/errors.ts';
import type { ApiKey } from '../auth/apiKeys.ts';
import type { Call } from '../call.ts';
import type { Limit } from '../limits/classes.ts';
import { type Allowance, Limiter, resetSec } from '../limits/limiter.ts';
import { fail, ok } from '../respond.ts';
import { type Route, requiredScope } from '../route.ts';

export type RateLimitDeps = {
  /** Null counts nothing. */
  readonly limiter: Limiter | null;
  /** The whole table, also what is added to it later. */
  readonly routes: readonly Route[];
  readonly clock: Clock;
};

export function rateLimitRoutes(deps: RateLimitDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/rate-limits',
      access: 'authenticated',
      limit: 'unlisted',
      handler: (call) => showRateLimits(call, deps),
    },
  ];
}

async function showRateLimits(call: Call, { limiter, routes, clock }: RateLimitDeps): Promise<void> {
  const key = call.key!;
  // Without limits in force nothing is ever used up, which is what counters that are new say.
  const counters = limiter ?? new Limiter();
  const own = routes.filter((route) => mayCall(key, route));
  const allowances = await counters.allowances(key, own, clock.nowMs());
  if (allowances === 'unavailable') {
    fail(call, ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE, { retryAfterSec: 1 });
    return;
  }
  ok(call, {
    tier: key.tier,
    rate_limit_override: key.rateLimitOverride === null ? null : limitJson(key.rateLimitOverride),
    enforced: limiter !== null,
    limits: allowances.map(allowanceJson),
  });
}

function mayCall(key: ApiKey, route: Route): boolean {
  const scope = requiredScope(route);
  const isForKeys = route.access !== 'admin' && route.access !== 'operator';
  return isForKeys && (key.scopes & scope) === scope;
}

function limitJson({ requests, windowSec }: Limit): object {
  return { requests, window_seconds: windowSec };
}

function allowanceJson({ route, limit, count }: Allowance): object {
  return {
    method: route.method,
    path: route.path,
    ...limitJson(limit),
    remaining: count.remaining,
    reset: resetSec(count),
  };
}
