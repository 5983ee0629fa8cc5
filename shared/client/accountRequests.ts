/**
 * Sends the requests of a client: signed with its API key, or with the access token of its session, or neither.
 * Failures of a moment are retried as retry.ts says.
 *
 * Invariants:
 *   ACCOUNTREQUESTS-1  The token of a session goes to the addresses of the session and to no others.
 *   ACCOUNTREQUESTS-2  Secrets are in private fields only: no error, no JSON and no inspection of a client shows them.
 */
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

/** Options that can be chosen for a single call as well, with `client.with(…)`. */
export type CallOptions = {
  /** Of one attempt: 10 seconds unless it is given. */
  readonly timeoutMs?: number;
  /** Gives up; what was sent may be carried out all the same. */
  readonly signal?: AbortSignal;
  /** False for a single attempt. */
  readonly retry?: Partial<RetryPolicy> | false;
};

/** With neither an API key nor a session only the public routes work. */
export type ClientOptions = CallOptions & {
  /** Of a cluster those of its members: requests go to the one that leads. */
  readonly baseUrl: BaseUrl;
  readonly credentials?: Credentials;
  readonly session?: Session;
  /** It signs the orders of `place`; `placeOrder` takes orders that are signed already. */
  readonly wallet?: OrderWallet;
  /** The domain that messages for wallets may name besides that of `baseUrl`: that of the exchange's pages. */
  readonly domain?: string;
  readonly clock?: Clock;
  /** In place of the global `fetch`, for a proxy or a test. */
  readonly fetch?: typeof fetch;
  /** Called with every answer, those that are retried too; no secret is in it. */
  readonly onAnswer?: (answer: AnswerInfo) => void;
  /**
   * `content`, the default: placements have an Idempotency-Key made of their content. `given`: only the one of a call.
   */
  readonly idempotencyKeys?: 'content' | 'given';
  /** Requests about orders go over it while it is open; `client.overSocket` opens one. */
  readonly orderSocket?: OrderTransport;
};

/** A socket that carries requests about orders (stream/orderSocket.ts). */
type OrderTransport = {
  /** Null: the request has to go over HTTP. */
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

/** By the meaning of the methods, to which the exchange keeps; POST makes something new each time. */
const HARMLESS_METHODS: readonly string[] = ['GET', 'HEAD', 'PUT', 'DELETE'];

export class AccountRequests {
  readonly addresses: Addresses;
  readonly clock: ServerClock;
  readonly #signer: RequestSigner | undefined;
  readonly #session: Session | undefined;
  readonly #options: ClientOptions;
  readonly #policy: RetryPolicy;

  /** @param clock and addresses: of the client that this one continues with other options */
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

  /** The one that requests go to. */
  get origin(): string {
    return this.addresses.current;
  }

  /** The key or the session, either of which opens a stream of the account. */
  get access(): { readonly signer?: RequestSigner; readonly session?: Session } {
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
      // The member at its other end may have stopped leading.
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

  /** A public read. Of an account it counts on the account's limit, which is larger and not shared by an address. */
  read<T>(path: string): Promise<T> {
    const isPublic = this.#signer === undefined && this.#session === undefined;
    return isPublic ? this.sendPublic('GET', path) : this.send('GET', path);
  }

  /** Public requests only read, whatever their method. */
  sendPublic<T>(method: string, path: string, payload?: unknown): Promise<T> {
    return this.#retried('harmless', (attempt, origin) => this.#sendPublic(origin, method, path, payload, attempt));
  }

  /** A single attempt: the answer says how it is now. */
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
   * A request that is refused for its time is signed again, once: with the exchange's own time if the clocks differ, or
   * because the exchange has restarted after it was signed. Nothing was done with the first one.
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
