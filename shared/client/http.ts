/** Sends a prepared request and turns the answer into a value or an `ApiError`. */
import type { PreparedRequest } from './request.ts';

export const DEFAULT_TIMEOUT_MS = 10_000;

/** A refusal by the exchange; `message` and `code` are its `error` and `code`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  /** Seconds to wait before a retry, if the answer has Retry-After. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, message: string, details: unknown, retryAfter: number | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/**
 * Resolves to the parsed body of a 2xx answer. Any other answer rejects with an ApiError. Without an answer (connection
 * refused or lost, timeout) it rejects with the error of `fetch`; an order may have been placed then, which a request
 * for its hash finds out. `fetch` keeps connections open no longer than the `Keep-Alive` of their last answer allows,
 * so that no request meets the close of an idle connection.
 */
export async function sendRequest<T>(
  origin: string,
  request: PreparedRequest,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const response = await fetch(origin + request.path, {
    method: request.method,
    headers: request.headers,
    body: request.body === '' ? undefined : request.body,
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  const text = await response.text();
  const value = parseJson(text);
  if (response.ok && value !== undefined) return value as T;
  const { error, code, details } = (value ?? {}) as { error?: string; code?: string; details?: unknown };
  const retryAfter = response.headers.get('retry-after');
  throw new ApiError(
    response.status,
    code ?? 'UNKNOWN',
    error ?? `unexpected answer with HTTP status ${response.status}`,
    details,
    retryAfter === null ? null : Number(retryAfter),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
