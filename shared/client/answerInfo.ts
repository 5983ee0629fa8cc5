/** The part of an answer that a program may log: it contains no secret. */
import type { PreparedRequest } from './request.ts';

/** The requests that the limit of the endpoint still allows, by the answer's headers. */
export type RateLimitState = {
  readonly limit: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Unix seconds at which the whole quota is free again. */
  readonly resetSec: number;
};

export type AnswerInfo = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** From 1. */
  readonly attempt: number;
  readonly elapsedMs: number;
  readonly requestId: string | null;
  /** True if the answer is that of an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
  /** Null if the exchange counts no limit, and in a browser on another origin, which cannot see these headers. */
  readonly rateLimit: RateLimitState | null;
};

export function answerInfo(
  { method, path }: PreparedRequest,
  { status, headers }: Response,
  attempt: number,
  elapsedMs: number,
): AnswerInfo {
  const requestId = headers.get('x-request-id');
  const isReplayed = headers.get('idempotency-replayed') === 'true';
  return { method, path, status, attempt, elapsedMs, requestId, isReplayed, rateLimit: rateLimitOf(headers) };
}

function rateLimitOf(headers: Headers): RateLimitState | null {
  const remaining = headers.get('x-ratelimit-remaining');
  if (remaining === null) return null;
  return {
    limit: Number(headers.get('x-ratelimit-limit')),
    windowSeconds: Number(headers.get('x-ratelimit-window-seconds')),
    remaining: Number(remaining),
    resetSec: Number(headers.get('x-ratelimit-reset')),
  };
}
