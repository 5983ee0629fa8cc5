/**
 * Which requests are sent again, and when: a failure that says that nothing was done is always retried, one that leaves
 * open what was done only where a repeat does no harm.
 *
 * Invariants:
 *   RETRY-1  A request that may have been carried out is repeated only if a repeat cannot carry it out twice: a read, a
 *            cancel, a setting, or a request with an Idempotency-Key, which every attempt carries.
 *   RETRY-2  A failure that leaves open what was done is not forgotten over a later one that says nothing of it: a
 *            caller who reads "busy" must be sure that no earlier attempt was carried out.
 *   RETRY-3  What the caller's signal ends is not repeated, and no pause outlasts it.
 */
import { ApiError, RedirectError } from './http.ts';

export type RetryPolicy = {
  /** Attempts in all; 1 for no retry. */
  readonly attempts: number;
  /** The pause after the first failure; each further one is twice as long. Half of it is random. */
  readonly firstPauseMs: number;
  readonly mostPauseMs: number;
  /** A Retry-After beyond this is not waited for: the error is the caller's. */
  readonly longestWaitMs: number;
  /** A random number from 0 up to 1. */
  readonly random: () => number;
};

const DEFAULT_POLICY: RetryPolicy = {
  attempts: 4,
  firstPauseMs: 250,
  mostPauseMs: 5000,
  longestWaitMs: 15_000,
  random: Math.random,
};

/** `harmless`: a repeat changes nothing more. `once`: it is repeated only after an answer that nothing was done. */
export type Repeat = 'harmless' | 'once';

/** Answers that nothing was done, and that another moment may be better. */
const NOTHING_DONE: readonly string[] = ['RATE_LIMITED', 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE', 'ENGINE_BUSY'];
/** Answers that leave open what was done. */
const UNDECIDED: readonly string[] = ['OUTCOME_UNKNOWN', 'IDEMPOTENCY_KEY_IN_PROGRESS'];
/** The exchange itself never answers so, whatever code a gateway before it writes. */
const OF_GATEWAYS: readonly number[] = [502, 504];
const UNAVAILABLE_STATUS = 503;
const NO_CODE = 'UNKNOWN';
/** A fault of the exchange, which may have come after the order. */
const INTERNAL_STATUS = 500;
/** Signed wrongly, or too many: the request was not looked at. */
const OF_ATTEMPT: readonly number[] = [401, 429];
/** The connection was never opened, so the request did not leave. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];

export function policyOf(chosen: Partial<RetryPolicy> | false | undefined): RetryPolicy {
  return chosen === false ? { ...DEFAULT_POLICY, attempts: 1 } : { ...DEFAULT_POLICY, ...chosen };
}

/** Calls `send` until it succeeds, fails for good, or has used up its attempts. @param send gets the attempt, from 1 */
export async function withRetries<T>(
  send: (attempt: number) => Promise<T>,
  repeat: Repeat,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<T> {
  let doubt: unknown;
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(attempt);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (leavesOpen(error)) doubt = error;
      if (attempt >= policy.attempts || !mayRepeat(error, repeat) || isLongWait(error, policy)) {
        // RETRY-2.
        throw doubt !== undefined && !isAnswer(error) ? doubt : error;
      }
      await pause(pauseMs(error, attempt, policy), signal);
    }
  }
}

/** RETRY-1. */
function mayRepeat(error: unknown, repeat: Repeat): boolean {
  if (repeat === 'harmless' && isUndecided(error)) return true;
  return error instanceof ApiError ? NOTHING_DONE.includes(error.code) : isNotConnected(error);
}

/** True of failures that leave open whether the request was carried out, also of those that are not retried. */
export function leavesOpen(error: unknown): boolean {
  return isUndecided(error) || (error instanceof ApiError && error.status === INTERNAL_STATUS);
}

/** True of failures that leave open whether the request was carried out, and that may be over with the next attempt. */
function isUndecided(error: unknown): boolean {
  if (!(error instanceof ApiError)) return isUnanswered(error) && !isNotConnected(error);
  if (UNDECIDED.includes(error.code) || OF_GATEWAYS.includes(error.status)) return true;
  return error.code === NO_CODE && error.status === UNAVAILABLE_STATUS;
}

/** True of a refusal of what the request asks for, rather than of this attempt. */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && !OF_ATTEMPT.includes(error.status);
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

function isLongWait(error: unknown, { longestWaitMs }: RetryPolicy): boolean {
  return error instanceof ApiError && (error.retryAfter ?? 0) * 1000 > longestWaitMs;
}

/** Retry-After is when the first request may come; many who wait for the same moment are spread behind it. */
function pauseMs(error: unknown, attempt: number, { firstPauseMs, mostPauseMs, random }: RetryPolicy): number {
  const backoffMs = Math.min(mostPauseMs, firstPauseMs * 2 ** (attempt - 1));
  const spreadMs = backoffMs / 2 + (random() * backoffMs) / 2;
  const retryAfter = error instanceof ApiError ? error.retryAfter : null;
  return retryAfter === null || Number.isNaN(retryAfter) ? spreadMs : retryAfter * 1000 + spreadMs / 2;
}

/** RETRY-3. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
