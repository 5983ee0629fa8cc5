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
import type { Storable } from '../shared/errors.ts';
import type { ApiKey, Credentials } from './auth/apiKeys.ts';
import type { Route } from './route.ts';
import type { Params } from './router.ts';

const NO_BODY = Buffer.alloc(0);
const NO_PARAMS: Params = Object.freeze({});
const NO_QUERY: Query = Object.freeze({});

/** An answer as a key keeps it. */
export type KeptAnswer = { readonly status: number; readonly body: string };

/** A key in the hands of the call that will answer for it (idempotency.ts). */
export type IdempotencyHold = {
  readonly slot: string;
  /** It may have been carried out before, by a request whose answer was lost. */
  readonly isUnresolved: boolean;
  /** Where the key is used; the row of a batch comes with each order. */
  readonly place: {
    readonly account: number;
    readonly route: number;
    readonly key: Uint8Array;
    readonly fingerprint: Uint8Array;
  };
  /** The same as a command carries it. */
  readonly words: { readonly words: Uint32Array; readonly fingerprint: Uint32Array };
  toKeep(answer: KeptAnswer, storable: Storable): KeptAnswer | null;
  keep(answer: KeptAnswer, whenKept: (isKept: boolean) => void): void;
};

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
  /** The X-SVC-DEADLINE header as sent, empty when absent. */
  deadline = '';
  /** What it says, in Unix milliseconds; 0 when it is absent. */
  deadlineMs = 0;
  /** Of a call that answers for its key; null when it has none. */
  idempotencyHold: IdempotencyHold | null = null;
  /** Part of it may have been done or not: the key stays open for the retry that finds out. */
  isUnresolved = false;

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
