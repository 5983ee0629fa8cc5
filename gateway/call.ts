/**
 * One request in flight: everything the stages learn about it, and the response it is answered on.
 * Owner: the gateway thread, from the uWebSockets.js handler until the answer.
 *
 * Invariants:
 *   K1  The request object of uWebSockets.js is gone when its handler returns, so what is needed is copied first.
 *   K2  A call is answered once. `answered` turns true with the answer, whether or not it could still be written.
 *   K3  After `aborted` the response is never touched: uWebSockets.js throws on it.
 */
import type { HttpResponse, us_socket_context_t } from 'uWebSockets.js';
import type { ApiKey, Credentials } from './auth/apiKeys.ts';
import type { Route } from './route.ts';
import type { Params } from './router.ts';

const NO_BODY = Buffer.alloc(0);
const NO_PARAMS: Params = Object.freeze({});
const NO_QUERY: Query = Object.freeze({});

export type Query = Readonly<Record<string, string | number | boolean>>;

/** Whether the limit stage lets a call on; a promise while shared counters are asked. */
export type Admission = boolean | Promise<boolean>;

/** What turns a request into a WebSocket. */
export type Upgrade = {
  readonly key: string;
  readonly protocol: string;
  readonly extensions: string;
  readonly context: us_socket_context_t;
};

export class Call {
  readonly response: HttpResponse;
  readonly method: string;
  readonly path: string;
  /** Null without a question mark; the empty string is a query of its own, and signed as such. */
  readonly rawQuery: string | null;
  readonly startedMs: number;

  route: Route | null = null;
  params: Params = NO_PARAMS;
  forwardedFor = '';
  /** Null when no key was offered. */
  credentials: Credentials | null = null;
  /** The Idempotency-Key header as sent, empty when absent; in lower case once its stage has passed it. */
  idempotencyKey = '';
  /** What the key and its payload are held under while this call is in flight; empty when nothing is held. */
  idempotencySlot = '';
  /** Of the payload that came with the key: a SHA-256 in hex. */
  idempotencyFingerprint = '';
  /** The X-SVC-DEADLINE header as sent, empty when absent. */
  deadline = '';
  /** What it says, in Unix milliseconds; 0 when it is absent. */
  deadlineMs = 0;

  /** Bytes of the body as the headers announce it, or CHUNKED or MALFORMED. */
  announcedBytes = 0;
  /** Exactly the bytes that came. */
  body: Buffer = NO_BODY;
  /** The body when the route has a schema for it; the schema has passed it. */
  json: unknown = undefined;
  query: Query = NO_QUERY;
  /** Whose request it is; null on public calls without a valid key and on the administrator's. */
  key: ApiKey | null = null;

  /** Of a call without a key, which is counted before its body is read. */
  admission: Admission = true;
  /** Ready to write; empty when nothing was counted. */
  rateLimitHeaders = '';
  /** Lines for browsers, the first without its name, which is Vary; empty where none are asked for. */
  browserLines = '';
  closesConnection = false;
  /** Null for a plain request. */
  upgrade: Upgrade | null = null;
  aborted = false;
  /** With its handler, which from then on owes the answer. */
  dispatched = false;
  answered = false;
  /** Of the answer; 0 while there is none. */
  status = 0;
  /** Told once, when the call is over. */
  readonly onAnswered: (call: Call) => void;

  constructor(
    response: HttpResponse,
    method: string,
    path: string,
    rawQuery: string | null,
    startedMs: number,
    onAnswered: (call: Call) => void,
  ) {
    this.response = response;
    this.method = method;
    this.path = path;
    this.rawQuery = rawQuery;
    this.startedMs = startedMs;
    this.onAnswered = onAnswered;
  }

  /** Path and query exactly as sent: what a key signs. */
  get target(): string {
    return this.rawQuery === null ? this.path : `${this.path}?${this.rawQuery}`;
  }
}
