/** Turns a rate-limit decision into headers of the answer, or into the refusal of the call (RULES.md 4.6). */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Limiter, LimitResult } from '../access/limiter.ts';
import type { Call, Passage } from './call.ts';
import { refuse } from './respond.ts';

/** Handlers use this to count work that the limits of their routes do not bound; null if nothing is limited. */
export type HandlerLimits = Pick<Limiter, 'countAccount' | 'countAddress' | 'countFailure' | 'countSignUp'> | null;

const DEPENDENCY_RETRY_AFTER_SEC = 1;

/** @param result null if nothing is counted @returns true if the call passes; otherwise it was refused */
export function applyLimit(
  call: Call,
  result: LimitResult | Promise<LimitResult> | null,
  nowMs: () => number,
): Passage {
  if (result === null) return true;
  return result instanceof Promise ? result.then((late) => applied(call, late, nowMs)) : applied(call, result, nowMs);
}

function applied(call: Call, result: LimitResult, nowMs: () => number): boolean {
  call.transport.rateLimitHeaders = result.headers;
  if (result.decision === 'allowed') return true;
  if (result.decision === 'dependency_unavailable') {
    refuse(call, { row: ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE, retryAfterSec: DEPENDENCY_RETRY_AFTER_SEC });
  } else {
    // Never 0: a full window still holds its oldest request for some milliseconds.
    const waitMs = result.retryMs - nowMs();
    refuse(call, { row: ERRORS.RATE_LIMITED, retryAfterSec: Math.max(Math.ceil(waitMs / 1000), 1) });
  }
  return false;
}
