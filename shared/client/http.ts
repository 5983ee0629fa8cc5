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
 * @param credentials a browser then adds its cookies also for another origin than that of the page.
 */
export async function sendRequest<T>(
  origin: string,
  request: PreparedRequest,
  timeoutMs = DEFAULT_TIMEOUT_MS,
  credentials?: 'include',
): Promise<T> {
  const response = await fetch(origin + request.path, {
    method: request.method,
    headers: request.headers,
    body: request.body === '' ? undefined : request.body,
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
    credentials,
  });
  const text = await response.text();
  const value = parseJson(text);
  if (response.ok && value !== undefined) return value as T;
  throw refusalOf(response, value);
}

/** The body of a 2xx answer as it arrives, for answers of any length; any other answer rejects with an ApiError. */
export async function openBody(origin: string, request: PreparedRequest): Promise<ReadableStream<Uint8Array>> {
  const { method, headers } = request;
  const response = await fetch(origin + request.path, { method, headers, redirect: 'error' });
  if (response.ok && response.body !== null) return response.body;
  throw refusalOf(response, parseJson(await response.text()));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalOf({ status, headers }: Response, value: unknown): ApiError {
  const { error, code, details } = (value ?? {}) as { error?: string; code?: string; details?: unknown };
  const retryAfter = headers.get('retry-after');
  return new ApiError(
    status,
    code ?? 'UNKNOWN',
    error ?? `unexpected answer with HTTP status ${status}`,
    details,
    retryAfter === null ? null : Number(retryAfter),
  );
}

/** True of the refusal of a request that was signed before the exchange started. */
export function isSignedBeforeStart(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status !== 401) return false;
  return (error.details as { reason?: unknown } | undefined)?.reason === 'signed_before_start';
}
