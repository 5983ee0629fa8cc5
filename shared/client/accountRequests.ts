/**
 * Sends a client's requests: signed with its API key, with the access token of its session, or with neither. Temporary
 * failures are retried as described in retry.ts.
 *
 * Invariants:
 *   ACCOUNTREQUESTS-1  A session's token is sent only to the session's addresses.
 *   ACCOUNTREQUESTS-2  Secrets are in private fields only: no error, no JSON and no inspection of a client shows them.
 */
import type { Optional } from '../api/schema.ts';
import type { Clock } from '../base/clock.ts';
import { Addresses, type BaseUrl } from './addresses.ts';
import { type AnswerInfo, answerInfo } from './answerInfo.ts';
import type { Credentials } from './credentials.ts';
import { isSignedBeforeStart, openBody, type SendOptions, sendRequest } from './http.ts';
import type { OrderWallet } from './placer.ts';
import { type HeaderFields, type PreparedRequest, prepareRequest } from './request.ts';
import { RequestSigner } from './requestSigner.ts';
import { changed, policyOf, type Repeat, type RetryPolicy, withRetries } from './retry.ts';
import { ServerClock } from './serverClock.ts';
import type { Session } from './session.ts';

/** Options that can also be set for a single call, with `client.with(…)`. */
export type CallOptions = {
  /** Time-out of one attempt; the default is 10 seconds. */
  readonly timeoutMs?: number;
  /** Aborts the call; a request that was already sent may still be carried out. */
  readonly signal?: AbortSignal;
  /** False for a single attempt without retries. */
  readonly retry?: Partial<RetryPolicy> | false;
};

/** With neither an API key nor a session only the public routes work. */
export type ClientOptions = CallOptions & {
  /** For a cluster, the addresses of its members: requests go to the leader. */
  readonly baseUrl: BaseUrl;
  readonly credentials?: Credentials | undefined;
  readonly session?: Session | undefined;
  /** Signs the orders of `place`; `placeOrder` takes orders that are already signed. */
  readonly wallet?: OrderWallet;
  /** The domain that messages for wallets may name besides that of `baseUrl`: that of the exchange's pages. */
  readonly domain?: string;
  readonly clock?: Clock;
  /** Replaces the global `fetch`, for a proxy or a test. */
  readonly fetch?: typeof fetch;
  /** Called with every answer, including answers that are retried; it contains no secret. */
  readonly onAnswer?: (answer: AnswerInfo) => void;
  /**
   * `content` (default): placements have an Idempotency-Key computed from their content. `given`: only a key passed
   * with the call.
   */
  readonly idempotencyKeys?: 'content' | 'given';
  /** Carries requests about orders while it is open; `client.overSocket` opens one. */
  readonly orderSocket?: OrderTransport;
};

/** A socket that carries requests about orders (stream/orderSocket.ts). */
type OrderTransport = {
  /** Returns null if the request has to go over HTTP. */
  trySend<T>(
    method: string,
    path: string,
    payload: unknown,
    headers: HeaderFields | undefined,
    limits: Pick<CallOptions, 'timeoutMs' | 'signal'>,
  ): Promise<T> | null;
  close(): void;
};

/** A request of the account, without a body. */
export type SendAuthorized = <T>(method: string, path: string) => Promise<T>;
type SendAttempt<T> = (attempt: number, origin: string, isFirst: boolean) => Promise<T>;
type SendExtras = { readonly headers?: HeaderFields; readonly repeat?: Repeat };

/** Methods that are safe to repeat, by HTTP's definition; POST makes something new each time. */
const HARMLESS_METHODS: readonly string[] = ['GET', 'HEAD', 'PUT', 'DELETE'];

export class AccountRequests {
  readonly addresses: Addresses;
  readonly clock: ServerClock;
  readonly #signer: RequestSigner | undefined;
  readonly #session: Session | undefined;
  readonly #options: ClientOptions;
  readonly #policy: RetryPolicy;

  /** @param clock and addresses: those of the client whose options are changed */
  constructor(
    options: ClientOptions,
    clock = new ServerClock(options.clock),
    addresses = new Addresses(options.baseUrl),
  ) {
    const { credentials, session, retry } = options;
    this.addresses = addresses;
    if (credentials !== undefined && session !== undefined) throw new Error('a client has an API key or a session');
    // ACCOUNTREQUESTS-1.
    const other = addresses.origins.find((origin) => session !== undefined && !session.origins.includes(origin));
    if (other !== undefined) throw new Error(`the session is one of ${session!.origins.join()}, not of ${other}`);
    this.clock = clock;
    this.#signer = credentials && new RequestSigner(credentials, clock);
    this.#session = session;
    this.#options = options;
    this.#policy = policyOf(retry);
  }

  /** The same account and clock with other options. */
  with(call: CallOptions): AccountRequests {
    return new AccountRequests({ ...this.#options, ...call }, this.clock, this.addresses);
  }

  /** The address to which requests go. */
  get origin(): string {
    return this.addresses.current;
  }

  /** The key or the session; either opens a stream of the account. */
  get access(): Optional<{ readonly signer: RequestSigner; readonly session: Session }> {
    return { signer: this.#signer, session: this.#session };
  }

  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  prepare(method: string, path: string, payload?: unknown): PreparedRequest {
    const signer = this.#signer;
    if (signer === undefined) throw new Error(`${method} ${path} needs an API key or a session`);
    return prepareRequest(method, path, payload, (...parts) => signer.headers(...parts));
  }

  send<T>(method: string, path: string, payload?: unknown, { headers, repeat }: SendExtras = {}): Promise<T> {
    const harm = repeat ?? (HARMLESS_METHODS.includes(method) ? 'harmless' : 'once');
    const { orderSocket } = this.#options;
    const answer = this.#retried(harm, (attempt, origin, isFirst) => {
      // The member at the other end of the socket may have stopped leading.
      const onSocket = isFirst ? orderSocket?.trySend<T>(method, path, payload, headers, this.#options) : null;
      if (onSocket) return onSocket;
      return this.#authorized(method, path, payload, (request) => {
        Object.assign(request.headers, headers);
        return sendRequest<T>(origin, request, this.#sending(request, attempt));
      });
    });
    return method === 'GET' ? answer : changed(method, path, answer);
  }

  /** The answer to a GET as it arrives. */
  open(path: string): Promise<ReadableStream<Uint8Array>> {
    return this.#retried('harmless', (attempt, origin) =>
      this.#authorized('GET', path, undefined, (request) => openBody(origin, request, this.#sending(request, attempt))),
    );
  }

  /** The answer to a public GET as it arrives. */
  openPublic(path: string, headers: HeaderFields): Promise<ReadableStream<Uint8Array>> {
    return this.#retried('harmless', (attempt, origin) => {
      const request = { ...prepareRequest('GET', path, undefined), headers };
      return openBody(origin, request, this.#sending(request, attempt));
    });
  }

  /**
   * A public read. With an account it counts on the account's limit, which is larger than an address's and not shared.
   */
  read<T>(path: string): Promise<T> {
    const isPublic = this.#signer === undefined && this.#session === undefined;
    return isPublic ? this.sendPublic('GET', path) : this.send('GET', path);
  }

  /** Public requests only read, whatever their method. */
  sendPublic<T>(method: string, path: string, payload?: unknown): Promise<T> {
    return this.#retried('harmless', (attempt, origin) => this.#sendPublic(origin, method, path, payload, attempt));
  }

  /** Makes a single attempt: the answer describes the present moment. */
  probe<T>(path: string): Promise<T> {
    return this.#sendPublic(this.origin, 'GET', path, undefined, 1);
  }

  #sendPublic<T>(origin: string, method: string, path: string, payload: unknown, attempt: number): Promise<T> {
    const request = prepareRequest(method, path, payload);
    return sendRequest(origin, request, this.#sending(request, attempt));
  }

  #retried<T>(repeat: Repeat, send: SendAttempt<T>): Promise<T> {
    const { signal } = this.#options;
    const attempts = (attempt: number): Promise<T> => {
      return this.addresses.toLeader((origin, isFirst) => send(attempt, origin, isFirst), signal);
    };
    return withRetries(attempts, repeat, this.#policy, signal);
  }

  #sending(request: PreparedRequest, attempt: number): SendOptions {
    const { timeoutMs, signal, fetch, onAnswer } = this.#options;
    if (onAnswer === undefined) return { timeoutMs, signal, fetch };
    const sentMs = this.clock.ownMs;
    return {
      timeoutMs,
      signal,
      fetch,
      onAnswer: (response) => onAnswer(answerInfo(request, response, attempt, this.clock.ownMs - sentMs)),
    };
  }

  /**
   * A request refused for its timestamp is signed again, once: with the exchange's time if the clocks differ, or
   * because the exchange was restarted after the signing. The first request had no effect.
   */
  async #authorized<T>(
    method: string,
    path: string,
    payload: unknown,
    send: (request: PreparedRequest) => Promise<T>,
  ): Promise<T> {
    if (this.#session !== undefined) {
      return this.#session.authorize((headers) => send(prepareRequest(method, path, payload, () => headers)));
    }
    const sentMs = this.clock.ownMs;
    try {
      return await send(this.prepare(method, path, payload));
    } catch (error) {
      if (!isSignedBeforeStart(error) && !this.clock.learns(error, sentMs)) throw error;
      return send(this.prepare(method, path, payload));
    }
  }
}
