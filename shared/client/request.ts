/**
 * Builds and signs requests without sending them, so that a load generator can prepare many ahead. Signing uses
 * node:crypto: a secret does not belong in a browser, so this file need not run there.
 */
import { createHash, createHmac, createSecretKey, type KeyObject, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.ts';
import { AUTH_HEADER, EMPTY_BODY_SHA256, stringToSignV1, stringToSignV2 } from '../crypto/hmac.ts';

export type Credentials = { keyId: string; secret: string; passphrase: string };
export type HeaderFields = Record<string, string>;
export type Query = Record<string, string | number | boolean | undefined>;

/** `body` is the exact text that was signed and must be sent; empty for none. */
export type PreparedRequest = { method: string; path: string; body: string; headers: HeaderFields };

export class RequestSigner {
  readonly #credentials: Credentials;
  readonly #key: KeyObject;
  readonly #clock: Clock;

  constructor(credentials: Credentials, clock: Clock = systemClock) {
    this.#credentials = credentials;
    this.#key = createSecretKey(Buffer.from(credentials.secret, 'base64url'));
    this.#clock = clock;
  }

  /** Version 2: every call creates a new nonce, so the headers are valid for one request. */
  headers(method: string, path: string, body: string, nonce: string = randomUUID()): HeaderFields {
    const timestamp = this.#timestamp();
    const bodySha256 = body === '' ? EMPTY_BODY_SHA256 : createHash('sha256').update(body).digest('hex');
    const text = stringToSignV2(timestamp, nonce, method, path, bodySha256);
    return { ...this.#sign(timestamp, text), [AUTH_HEADER.VERSION]: '2', [AUTH_HEADER.NONCE]: nonce };
  }

  /**
   * Version 1, for keys that were issued for it. It has no nonce, so the exchange accepts the same request once a
   * second: another one would have the same signature.
   */
  headersV1(method: string, path: string, body: string): HeaderFields {
    const timestamp = this.#timestamp();
    return this.#sign(timestamp, stringToSignV1(timestamp, method, path) + body);
  }

  #timestamp(): string {
    return String(Math.floor(this.#clock.nowMs() / 1000));
  }

  #sign(timestamp: string, text: string): HeaderFields {
    return {
      [AUTH_HEADER.API_KEY]: this.#credentials.keyId,
      [AUTH_HEADER.PASSPHRASE]: this.#credentials.passphrase,
      [AUTH_HEADER.TIMESTAMP]: timestamp,
      [AUTH_HEADER.SIGNATURE]: createHmac('sha256', this.#key).update(text).digest('base64url'),
    };
  }
}

/** `authenticate` gets the exact method, path and body; public requests need none. */
export function prepareRequest(
  method: string,
  path: string,
  payload: unknown,
  authenticate?: (method: string, path: string, body: string) => HeaderFields,
): PreparedRequest {
  const body = payload === undefined ? '' : JSON.stringify(payload);
  const headers: HeaderFields = { ...authenticate?.(method, path, body) };
  if (body !== '') headers['content-type'] = 'application/json';
  return { method, path, body, headers };
}

/** Appends a query to a path; undefined values are omitted. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}
