/**
 * The only writer of status, headers and bodies. Every refusal is a row of the error table; a 503 always says when to
 * come back. Header lines that never change are written as one: uWebSockets.js copies a value as it is, so the lines
 * after the first ride in it and cost no call of their own.
 */
import { ERRORS, type ErrorRow, type Storable } from '../shared/errors.ts';
import type { Call } from './call.ts';

export type FailOptions = {
  /** Instead of the row's; never a text that a client has to tell apart without its code. */
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSec?: number;
  /** The methods a 405 offers. */
  readonly allow?: string;
};

/** An error and what it says beyond its row. */
export type Refusal = { readonly row: ErrorRow; readonly options?: FailOptions };

type AnswerOptions = FailOptions & {
  /** Of a body that is not JSON. */
  readonly contentType?: string;
  /** It was given before, to the same key. */
  readonly isReplayed?: boolean;
};

/** An answer is data: a browser that is led to one shows, runs and embeds nothing. */
const COMMON_HEADERS = [
  'Cache-Control: no-store',
  'X-Content-Type-Options: nosniff',
  "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy: no-referrer',
].join('\r\n');
const JSON_HEADERS = `application/json\r\n${COMMON_HEADERS}`;
const DEFAULT_RETRY_AFTER_SEC = 1;
const SERVICE_UNAVAILABLE = 503;
const REPLAYED: AnswerOptions = Object.freeze({ isReplayed: true });
const NO_OPTIONS: AnswerOptions = Object.freeze({});

/** A string is JSON already. */
export function ok(call: Call, body: string | object, status = 200): void {
  answer(call, status, typeof body === 'string' ? body : JSON.stringify(body), NO_OPTIONS);
}

export function okAs(call: Call, contentType: string, body: string): void {
  answer(call, 200, body, { contentType });
}

/** Status and headers of server-sent events. The call is over: what follows is the business of whoever writes it. */
export function beginEventStream(call: Call): void {
  if (call.answered) return;
  call.answered = true;
  call.status = 200;
  const { response } = call;
  try {
    if (call.aborted) return;
    response.cork(() => {
      response.writeStatus('200 OK');
      response.writeHeader('Content-Type', `text/event-stream\r\n${COMMON_HEADERS}`);
      if (call.rateLimitHeaders !== '') response.writeHeader('X-RateLimit-Decision', call.rateLimitHeaders);
    });
  } finally {
    call.onAnswered(call);
  }
}

export function fail(call: Call, row: ErrorRow, options: FailOptions = NO_OPTIONS): void {
  const isPlain = options.message === undefined && options.details === undefined;
  if (row === ERRORS.OUTCOME_UNKNOWN) call.isUnresolved = true;
  answer(call, row.status, isPlain ? plainBody(row) : errorBody(row, options), options, row.storable);
}

/** What the same key was answered before (RULES.md 6.7). */
export function replay(call: Call, status: number, body: string): void {
  answer(call, status, body, REPLAYED);
}

function answer(call: Call, status: number, body: string, options: AnswerOptions, storable: Storable = 'always'): void {
  if (call.answered) return;
  call.answered = true;
  const kept = call.idempotencyHold?.toKeep({ status, body }, storable) ?? null;
  if (kept === null) {
    send(call, status, body, options);
    return;
  }
  call.idempotencyHold!.keep(kept, (isKept) => {
    if (isKept) send(call, status, body, options);
    // It was carried out or refused, but who asks again might hear something else: so it was not answered.
    else send(call, ERRORS.OUTCOME_UNKNOWN.status, plainBody(ERRORS.OUTCOME_UNKNOWN), NO_OPTIONS);
  });
}

function send(call: Call, status: number, body: string, options: AnswerOptions): void {
  call.status = status;
  // uWebSockets.js forgets to close when the next request already waits in the buffer it is reading, and would serve
  // it: a smuggled one, too. While an answer is owed it closes instead, so this one is owed until the buffer is read.
  if (call.closesConnection) setImmediate(finish, call, status, body, options);
  else finish(call, status, body, options);
}

function finish(call: Call, status: number, body: string, options: AnswerOptions): void {
  try {
    if (!call.aborted) write(call, status, body, options);
  } finally {
    call.onAnswered(call);
  }
}

function write(call: Call, status: number, body: string, options: AnswerOptions): void {
  const { response } = call;
  const retryAfterSec = options.retryAfterSec ?? (status === SERVICE_UNAVAILABLE ? DEFAULT_RETRY_AFTER_SEC : 0);
  const { contentType } = options;
  response.cork(() => {
    // 200 OK is what uWebSockets.js writes by itself.
    if (status !== 200) response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    const headers = contentType === undefined ? JSON_HEADERS : `${contentType}\r\n${COMMON_HEADERS}`;
    response.writeHeader('Content-Type', headers);
    if (call.rateLimitHeaders !== '') response.writeHeader('X-RateLimit-Decision', call.rateLimitHeaders);
    if (call.browserLines !== '') response.writeHeader('Vary', call.browserLines);
    if (retryAfterSec > 0) response.writeHeader('Retry-After', String(retryAfterSec));
    if (options.isReplayed) response.writeHeader('Idempotency-Replayed', 'true');
    if (options.allow !== undefined) response.writeHeader('Allow', options.allow);
    // A body after HEAD would be read as the start of the next response.
    response.end(call.method === 'HEAD' ? '' : body, call.closesConnection);
  });
}

function plainBody(row: ErrorRow): string {
  let body = PLAIN_BODIES.get(row);
  if (body === undefined) {
    body = errorBody(row, NO_OPTIONS);
    PLAIN_BODIES.set(row, body);
  }
  return body;
}

/** The members of an error body; one that is undefined is none. */
export function errorFields(row: ErrorRow, options: FailOptions = NO_OPTIONS): object {
  return { error: options.message ?? row.message, code: row.code, details: options.details };
}

function errorBody(row: ErrorRow, options: FailOptions): string {
  return JSON.stringify(errorFields(row, options));
}

const PLAIN_BODIES = new Map<ErrorRow, string>();

const STATUS_LINES: ReadonlyMap<number, string> = new Map([
  [201, '201 Created'],
  [202, '202 Accepted'],
  [400, '400 Bad Request'],
  [401, '401 Unauthorized'],
  [403, '403 Forbidden'],
  [404, '404 Not Found'],
  [405, '405 Method Not Allowed'],
  [409, '409 Conflict'],
  [413, '413 Payload Too Large'],
  [422, '422 Unprocessable Entity'],
  [423, '423 Locked'],
  [429, '429 Too Many Requests'],
  [500, '500 Internal Server Error'],
  [503, '503 Service Unavailable'],
]);
