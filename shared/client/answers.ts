/**
 * The one table of what an answer says of its request, for the SDK, the page and the command line. An answer is one of
 * the exchange if it has a code of the exchange, with a status that the exchange gives; a 2xx is one if it is JSON.
 * Every other answer is that of a proxy before it (or of a firewall, or of a network that wants a sign-in), whatever
 * its status: the exchange may have carried out the request.
 *
 * Invariant:
 *   CLIENTANSWERS-1  A request counts as refused only where the exchange has said so.
 */
import { ApiError, RedirectError } from './http.ts';

/**
 * `refused`: the exchange has looked at it and says no. `not now`: nothing was done, and another moment may be better.
 * `open`: it may have been carried out, and a repeat finds out. `fault`: it may have been, and a repeat says the same.
 */
type Meaning = 'refused' | 'not now' | 'open' | 'fault';

/** Codes that mean something else than `refused`. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  RATE_LIMITED: 'not now',
  RATE_LIMIT_DEPENDENCY_UNAVAILABLE: 'not now',
  ENGINE_BUSY: 'not now',
  OUTCOME_UNKNOWN: 'open',
  IDEMPOTENCY_KEY_IN_PROGRESS: 'open',
  INTERNAL_ERROR: 'fault',
};
/** Those of shared/base/errors.ts, without the rest of that table, which pages need not load. */
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
  POST_ONLY_WOULD_CROSS FOK_NOT_FILLED FAK_NO_FILL MIN_NET_NOT_MET ENGINE_BUSY OUTCOME_UNKNOWN INTERNAL_ERROR
`
    .trim()
    .split(/\s+/),
);
export const STATUSES: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 409, 413, 422, 423, 429, 500, 503]);
/** The connection was never opened, so the request did not leave. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];

/** Null for an error of the program, which no answer has caused. */
export function meaningOf(error: unknown): Meaning | null {
  if (error instanceof ApiError) return isRefusal(error) ? (MEANINGS[error.code] ?? 'refused') : 'open';
  if ((error as Error | null)?.name === 'UnknownOutcomeError') return 'fault';
  // A repeat is redirected again.
  if (error instanceof RedirectError) return 'fault';
  if (isNotConnected(error)) return 'not now';
  return isUnanswered(error) ? 'open' : null;
}

/** True of failures that leave open whether the request was carried out. */
export function leavesOpen(error: unknown): boolean {
  const meaning = meaningOf(error);
  return meaning === 'open' || meaning === 'fault';
}

/** True of an answer that is one of the exchange (CLIENTANSWERS-1). */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && CODES.has(error.code) && STATUSES.has(error.status);
}

/** True of an answer that is not one of the exchange. */
export function isOfProxy(error: unknown): boolean {
  return error instanceof RedirectError || (error instanceof ApiError && !isRefusal(error));
}

/** True if there was no answer: the request may have been carried out all the same, or may never have arrived. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof RedirectError) return false;
  return error instanceof TypeError || (error as { name?: string } | null)?.name === 'TimeoutError';
}

/** True if the request did not leave. */
export function isNotConnected(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: { code?: unknown } };
  return error instanceof TypeError && NOT_CONNECTED.includes(cause?.code);
}
