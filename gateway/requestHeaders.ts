/**
 * The headers of a request that anything here asks for. They are read in one pass: the request is gone when its handler
 * returns, and asking uWebSockets.js for one name after the other costs more than all of them together. Where a name
 * comes several times its first line counts, except where said otherwise.
 *
 * A framing of the body that two parsers could read differently is refused and its connection closed, since whatever
 * follows on it could be taken for another request (RULES.md 6.4).
 * Owner: the gateway thread.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { AUTH_HEADER } from '../shared/hmac.ts';
import type { Credentials } from './auth/apiKeys.ts';

/** What the headers say of the body: its length, or one of these. */
export const CHUNKED = -1;
export const MALFORMED = -2;

const LENGTH_FORM = /^[0-9]{1,15}$/;

/** Values as sent; a header that is absent is the empty string. */
export class RequestHeaders implements Credentials {
  keyId = '';
  passphrase = '';
  timestamp = '';
  signature = '';
  version = '';
  nonce = '';
  authorization = '';
  idempotencyKey = '';
  deadline = '';
  origin = '';
  /** The method a browser asks about on behalf of a page. */
  requestedMethod = '';
  /** All lines as one: a proxy may add a line of its own behind those that the client has sent. */
  forwardedFor = '';
  /** A proxy says that it speaks for somebody else. */
  isPassedOn = false;
  #contentLength = '';
  #transferEncoding = '';
  #framingLines = 0;

  static of(request: HttpRequest): RequestHeaders {
    reading = new RequestHeaders();
    request.forEach(take);
    return reading;
  }

  /** Whether a caller wants to be known by a key. */
  get offersKey(): boolean {
    return this.keyId !== '';
  }

  /** uWebSockets.js takes the first of two lengths and ignores codings it does not know, so both are looked at here. */
  get bodyBytes(): number {
    if (this.#framingLines === 0) return 0;
    if (this.#framingLines > 1) return MALFORMED;
    if (this.#transferEncoding !== '') return this.#transferEncoding.toLowerCase() === 'chunked' ? CHUNKED : MALFORMED;
    return LENGTH_FORM.test(this.#contentLength) ? Number(this.#contentLength) : MALFORMED;
  }

  take(name: string, value: string): void {
    switch (name) {
      case 'content-length':
        this.#framingLines++;
        this.#contentLength = value;
        break;
      case 'transfer-encoding':
        this.#framingLines++;
        this.#transferEncoding = value;
        break;
      case AUTH_HEADER.API_KEY:
        this.keyId ||= value;
        break;
      case AUTH_HEADER.PASSPHRASE:
        this.passphrase ||= value;
        break;
      case AUTH_HEADER.TIMESTAMP:
        this.timestamp ||= value;
        break;
      case AUTH_HEADER.SIGNATURE:
        this.signature ||= value;
        break;
      case AUTH_HEADER.VERSION:
        this.version ||= value;
        break;
      case AUTH_HEADER.NONCE:
        this.nonce ||= value;
        break;
      case 'idempotency-key':
        this.idempotencyKey ||= value;
        break;
      case 'x-svc-deadline':
        this.deadline ||= value;
        break;
      case 'authorization':
        this.authorization ||= value;
        break;
      case 'origin':
        this.origin ||= value;
        break;
      case 'access-control-request-method':
        this.requestedMethod ||= value;
        break;
      case 'x-forwarded-for':
        this.forwardedFor += this.forwardedFor === '' ? value : `,${value}`;
        this.isPassedOn ||= value !== '';
        break;
      case 'forwarded':
      case 'x-real-ip':
      case 'via':
        this.isPassedOn ||= value !== '';
    }
  }
}

/** A callback per request would be one more thing to make and throw away. */
let reading = new RequestHeaders();
const take = (name: string, value: string): void => reading.take(name, value);
