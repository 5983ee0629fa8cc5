/**
 * The one table of what an answer means for its request, for the SDK, the page and the command line. An answer comes
 * from the exchange if it has one of the exchange's codes with one of its statuses; a 2xx answer does if it is JSON.
 * Every other answer comes from a proxy (or a firewall, or a network's sign-in page), whatever its status: the exchange
 * may have carried out the request.
 *
 * Invariant:
 *   CLIENTANSWERS-1  A request counts as refused only if the exchange has said so.
 */
import { memberOf } from '../base/memberOf.ts';
import { ApiError, RedirectError } from './http.ts';

/**
 * `refused`: the exchange has processed it and refuses. `not now`: nothing was done; a later try may succeed. `open`:
 * it may have been carried out, and a repeat finds out. `fault`: it may have been carried out, and a repeat gives the
 * same answer.
 */
type Meaning = 'refused' | 'not now' | 'open' | 'fault';

/** Codes with a meaning other than `refused`. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  RATE_LIMITED: 'not now',
  RATE_LIMIT_DEPENDENCY_UNAVAILABLE: 'not now',
  ENGINE_BUSY: 'not now',
  OUTCOME_UNKNOWN: 'open',
  IDEMPOTENCY_KEY_IN_PROGRESS: 'open',
  INTERNAL_ERROR: 'fault',
};
/** The codes of shared/base/errors.ts without the rest of that table, which pages need not load. */
export const CODES: ReadonlySet<string> = new Set(
  `
  PAYLOAD_TOO_LARGE NOT_FOUND METHOD_NOT_ALLOWED VALIDATION_ERROR UNAUTHORIZED API_KEY_UNAUTHORIZED FORBIDDEN
  STEP_UP_REQUIRED PROVIDER_UNAVAILABLE INSUFFICIENT_SCOPE INSUFFICIENT_ROLE RATE_LIMITED
  RATE_LIMIT_DEPENDENCY_UNAVAILABLE PLATFORM_PAUSED NOT_MATCHING_LEADER SETTLEMENT_UNHEALTHY TRADING_TIMEOUT_ACTIVE
  FIAT_UNAVAILABLE FUNDING_UNAVAILABLE IDEMPOTENCY_KEY_MALFORMED IDEMPOTENCY_KEY_PAYLOAD_MISMATCH
  IDEMPOTENCY_KEY_IN_PROGRESS INVALID_REQUEST INVALID_INPUT SEARCH_TOO_BROAD AMEND_RESIGN_REQUIRED CONFLICT
  ACCOUNT_FROZEN
  ACCOUNT_CLOSE_ONLY ORDER_PLACEMENT_FAILED ORDER_TOMBSTONED DEADLINE_PASSED DUPLICATE_CLIENT_ORDER_ID
  MARKET_NOT_ACTIVE CANCEL_ONLY_PHASE ORDER_EXPIRED INVALID_TICK INVALID_LOT BELOW_MIN_SIZE INVALID_SIGNATURE
  NONCE_BELOW_FLOOR FEE_RATE_MISMATCH ORDER_NOT_CANCELLABLE REMAINING_CHANGED ORDER_GROUP_TRIGGERED TOO_MANY_OPEN_ORDERS
  ORDER_CAPACITY_REACHED
  TIMEOUT_ALREADY_ACTIVE NO_ACTIVE_TIMEOUT INSUFFICIENT_BALANCE SECOND_OPERATOR_REQUIRED POST_ONLY_PHASE
  NOT_A_SET SETS_UNAVAILABLE MEMBER_OF_SET TOO_FEW_MEMBERS
  POST_ONLY_WOULD_CROSS FOK_NOT_FILLED FAK_NO_FILL MIN_NET_NOT_MET ENGINE_BUSY OUTCOME_UNKNOWN INTERNAL_ERROR
`
    .trim()
    .split(/\s+/),
);
export const STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 409, 413, 416, 422, 423, 429, 500, 503]);
/** The connection was never opened, so the request did not leave. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];

/** Null for an error of the program that no answer has caused. */
export function meaningOf(error: unknown): Meaning | null {
  if (error instanceof ApiError) return isRefusal(error) ? (MEANINGS[error.code] ?? 'refused') : 'open';
  if (memberOf(error, 'name') === 'UnknownOutcomeError') return 'fault';
  // A repeat would be redirected again.
  if (error instanceof RedirectError) return 'fault';
  if (isNotConnected(error)) return 'not now';
  return isUnanswered(error) ? 'open' : null;
}

/** True for failures that leave open if the request was carried out. */
export function leavesOpen(error: unknown): boolean {
  const meaning = meaningOf(error);
  return meaning === 'open' || meaning === 'fault';
}

/** True if the answer comes from the exchange (CLIENTANSWERS-1). */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && CODES.has(error.code) && STATUSES.has(error.status);
}

/** True if the answer does not come from the exchange. */
export function isOfProxy(error: unknown): boolean {
  return error instanceof RedirectError || (error instanceof ApiError && !isRefusal(error));
}

/** True if there was no answer: the request may still have been carried out, or may never have arrived. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof RedirectError) return false;
  return error instanceof TypeError || memberOf(error, 'name') === 'TimeoutError';
}

/** True if the request was never sent. */
export function isNotConnected(error: unknown): boolean {
  return error instanceof TypeError && NOT_CONNECTED.includes(memberOf(error.cause, 'code'));
}
