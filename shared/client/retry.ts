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
import { isOfProxy, isRefusal, leavesOpen, meaningOf } from './answers.ts';
import { ApiError } from './http.ts';
import { UnknownOutcomeError } from './placedOrder.ts';

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

/** Signed wrongly, or too many: the request was not looked at. */
const OF_ATTEMPT: readonly number[] = [401, 429];
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

/**
 * A change that a proxy has answered is no refusal. Where there was no answer at all, or
 * the exchange itself says that the outcome is open, the error says so already.
 */
export async function changed<T>(method: string, path: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isOfProxy(error)) throw error;
    throw new UnknownOutcomeError(null, error, `${method} ${path}`);
  }
}

/** RETRY-1. */
function mayRepeat(error: unknown, repeat: Repeat): boolean {
  const meaning = meaningOf(error);
  return meaning === 'not now' || (meaning === 'open' && repeat === 'harmless');
}

/** True of a refusal of what the request asks for, rather than of this attempt. */
function isAnswer(error: unknown): boolean {
  return isRefusal(error) && error.status < 500 && !OF_ATTEMPT.includes(error.status);
}

function isLongWait(error: unknown, { longestWaitMs }: RetryPolicy): boolean {
  return error instanceof ApiError && (error.retryAfter ?? 0) * 1000 > longestWaitMs;
}

/** Retry-After is when the first request may come; many who wait for the same moment are spread behind it. */
function pauseMs(error: unknown, attempt: number, { firstPauseMs, mostPauseMs, random }: RetryPolicy): number {
  const backoffMs = Math.min(mostPauseMs, firstPauseMs * 2 ** (attempt - 1));
  const spreadMs = backoffMs / 2 + (random() * backoffMs) / 2;
  const retryAfter = error instanceof ApiError ? error.retryAfter : null;
  return retryAfter === null ? spreadMs : retryAfter * 1000 + spreadMs / 2;
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
