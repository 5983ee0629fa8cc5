/** The remaining quota of the caller's key or session, endpoint by endpoint (RULES.md 4.8). */

import type { BlockList } from 'node:net';
import { RATE_LIMITS, type RateLimit, type RateLimits } from '../../shared/api/accounts.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { credentialOf } from '../access/credentialOf.ts';
import { type Allowance, Limiter, resetSec } from '../access/limiter.ts';
import type { Limit } from '../base/classes.ts';
import { clientOf } from '../base/clientAddress.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import { ok, refuse } from './respond.ts';
import { type CallOf, type Route, route } from './route.ts';
import { type FullSpec, isForOperators, type RouteSpec, rightsOf } from './spec.ts';

type RateLimitDeps = {
  /** Null: nothing is counted. */
  readonly limiter: Limiter | null;
  /** The whole table, with the routes that are added to it later. */
  readonly routes: readonly FullSpec[];
  readonly trustProxy: BlockList | null;
  readonly clock: Clock;
};

const SHOW_RATE_LIMITS = {
  method: 'GET',
  path: '/v1/rate-limits',
  id: 'getRateLimits',
  summary: 'The limits of the key, or of the session, and the requests that they still admit, by endpoint.',
  access: 'authenticated',
  answers: { 200: RATE_LIMITS },
} as const satisfies RouteSpec;

export function rateLimitRoutes(deps: RateLimitDeps): Route[] {
  return [route(SHOW_RATE_LIMITS, (call) => showRateLimits(call, deps))];
}

async function showRateLimits(
  call: CallOf<typeof SHOW_RATE_LIMITS>,
  { limiter, routes, trustProxy, clock }: RateLimitDeps,
): Promise<void> {
  const { principal } = call;
  const { address, unread } = clientOf(call.transport.peer(), call.transport.forwardedFor, trustProxy);
  const key = credentialOf(principal).ownQuota(principal);
  // Without limits in force no quota is ever used, as in a limiter that is new.
  const counters = limiter ?? new Limiter();
  const own = routes.filter((route) => !route.isFile && mayCall(principal, route));
  const allowances = await counters.allowances(key ?? principal.accountIndex, own, clock.nowMs());
  if (allowances === 'unavailable')
    return refuse(call, { row: ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE, retryAfterSec: 1 });
  ok(call, {
    tier: key?.tier ?? null,
    rate_limit_override: key?.rateLimitOverride == null ? null : limitJson(key.rateLimitOverride),
    enforced: limiter !== null,
    address,
    unread_forwarded_for: unread,
    limits: allowances.map(allowanceJson),
  });
}

function mayCall(principal: AccountPrincipal, spec: FullSpec): boolean {
  return !isForOperators(spec) && credentialOf(principal).lacks(principal, rightsOf(spec)) === null;
}

function limitJson({ requests, windowSec }: Limit): RateLimit {
  return { requests, window_seconds: windowSec };
}

function allowanceJson({ endpoint, limit, count }: Allowance): RateLimits['limits'][number] {
  return {
    method: endpoint.method,
    path: endpoint.path,
    ...limitJson(limit),
    remaining: count.remaining,
    reset: resetSec(count),
  };
}
