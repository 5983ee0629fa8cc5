/**
 * Sends the requests of a client: signed with its API key, or with the access token of its session, or neither.
 *
 * Invariants:
 *   ACCOUNTREQUESTS-1  The token of a session goes to the exchange of the session and to no other address.
 */
import type { Clock } from '../base/clock.ts';
import { DEFAULT_TIMEOUT_MS, isSignedBeforeStart, openBody, sendRequest } from './http.ts';
import { type HeaderFields, type PreparedRequest, prepareRequest } from './request.ts';
import { type Credentials, RequestSigner } from './requestSigner.ts';
import type { Session } from './session.ts';

/** With neither an API key nor a session only the public routes work. */
export type ClientOptions = {
  baseUrl: string;
  credentials?: Credentials;
  session?: Session;
  /** The domain that messages for wallets may name besides that of `baseUrl`: that of the exchange's pages. */
  domain?: string;
  timeoutMs?: number;
  clock?: Clock;
};

/** A request of the account, without a body. */
export type SendAuthorized = <T>(method: string, path: string) => Promise<T>;

export class AccountRequests {
  readonly origin: string;
  readonly #signer: RequestSigner | undefined;
  readonly #session: Session | undefined;
  readonly #timeoutMs: number;

  constructor({ baseUrl, credentials, session, timeoutMs, clock }: ClientOptions) {
    this.origin = new URL(baseUrl).origin;
    if (credentials !== undefined && session !== undefined) throw new Error('a client has an API key or a session');
    // ACCOUNTREQUESTS-1.
    if (session !== undefined && session.origin !== this.origin) {
      throw new Error(`the session is one of ${session.origin}, not of ${this.origin}`);
    }
    this.#signer = credentials && new RequestSigner(credentials, clock);
    this.#session = session;
    this.#timeoutMs = timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  prepare(method: string, path: string, payload?: unknown): PreparedRequest {
    const signer = this.#signer;
    if (signer === undefined) throw new Error(`${method} ${path} needs an API key`);
    return prepareRequest(method, path, payload, (...parts) => signer.headers(...parts));
  }

  send<T>(method: string, path: string, payload?: unknown, headers: HeaderFields = {}): Promise<T> {
    return this.#authorized(method, path, payload, (request) => {
      Object.assign(request.headers, headers);
      return sendRequest<T>(this.origin, request, this.#timeoutMs);
    });
  }

  /** The answer to a GET as it arrives. */
  open(path: string): Promise<ReadableStream<Uint8Array>> {
    return this.#authorized('GET', path, undefined, (request) => openBody(this.origin, request));
  }

  /** A public read. Of an account it counts on the account's limit, which is larger and not shared by an address. */
  read<T>(path: string): Promise<T> {
    const isPublic = this.#signer === undefined && this.#session === undefined;
    return isPublic ? this.sendPublic('GET', path) : this.send('GET', path);
  }

  sendPublic<T>(method: string, path: string, payload?: unknown): Promise<T> {
    return sendRequest(this.origin, prepareRequest(method, path, payload), this.#timeoutMs);
  }

  /** A request that is refused because the exchange restarted after it was signed is signed again, once. */
  async #authorized<T>(
    method: string,
    path: string,
    payload: unknown,
    send: (request: PreparedRequest) => Promise<T>,
  ): Promise<T> {
    if (this.#session !== undefined) {
      return this.#session.authorize((headers) => send(prepareRequest(method, path, payload, () => headers)));
    }
    try {
      return await send(this.prepare(method, path, payload));
    } catch (error) {
      if (!isSignedBeforeStart(error)) throw error;
      return send(this.prepare(method, path, payload));
    }
  }
}
