/**
 * Requests about orders over a socket in place of HTTP (RULES.md 8.13 to 8.22), as JSON or as binary records. It
 * carries the requests that its form supports while its connection is open; all others go over HTTP, so a client that
 * uses it has the same methods, answers and errors.
 *
 * Invariants:
 *   ORDERSOCKET-1  A sent request is answered, or fails without an answer when the connection is lost or its time is
 *                  up: it may have been carried out (retry.ts decides what follows).
 *   ORDERSOCKET-2  At most `mostInFlight` requests are unanswered; the others wait, unsent, in their order.
 */

import { deferred } from '../../base/deferred.ts';
import { ENTRY_PROTOCOL } from '../../wire/entry.ts';
import { ApiError, DEFAULT_TIMEOUT_MS } from '../http.ts';
import type { HeaderFields } from '../request.ts';
import { connect, type StreamOptions } from './connect.ts';
import type { StreamConnection } from './connection.ts';
import { type Encoded, FORMS, type OrderForm, type Received } from './orderForms.ts';

export type OrderSocketOptions = {
  /** `json`, the default, or `binary`, which cannot carry batches, order groups and cancels by client order id. */
  readonly form?: OrderForm;
  /** At most 1,024; the default is 512. */
  readonly mostInFlight?: number;
};

type Waiting = {
  readonly encode: (id: number) => Encoded;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Converts the answer of a record into the body of its route. */
  readonly bodyOf: (received: Received) => unknown;
};

type Limits = { readonly timeoutMs?: number; readonly signal?: AbortSignal };

const DEFAULT_MOST_IN_FLIGHT = 512;
const MOST_ID = 0xffff_ffff;
/** The cause of failures in which nothing was done (retry.ts). */
const NOT_SENT = { code: 'ECONNREFUSED' };

export class OrderSocket {
  readonly #form: OrderForm;
  readonly #mostInFlight: number;
  readonly #connection: StreamConnection;
  readonly #inFlight = new Map<number, Waiting>();
  /** ORDERSOCKET-2. */
  readonly #queue = new Set<Waiting>();
  /** The requests of this turn of the event loop, which are sent together at its end. */
  #outbox: Encoded[] = [];
  #lastId = 0;
  #isOpen = false;
  readonly #ready = deferred<void>();

  constructor(access: StreamOptions, { form = 'json', mostInFlight = DEFAULT_MOST_IN_FLIGHT }: OrderSocketOptions) {
    this.#form = form;
    this.#mostInFlight = mostInFlight;
    this.#ready.promise.catch(() => {});
    const handler = {
      opened: () => this.#opened(),
      received: () => {},
      receivedRaw: (data: unknown) => this.#received(data),
      lost: () => this.#lost(),
      failed: (error: Error) => this.#failed(error),
    };
    this.#connection = connect(access, handler, form === 'binary' ? ENTRY_PROTOCOL : undefined);
    this.#connection.start();
  }

  /** Resolves when the connection has been opened; rejects, and closes it, if it cannot be or takes too long. */
  async ready(timeoutMs = DEFAULT_TIMEOUT_MS): Promise<void> {
    const timer = setTimeout(() => {
      this.#ready.reject(new DOMException('the socket was not opened in time', 'TimeoutError'));
      this.close();
    }, timeoutMs);
    try {
      await this.#ready.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Null: the request has to go over HTTP. */
  trySend<T>(
    method: string,
    path: string,
    payload: unknown,
    headers: HeaderFields | undefined,
    limits: Limits,
  ): Promise<T> | null {
    if (!this.#isOpen) return null;
    const request = FORMS[this.#form].toRequest(method, path, payload, headers ?? {});
    return request === null ? null : this.#send<T>(request, limits);
  }

  /** Unanswered requests fail as if the connection were lost; later requests go over HTTP. */
  close(): void {
    this.#connection.close();
    this.#lost();
    this.#ready.reject(new Error('the socket was closed'));
  }

  #send<T>(
    request: Pick<Waiting, 'encode' | 'bodyOf'>,
    { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: Limits,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = (reason: unknown): void => {
        this.#queue.delete(waiting);
        finish();
        reject(reason);
      };
      const abort = (): void => leave(signal!.reason);
      const timer = setTimeout(() => {
        leave(new DOMException('no answer in time', 'TimeoutError'));
        // A connection that answers nothing is useless for other requests too.
        this.#connection.drop('no answer in time');
      }, timeoutMs);
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const waiting: Waiting = {
        ...request,
        resolve: (value) => {
          finish();
          resolve(value as T);
        },
        reject: (error) => {
          finish();
          reject(error);
        },
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      this.#queue.add(waiting);
      this.#sendQueued();
    });
  }

  #sendQueued(): void {
    for (const waiting of this.#queue) {
      if (this.#inFlight.size >= this.#mostInFlight) return;
      this.#queue.delete(waiting);
      this.#lastId = this.#lastId === MOST_ID ? 1 : this.#lastId + 1;
      this.#inFlight.set(this.#lastId, waiting);
      if (this.#outbox.length === 0) queueMicrotask(() => this.#flush());
      this.#outbox.push(waiting.encode(this.#lastId));
    }
  }

  #flush(): void {
    const outbox = this.#outbox;
    this.#outbox = [];
    if (this.#isOpen) for (const message of FORMS[this.#form].joined(outbox)) this.#connection.sendNow(message);
  }

  #opened(): void {
    this.#isOpen = true;
    this.#connection.settled();
    this.#ready.resolve();
  }

  #received(data: unknown): void {
    for (const received of FORMS[this.#form].answersIn(data)) {
      const waiting = this.#inFlight.get(received.id);
      if (waiting === undefined) continue;
      this.#inFlight.delete(received.id);
      const body = waiting.bodyOf(received);
      if (received.status < 300) waiting.resolve(body);
      else waiting.reject(errorOf(received, body));
    }
    this.#sendQueued();
  }

  /** ORDERSOCKET-1. */
  #lost(): void {
    this.#isOpen = false;
    this.#outbox = [];
    const [unanswered, unsent] = [[...this.#inFlight.values()], [...this.#queue]];
    this.#inFlight.clear();
    this.#queue.clear();
    for (const { reject } of unanswered) reject(new TypeError('the socket was lost before the answer came'));
    for (const { reject } of unsent) reject(new TypeError('the socket was lost', { cause: NOT_SENT }));
  }

  #failed(error: Error): void {
    this.#lost();
    this.#ready.reject(error);
  }
}

function errorOf({ status, retryAfterSec }: Received, body: unknown): ApiError {
  const { error, code, details } = body as { error: string; code: string; details?: unknown };
  return new ApiError(status, code, error, details, retryAfterSec === 0 ? null : retryAfterSec);
}
