/**
 * A call that came as a request over HTTP: status and header lines of its answer. Header lines that never change are
 * written as the value of the first one: uWebSockets.js copies a value as it is, so the lines after the first cost no
 * call of their own.
 */
import type { AnswerBody, AnswerOptions, Call, ServerResponse, Transport } from './call.ts';
import { retryAfterOf } from './refusal.ts';

/** An answer is data: a browser that navigates to one must not show, run or embed anything. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";
const COMMON_HEADERS = headerLines('no-store', DATA_POLICY);
/** uWebSockets.js closes a connection 8 to 12 seconds after an answer when no further request has come. */
const KEEP_ALIVE = '\r\nKeep-Alive: timeout=8';
const KEPT_HEADERS = COMMON_HEADERS + KEEP_ALIVE;
const JSON_HEADERS = `application/json\r\n${COMMON_HEADERS}`;
const KEPT_JSON_HEADERS = `application/json\r\n${KEPT_HEADERS}`;

export class HttpTransport implements Transport {
  readonly response: ServerResponse;
  /** uWebSockets.js reports it, and the call is aborted then. */
  readonly isGone = false;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  peer(): Uint8Array {
    return new Uint8Array(this.response.getRemoteAddress());
  }

  send(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
    write(call, status, body, options);
  }
}

/** Status and headers of an answer whose body follows in pieces, with the first. @returns whether it has left. */
export function beginLongAnswer(call: Call, text: string, contentType: string | undefined): boolean {
  const { response } = call;
  let isRead = true;
  response.cork(() => {
    response.writeHeader('Content-Type', headersOf(contentType, call.isKeptAlive && !call.closesConnection));
    writeCommonHeaders(call);
    isRead = response.write(text);
  });
  return isRead;
}

/** Status and headers of server-sent events, whose connection stays open. */
export function beginEventStream(call: Call): void {
  const { response } = call;
  response.cork(() => {
    response.writeStatus('200 OK');
    response.writeHeader('Content-Type', `text/event-stream\r\n${COMMON_HEADERS}`);
    writeCommonHeaders(call);
  });
}

/** The lines of a file that a cache may keep. @param policy empty: nothing but what data may do. */
export function fileLines(contentType: string, cacheControl: string, policy: string, encoding: string): string {
  return [
    contentType,
    headerLines(cacheControl, policy === '' ? DATA_POLICY : policy),
    'Vary: Accept-Encoding',
    ...(encoding === '' ? [] : [`Content-Encoding: ${encoding}`]),
  ].join('\r\n');
}

function write(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
  const { response } = call;
  const { contentType } = options;
  const retryAfterSec = retryAfterOf(status, options);
  response.cork(() => {
    // 200 OK is what uWebSockets.js writes by itself.
    if (status !== 200) response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    const isKept = call.isKeptAlive && !call.closesConnection;
    if (options.headerLines === undefined) response.writeHeader('Content-Type', headersOf(contentType, isKept));
    else response.writeHeader('Content-Type', options.headerLines + (isKept ? KEEP_ALIVE : ''));
    writeCommonHeaders(call);
    if (call.setCookie !== '') response.writeHeader('Set-Cookie', call.setCookie);
    if (retryAfterSec > 0) response.writeHeader('Retry-After', String(retryAfterSec));
    if (options.isReplayed) response.writeHeader('Idempotency-Replayed', 'true');
    if (options.location !== undefined) response.writeHeader('Location', options.location);
    if (options.allow !== undefined) response.writeHeader('Allow', options.allow);
    if (call.method === 'HEAD') endHead(call, options.isInPieces === true ? null : body);
    else response.end(body, call.closesConnection);
  });
}

/** The headers of every answer that depend on its request. */
function writeCommonHeaders({ response, host, id, rateLimitHeaders, corsLines }: Call): void {
  response.writeHeader('X-Request-Id', id);
  if (host.role !== undefined) response.writeHeader('X-SVC-Role', host.role.lines());
  if (rateLimitHeaders !== '') response.writeHeader('X-RateLimit-Decision', rateLimitHeaders);
  if (corsLines !== '') response.writeHeader('Vary', corsLines);
}

/**
 * A body after HEAD would be read as the start of the next response; its length is that of the answer to GET. It is not
 * an argument, because uWebSockets.js would then wait for that body; nor can it close the connection without a length.
 */
function endHead({ response, closesConnection }: Call, body: AnswerBody | null): void {
  if (closesConnection) {
    response.end('', true);
    return;
  }
  if (body !== null) response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
  response.endWithoutBody();
}

function headerLines(cacheControl: string, policy: string): string {
  return [
    `Cache-Control: ${cacheControl}`,
    'X-Content-Type-Options: nosniff',
    `Content-Security-Policy: ${policy}`,
    'Referrer-Policy: no-referrer',
  ].join('\r\n');
}

function headersOf(contentType: string | undefined, isKept: boolean): string {
  if (contentType === undefined) return isKept ? KEPT_JSON_HEADERS : JSON_HEADERS;
  return `${contentType}\r\n${isKept ? KEPT_HEADERS : COMMON_HEADERS}`;
}

const STATUS_LINES: ReadonlyMap<number, string> = new Map([
  [201, '201 Created'],
  [202, '202 Accepted'],
  [302, '302 Found'],
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
