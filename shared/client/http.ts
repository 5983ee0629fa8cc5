/** Sends a prepared request once and turns the answer into a value or an `ApiError`. */
import { memberOf } from '../base/memberOf.ts';
import type { PreparedRequest } from './request.ts';

export const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * A refusal by the exchange, whose `error` and `code` are `message` and `code` here; or the answer of a proxy, with its
 * own code or UNKNOWN, for which `isRefusal` (answers.ts) is false.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
  /** Seconds to wait before a retry, if the answer has Retry-After. */
  readonly retryAfter: number | null;
  /** The exchange's id of the request, by which its operator finds it in the logs, if the answer has one. */
  readonly requestId: string | null;

  constructor(
    status: number,
    code: string,
    message: string,
    details: unknown,
    retryAfter: number | null,
    requestId: string | null = null,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}

export type SendOptions = {
  readonly timeoutMs?: number | undefined;
  /** Aborts the request; it may still have been carried out. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Makes a browser send its cookies to another origin too. */
  readonly credentials?: 'include' | undefined;
  /** Called with status and headers of the answer. */
  readonly onAnswer?: (response: Response) => void;
};

/**
 * Resolves to the parsed body of a 2xx answer. Any other answer rejects with an ApiError. Without an answer (connection
 * refused or lost, timeout) it rejects with the error of `fetch`; an order may have been placed then; request it by its
 * hash to find out. `fetch` keeps connections open no longer than the `Keep-Alive` of their last answer allows, so no
 * request meets the close of an idle connection.
 */
export async function sendRequest<T>(origin: string, request: PreparedRequest, options: SendOptions = {}): Promise<T> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await open(
    origin,
    request,
    options,
    signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  );
  const text = await response.text();
  const value = parseJson(text);
  if (response.ok && isResult(request.method, value)) return value as T;
  throw refusalOf(response, value);
}

/**
 * The body of a 2xx answer as it arrives, for answers of any length; any other answer rejects with an ApiError. The
 * time-out applies to the first byte: reading may then take any time, until the signal aborts it.
 */
export async function openBody(
  origin: string,
  request: PreparedRequest,
  options: SendOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  const unanswered = new AbortController();
  const timer = setTimeout(() => unanswered.abort(new DOMException('no answer in time', 'TimeoutError')), timeoutMs);
  const signals = signal === undefined ? unanswered.signal : AbortSignal.any([signal, unanswered.signal]);
  try {
    const response = await open(origin, request, options, signals);
    if (response.ok && response.body !== null) return response.body;
    throw refusalOf(response, parseJson(await response.text()));
  } finally {
    clearTimeout(timer);
  }
}

/** A redirect is not followed: its target would see the headers that authenticate the request. */
async function open(
  origin: string,
  { method, path, body, headers }: PreparedRequest,
  { fetch = globalThis.fetch, credentials, onAnswer }: SendOptions,
  signal: AbortSignal,
): Promise<Response> {
  const sent = { method, headers, body: body === '' ? null : body, signal, redirect: 'manual' as const };
  const response = await fetch(origin + path, credentials === undefined ? sent : { ...sent, credentials });
  onAnswer?.(response);
  // Browsers hide the status of a redirect.
  const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  if (isRedirect) throw new RedirectError(`${method} ${path} was answered with a redirect, which is not followed`);
  return response;
}

/** Another server than the exchange answers at this address, or the exchange has another base address. */
export class RedirectError extends TypeError {
  override readonly name = 'RedirectError';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The exchange answers every change with an object; text or a number does not come from it, even if it is JSON. */
function isResult(method: string, value: unknown): boolean {
  return method === 'GET' ? value !== undefined : typeof value === 'object' && value !== null;
}

function refusalOf({ status, headers }: Response, value: unknown): ApiError {
  // A proxy may answer in JSON, too.
  const [error, code] = [memberOf(value, 'error'), memberOf(value, 'code')];
  return new ApiError(
    status,
    typeof code === 'string' ? code : 'UNKNOWN',
    typeof error === 'string' ? error : `unexpected answer with HTTP status ${status}`,
    memberOf(value, 'details'),
    secondsOf(headers.get('retry-after')),
    headers.get('x-request-id'),
  );
}

/** Null for a date too: the exchange never sends one. */
function secondsOf(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
}

/** True if the request was refused because it was signed before the exchange started. */
export function isSignedBeforeStart(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status !== 401) return false;
  return memberOf(error.details, 'reason') === 'signed_before_start';
}
