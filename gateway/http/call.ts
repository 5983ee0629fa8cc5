/**
 * One request in flight: everything that the stages learn about it. Its headers, the transport that carries it and its
 * answer, the moments of its stages and what is recorded of an administrator's change are records of their own.
 * Owner: the gateway thread, from the uWebSockets.js handler until the answer.
 *
 * Invariants:
 *   CALL-1  The request object of uWebSockets.js is invalid once its handler has returned, so everything needed later
 *           is copied before.
 *   CALL-2  A call is answered once. `answered` turns true with the answer, whether or not it could still be written.
 *   CALL-3  After `aborted` the transport is never touched: uWebSockets.js throws on it.
 *   CALL-4  The bytes of the body belong to uWebSockets.js and are valid in the turn in which the body was complete; a
 *           call that waits before its validation keeps a copy.
 */
import type { us_socket_context_t } from 'uWebSockets.js';
import { assert } from '../../shared/base/assert.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import { nowUs } from '../../shared/base/stopwatch.ts';
import type { KeptFor } from '../access/connectionLimits.ts';
import type { Offered } from '../access/credentialOf.ts';
import type { Lane } from '../base/askers.ts';
import { ANONYMOUS, isAccount, type Principal } from '../base/principal.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import type { Role } from '../base/role.ts';
import type { Audited } from './audited.ts';
import { NO_HEADERS, type RequestHeaders } from './headers.ts';
import type { IdempotencyHold } from './hold.ts';
import { Moments } from './requestTimes.ts';
import type { FullSpec } from './spec.ts';

const NO_BYTES = Buffer.alloc(0);
const EMPTY = Object.freeze({});

export const NOT_RECEIVING = -1;

/** True if a stage lets the call pass; a promise while a shared counter is asked. */
export type Passage = boolean | Promise<boolean>;

/**
 * Rows of an answer: texts, or bytes, which are sent as they are, each a piece by itself. A promise stands for rows
 * that are not available yet: continue once it resolves. `return` is called when the answer is over.
 */
export type Rows = Iterator<string | Buffer | Promise<unknown>>;

export type AnswerOptions = Pick<Refusal, 'retryAfterSec' | 'allow' | 'contentRange'> & {
  /** The address to which a browser is redirected. */
  readonly location?: string;
  /** Default: JSON. */
  readonly contentType?: string | undefined;
  /** The value of Content-Type and the lines after it, instead of the common ones. */
  readonly headerLines?: string;
  /** The stored answer of an earlier request with the same key. */
  readonly isReplayed?: boolean;
  /** The answer to GET would be written in pieces, so its length is not known. */
  readonly isInPieces?: boolean;
  /** The length of the answer to GET, if that is not the length of this one. */
  readonly bodyBytes?: number;
};

/** A text, or its bytes. */
export type AnswerBody = string | Buffer;

/** The part of uWebSockets.js's response that is used, or its replacement if a front thread has the response. */
export type ServerResponse = {
  cork(write: () => void): unknown;
  writeStatus(status: string): unknown;
  /** Bytes of a value are copied before it returns. */
  writeHeader(name: string, value: string | Buffer): unknown;
  write(piece: AnswerBody): boolean;
  end(body?: AnswerBody, closesConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  close(): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  onData(handler: (bytes: ArrayBuffer, isLast: boolean) => void): unknown;
  getRemoteAddress(): ArrayBuffer;
  upgrade(data: object, key: string, protocol: string, extensions: string, context: us_socket_context_t | null): void;
};

/**
 * The transport of a call and its answer: an HTTP request, or a message on a logged-in socket. Stages and handlers set
 * here what goes out beside the answer; a message has no place for it, and drops it.
 */
export abstract class Transport {
  /** Null if there is none: only HTTP-only routes write to it themselves. */
  abstract readonly response: ServerResponse | null;
  /** The client has gone away while the call waited, and nothing has aborted the call. */
  abstract readonly isGone: boolean;
  /** The client's address as proxies state it; empty where none is trusted. */
  forwardedFor = '';
  /** The subject under which a call without credentials is counted; empty if it is not counted. */
  subject = '';
  /** The request has come in through the door of the administrators. */
  isAtAdminDoor = false;
  /** Null for a plain request. */
  upgrade: Upgrade | null = null;
  /** The index of its call among those whose body is being received, or NOT_RECEIVING. */
  receivingAt: number = NOT_RECEIVING;
  /** Called when the client goes away while a long answer is being written; null at all other times. */
  onGone: (() => void) | null = null;

  /** Header lines ready to write; empty when nothing was counted. */
  rateLimitHeaders = '';
  /** CORS header lines, written as the value of Vary; empty where none apply. */
  corsLines = '';
  /** The value of Set-Cookie, where several follow each other as lines of their own; empty for none. */
  setCookie = '';
  closesConnection = false;
  /**
   * The senders whose connection stays open after this answer. If that is not everyone, connections are scarce, or
   * this thread has more requests in a turn than it can serve.
   */
  keptFor: KeptFor = 'everyone';

  /** The address at the other end, as its socket has it; empty when there is none any more. */
  abstract peer(): Uint8Array;
  /** Sends the whole answer, once. */
  abstract send(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void;
}

/** Values in memory that is used again after this turn of the event loop. */
export type Keepable = {
  /** The same values in memory of their own. */
  kept(): Keepable;
};

/**
 * The parts of a call that were read before its stages; they replace what a stage would compute from the request. They
 * are valid in the turn of the event loop in which they have come, like the body (CALL-4).
 */
export type ReadAhead = ReadMessage | ReadRecord | ReadByFront;

/** A message of JSON on a socket: its value is checked by the route's schema, like the text of a body. */
type ReadMessage = {
  readonly kind: 'message';
  readonly value: unknown;
  /** Empty if absent, like the header. */
  readonly deadline: string;
  /** Replaces the value with what the route's scanner has read (route.ts); null if nothing was scanned. */
  readonly scanned: Keepable | null;
};

/** A binary record on a socket: its reader has checked it, and states its fault, or null. */
type ReadRecord = {
  readonly kind: 'record';
  readonly value: unknown;
  readonly invalid: Invalid | null;
};

/** Results that a front thread has read from a complete request. */
export type ReadByFront = {
  readonly kind: 'front';
  readonly headers: RequestHeaders;
  readonly body: Buffer;
  /** The number of the secret that verified its signature (HmacKey). */
  readonly verifiedWith: number;
  /** The scanned body; null if it has to be parsed. */
  readonly scanned: object | null;
};

/** Changes of control.db in a cluster: the answer to a change waits until the replicated log holds it. */
export type HeldChanges = {
  /** It grows with each change. */
  readonly sequence: number;
  /** True if the log holds every change so far. */
  readonly isHeld: boolean;
  /** Resolves when the log holds every change so far; rejects if that cannot be expected. */
  held(): Promise<void>;
};

/** The start of a long answer that has not begun. */
export type Collected = { readonly text: string; readonly contentType: string | undefined };

/** The pipeline that a call runs through. */
export type CallHost = {
  /** Called once, when the call is over. */
  readonly onAnswered: (call: Call) => void;
  /** The client has gone away. */
  abort(call: Call): void;
  /** Undefined without a cluster. */
  readonly role: Role | undefined;
  /** True if browsers should connect only over TLS. */
  readonly isHttps: boolean;
  readonly nextRequestId: () => string;
  /** Null without a cluster. */
  readonly changes: HeldChanges | null;
  /** The writer of the answers that take several turns of the event loop (longAnswers.ts). */
  readonly longAnswers: {
    admits(call: Call): boolean;
    continue(call: Call, rows: Rows, isRead: boolean, awaited: Promise<unknown> | null): void;
    collect(call: Call, rows: Rows, collected: Collected, awaited: Promise<unknown> | null): void;
  };
};

/** The parameters that turn a request into a WebSocket. */
export type Upgrade = {
  readonly key: string;
  readonly protocol: string;
  readonly extensions: string;
  /** Null where a front thread keeps it. */
  readonly context: us_socket_context_t | null;
};

export class Call {
  readonly transport: Transport;
  readonly method: string;
  readonly path: string;
  /** Null without a question mark; an empty query is different, and is signed as such. */
  readonly rawQuery: string | null;
  readonly startedMs: number;

  route: FullSpec | null = null;
  /** Those of the HTTP request; a message has none. */
  headers: Readonly<RequestHeaders> = NO_HEADERS;
  /** Not verified before the body is complete; null without one, or if a refused one counts as none. */
  offered: Offered | null = null;
  /** The result of the address limit, which a call without a key must pass before its body is read. */
  addressPassage: Passage = true;
  /** The idempotency key as sent, empty when absent; in lower case once its stage has passed it. */
  idempotencyKey = '';
  /** Null when the call has no idempotency key. */
  idempotencyHold: IdempotencyHold | null = null;
  /** The deadline in Unix milliseconds; 0 when there is none. */
  deadlineMs = 0;

  /** The body exactly as it was received and signed (CALL-4). */
  bodyBytes: Buffer = NO_BYTES;
  /** Null: the stages read everything themselves. */
  ahead: ReadAhead | null = null;
  /** The scanned body, instead of `body`; null if the body was parsed into `body`. */
  scanned: object | null = null;

  // The following four have the types that the route's declaration gives them in its handler (route.ts).
  params: unknown = EMPTY;
  query: unknown = EMPTY;
  body: unknown = undefined;
  principal: Principal = ANONYMOUS;
  /** The facts that are recorded of an administrator's call; null for every other. */
  audited: Audited | null = null;

  aborted = false;
  /** The handler was called and must answer. */
  dispatched = false;
  answered = false;
  /** The status of the answer; 0 while there is none. */
  status = 0;
  /** The row of the error table with which it is refused; null when it is not. */
  refusedAs: ErrorRow | null = null;
  readonly moments = new Moments();
  #id = '';
  readonly host: CallHost;
  /** The sequence of changes when the call came in; what it changes comes after it. */
  readonly changesBefore: number;
  /**
   * The role's time (base/role.ts) when the call came in: later reads are at least as recent, unless `limitAsOf` lowers
   * it.
   */
  asOfMs: number | null;

  constructor(
    transport: Transport,
    method: string,
    path: string,
    rawQuery: string | null,
    startedMs: number,
    host: CallHost,
  ) {
    // Not where it is made: without a call in between, V8 makes it and the call in one piece of memory.
    this.moments.arrivedUs = nowUs();
    this.transport = transport;
    this.method = method;
    this.path = path;
    this.rawQuery = rawQuery;
    this.startedMs = startedMs;
    this.host = host;
    this.changesBefore = host.changes === null ? 0 : host.changes.sequence;
    this.asOfMs = host.role === undefined ? null : host.role.asOfMs;
  }

  /** The response of a call over HTTP. */
  get response(): ServerResponse {
    const { response } = this.transport;
    assert(response !== null, 'call: only HTTP carries the routes that write their answers themselves');
    return response;
  }

  /** The lane in which its queries have their turns (base/askers.ts). */
  get lane(): Lane {
    return isAccount(this.principal) ? this.principal.accountIndex : this.transport.subject;
  }

  /** Its client has gone away. */
  get isGone(): boolean {
    return this.aborted || this.transport.isGone;
  }

  /** The name of this request in its answer and in the log. */
  get id(): string {
    if (this.#id === '') this.#id = this.host.nextRequestId();
    return this.#id;
  }

  /** From here on the call reads read.db, without waiting until it is as recent as the rest. */
  readsPast(): void {
    this.limitAsOf(this.host.role?.pastAsOfMs ?? null);
  }

  /** Its answer is no more recent than this, on a standby. Null if that is unknown. */
  limitAsOf(asOfMs: number | null): void {
    if (this.asOfMs !== null) this.asOfMs = asOfMs === null ? null : Math.min(this.asOfMs, asOfMs);
  }

  /** CALL-2: the answer is decided and cannot change any more. */
  markAnswered(): void {
    this.answered = true;
    this.moments.answeredUs = nowUs();
  }

  /** Path and query exactly as sent, as a key signs them. */
  get target(): string {
    return this.rawQuery === null ? this.path : `${this.path}?${this.rawQuery}`;
  }
}
