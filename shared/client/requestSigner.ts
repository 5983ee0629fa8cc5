/**
 * Signs requests with an API key. Signing uses node:crypto: the secret of a key does not belong in a browser. There the
 * client is loaded without it, and works with sessions.
 */
import type { KeyObject } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.ts';
import { AUTH_HEADER, EMPTY_BODY_SHA256, stringToSignV1, stringToSignV2 } from '../crypto/hmac.ts';
import type { Credentials } from './credentials.ts';
import type { HeaderFields, Signer } from './request.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';

const nodeCrypto = globalThis.process?.getBuiltinModule?.('crypto');

export class RequestSigner implements Signer {
  readonly #crypto: typeof import('node:crypto');
  readonly #credentials: Credentials;
  readonly #key: KeyObject;
  readonly #clock: Clock;

  constructor(credentials: Credentials, clock: Clock = systemClock) {
    if (nodeCrypto === undefined) throw new Error('an API key is for programs; a browser has a session');
    this.#crypto = nodeCrypto;
    this.#credentials = credentials;
    this.#key = nodeCrypto.createSecretKey(Buffer.from(credentials.secret, 'base64url'));
    this.#clock = clock;
  }

  /** Version 2: every call creates a new nonce, so the headers are valid for one request. */
  headers(method: string, path: string, body: string, nonce: string = this.#crypto.randomUUID()): HeaderFields {
    const timestamp = this.#timestamp();
    const bodySha256 = body === '' ? EMPTY_BODY_SHA256 : this.#crypto.createHash('sha256').update(body).digest('hex');
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

  [INSPECT](...inspecting: Inspecting): string {
    return shown('RequestSigner', { keyId: this.#credentials.keyId }, inspecting);
  }

  #timestamp(): string {
    return String(Math.floor(this.#clock.nowMs() / 1000));
  }

  #sign(timestamp: string, text: string): HeaderFields {
    return {
      [AUTH_HEADER.API_KEY]: this.#credentials.keyId,
      [AUTH_HEADER.PASSPHRASE]: this.#credentials.passphrase,
      [AUTH_HEADER.TIMESTAMP]: timestamp,
      [AUTH_HEADER.SIGNATURE]: this.#crypto.createHmac('sha256', this.#key).update(text).digest('base64url'),
    };
  }
}
