/**
 * A call that came as a request over HTTP: status and header lines of its answer. The common header lines of all
 * answers are written as the value of the first one: uWebSockets.js copies a value unchanged, so the further lines cost
 * no separate calls. They are cached as bytes, which it copies directly, while a text would be measured and encoded
 * each time; only the request's id is inserted.
 *
 * Invariants:
 *   HTTPTRANSPORT-1  A response that is not over when its request has been handled has an abort handler: uWebSockets.js
 *                    ends the process otherwise. Most reads are answered in that turn, so they need none.
 *   HTTPTRANSPORT-2  While a request is being handled uWebSockets.js has corked its response; later `cork` does it.
 */
import { assert } from '../../shared/base/assert.ts';
import { retryAfterOf } from '../base/refusal.ts';
import { type AnswerBody, type AnswerOptions, type Call, type ServerResponse, Transport } from './call.ts';
import { ID_LENGTH } from './requestIds.ts';

/** An answer is data: a browser that navigates to one must not show, run or embed anything. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'";
const COMMON_HEADERS = headerLines('no-store', DATA_POLICY);
/** uWebSockets.js closes a connection 8 to 12 seconds after an answer when no further request has come. */
const KEEP_ALIVE = '\r\nKeep-Alive: timeout=8';
export const JSON_TYPE = 'application/json';
const NOT_MODIFIED = 304;
/** A year; afterwards a browser that has not returned would try plain HTTP again. */
const ONLY_OVER_TLS = 'max-age=31536000';

/** Lines of a header, from a value of Content-Type on, with room for the id of a request. */
class PreparedLines {
  readonly #bytes: Buffer;
  readonly #idAt: number;

  /** @param lines in ASCII */
  constructor(lines: string) {
    const beforeId = `${lines}\r\nX-Request-Id: `;
    this.#idAt = beforeId.length;
    this.#bytes = Buffer.from(beforeId + ' '.repeat(ID_LENGTH));
  }

  /** The bytes are those of the next call as well. */
  for({ id }: Call): Buffer {
    assert(id.length === ID_LENGTH, 'transport: an id fits where it belongs');
    for (let index = 0; index < ID_LENGTH; index++) this.#bytes[this.#idAt + index] = id.charCodeAt(index);
    return this.#bytes;
  }
}

export class HttpTransport extends Transport {
  readonly response: ServerResponse;
  /** uWebSockets.js reports it, and the call is aborted then. */
  readonly isGone = false;
  /** The request is being handled, in the turn in which it has come, by the thread that has its connection. */
  isBeingHandled: boolean;
  /** The answer was written, or its writer watches for the end of the response itself. */
  isOver = false;

  constructor(response: ServerResponse, isBeingHandled = false) {
    super();
    this.response = response;
    this.isBeingHandled = isBeingHandled;
  }

  /** The turn of the request is over (HTTPTRANSPORT-1). */
  handled(onAborted: () => void): void {
    this.isBeingHandled = false;
    if (!this.isOver) this.response.onAborted(onAborted);
  }

  peer(): Uint8Array {
    return new Uint8Array(this.response.getRemoteAddress());
  }

  send(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
    // HTTPTRANSPORT-2.
    if (this.isBeingHandled) write(call, status, body, options);
    else this.response.cork(() => write(call, status, body, options));
    this.isOver = true;
  }
}

/**
 * Status and headers of an answer whose body follows in pieces, with the first. Only here can the client be informed
 * that this is the last answer on its connection: the client closes it, or the answer to its next request does.
 * @param ownLines in place of the common ones, from the value of Content-Type on
 * @returns true if the piece was sent
 */
export function beginLongAnswer(
  call: Call,
  text: AnswerBody,
  contentType: string | undefined,
  ownLines?: string,
): boolean {
  const { response } = call;
  let isRead = true;
  response.cork(() => {
    if (call.status !== 200) response.writeStatus(statusLine(call.status));
    writeCommonHeaders(call, contentType, ownLines);
    if (call.transport.closesConnection) response.writeHeader('Connection', 'close');
    isRead = response.write(text);
  });
  return isRead;
}

/** Status and headers of server-sent events. The connection stays open, and the writer watches for its end. */
export function beginEventStream(call: Call): void {
  const { response, transport } = call;
  assert(transport instanceof HttpTransport, 'transport: only HTTP carries events of a server');
  response.cork(() => {
    response.writeStatus('200 OK');
    writeCommonHeaders(call, undefined, `text/event-stream\r\n${COMMON_HEADERS}`);
  });
  transport.isOver = true;
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

/** In a `cork`. */
function write(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
  const { response, transport } = call;
  const retryAfterSec = retryAfterOf(status, options);
  // 200 OK is what uWebSockets.js writes by itself.
  if (status !== 200) response.writeStatus(statusLine(status));
  const { headerLines } = options;
  const isOpen = headerLines !== undefined && isKept(call);
  writeCommonHeaders(call, options.contentType, isOpen ? headerLines + KEEP_ALIVE : headerLines);
  if (transport.setCookie !== '') response.writeHeader('Set-Cookie', transport.setCookie);
  if (retryAfterSec > 0) response.writeHeader('Retry-After', String(retryAfterSec));
  if (options.isReplayed) response.writeHeader('Idempotency-Replayed', 'true');
  if (options.location !== undefined) response.writeHeader('Location', options.location);
  if (options.allow !== undefined) response.writeHeader('Allow', options.allow);
  if (options.contentRange !== undefined) response.writeHeader('Content-Range', options.contentRange);
  if (call.method === 'HEAD' || status === NOT_MODIFIED) endHead(call, lengthOf(body, options));
  else response.end(body, transport.closesConnection);
}

/** The headers of every answer. @param ownLines in place of the common ones, from the value of Content-Type on */
function writeCommonHeaders(call: Call, contentType: string | undefined, ownLines: string | undefined): void {
  const { response, host, asOfMs } = call;
  const { rateLimitHeaders, corsLines } = call.transport;
  if (contentType === undefined && ownLines === undefined) {
    response.writeHeader('Content-Type', (isKept(call) ? KEPT_JSON_LINES : JSON_LINES).for(call));
  } else {
    const common = isKept(call) ? COMMON_HEADERS + KEEP_ALIVE : COMMON_HEADERS;
    response.writeHeader('Content-Type', ownLines ?? `${contentType}\r\n${common}`);
    response.writeHeader('X-Request-Id', call.id);
  }
  if (host.isHttps) response.writeHeader('Strict-Transport-Security', ONLY_OVER_TLS);
  if (host.role !== undefined) response.writeHeader('X-SVC-Role', host.role.lines(asOfMs));
  if (rateLimitHeaders !== '') response.writeHeader('X-RateLimit-Decision', rateLimitHeaders);
  if (corsLines !== '') response.writeHeader('Vary', corsLines);
}

function isKept({ headers, transport }: Call): boolean {
  return headers.isKeptAlive && !transport.closesConnection;
}

/**
 * A body after HEAD, or with 304, would be read as the start of the next response; its length is that of the answer to
 * GET. It is not an argument, because uWebSockets.js would then wait for that body; nor can it close the connection
 * without a length.
 */
function endHead({ response, transport }: Call, bodyBytes: number | null): void {
  if (transport.closesConnection) {
    response.end('', true);
    return;
  }
  if (bodyBytes !== null) response.writeHeader('Content-Length', String(bodyBytes));
  response.endWithoutBody();
}

/** That of the answer to GET; null if it is not known. */
function lengthOf(body: AnswerBody, { isInPieces, bodyBytes }: AnswerOptions): number | null {
  return isInPieces === true ? null : (bodyBytes ?? Buffer.byteLength(body));
}

function statusLine(status: number): string {
  return STATUS_LINES.get(status) ?? String(status);
}

function headerLines(cacheControl: string, policy: string): string {
  return [
    `Cache-Control: ${cacheControl}`,
    'X-Content-Type-Options: nosniff',
    `Content-Security-Policy: ${policy}`,
    'Referrer-Policy: no-referrer',
  ].join('\r\n');
}

const KEPT_JSON_LINES = new PreparedLines(`${JSON_TYPE}\r\n${COMMON_HEADERS}${KEEP_ALIVE}`);
const JSON_LINES = new PreparedLines(`${JSON_TYPE}\r\n${COMMON_HEADERS}`);

const STATUS_LINES: ReadonlyMap<number, string> = new Map([
  [201, '201 Created'],
  [202, '202 Accepted'],
  [206, '206 Partial Content'],
  [302, '302 Found'],
  [304, '304 Not Modified'],
  [400, '400 Bad Request'],
  [401, '401 Unauthorized'],
  [403, '403 Forbidden'],
  [404, '404 Not Found'],
  [405, '405 Method Not Allowed'],
  [409, '409 Conflict'],
  [413, '413 Payload Too Large'],
  [416, '416 Range Not Satisfiable'],
  [422, '422 Unprocessable Entity'],
  [423, '423 Locked'],
  [429, '429 Too Many Requests'],
  [500, '500 Internal Server Error'],
  [503, '503 Service Unavailable'],
]);
