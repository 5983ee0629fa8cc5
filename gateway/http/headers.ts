/**
 * The headers of a request that the gateway uses. They are read in one pass, because the request object is invalid
 * after its handler returns, and asking uWebSockets.js for single headers costs more than reading all. If a name
 * appears several times, its first line counts, unless stated otherwise.
 *
 * A body whose framing two parsers could read differently is refused and its connection closed, because the following
 * bytes could be read as another request (RULES.md 6.4). Owner: the gateway thread.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';
import type { Credentials } from '../access/authenticator.ts';

/** The length of the body in the headers, or one of these. */
export const CHUNKED = -1;
export const MALFORMED = -2;
const UNREAD = -3;

/** Stands for a header that is present without a value: HTTP removes white space from sent values. */
export const EMPTY_VALUE = ' ';

const LENGTH_FORM = /^[0-9]{1,15}$/;

const NO_FOREIGN: Readonly<Record<string, string>> = Object.freeze({});

/** A request, as far as its headers. */
export type HeaderLines = Pick<HttpRequest, 'forEach'>;

/** Headers of a browser, for the routes with cookies. */
export type Browser = Pick<RequestHeaders, 'cookie' | 'origin' | 'fetchSite' | 'contentType' | 'userAgent'>;

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
  acceptEncoding = '';
  ifNoneMatch = '';
  cookie = '';
  contentType = '';
  /** The relation of the requesting page to this site, as the browser reports it (Sec-Fetch-Site). */
  fetchSite = '';
  userAgent = '';
  /** The method that a browser asks about on behalf of a page. */
  requestedMethod = '';
  /** All lines as one: a proxy may add a line of its own after those of the client. */
  forwardedFor = '';
  /** False if the client says that this is its last request on the connection. */
  isKeptAlive = true;
  /** True if a header of a proxy is present. */
  isPassedOn = false;
  /** All headers by lower-case name, for a route that takes foreign headers; otherwise none. */
  foreign = NO_FOREIGN;
  #contentLength = '';
  #transferEncoding = '';
  #framingLines = 0;
  #hostLines = 0;
  /** Read once they are all there. */
  #bodyBytes: number;

  /** @param bodyBytes if the framing has been read already */
  constructor(bodyBytes: number = UNREAD) {
    this.#bodyBytes = bodyBytes;
  }

  static of(request: HeaderLines): RequestHeaders {
    reading = new RequestHeaders();
    request.forEach(read);
    return reading;
  }

  /** All of them; of lines with the same name, the last. */
  static allOf(request: HeaderLines): Readonly<Record<string, string>> {
    const all = new Map<string, string>();
    request.forEach((name, value) => {
      all.set(name, value);
    });
    return Object.fromEntries(all);
  }

  /** True if the request has credentials of an API key. */
  get offersKey(): boolean {
    return this.keyId !== '';
  }

  /**
   * Bytes of the body as announced, or CHUNKED or MALFORMED. uWebSockets.js uses the first of two lengths or hosts and
   * ignores unknown codings, so all are checked here.
   */
  get bodyBytes(): number {
    if (this.#bodyBytes === UNREAD) this.#bodyBytes = this.#announcedBytes();
    return this.#bodyBytes;
  }

  #announcedBytes(): number {
    if (this.#hostLines > 1) return MALFORMED;
    if (this.#framingLines === 0) return 0;
    if (this.#framingLines > 1) return MALFORMED;
    if (this.#transferEncoding !== '') return this.#transferEncoding.toLowerCase() === 'chunked' ? CHUNKED : MALFORMED;
    return LENGTH_FORM.test(this.#contentLength) ? Number(this.#contentLength) : MALFORMED;
  }

  #readFraming(name: string, value: string): void {
    if (name === 'host') {
      this.#hostLines++;
      return;
    }
    this.#framingLines++;
    if (name === 'content-length') this.#contentLength = value;
    else this.#transferEncoding = value;
  }

  read(name: string, value: string): void {
    switch (name) {
      case 'host':
      case 'content-length':
      case 'transfer-encoding':
        this.#readFraming(name, value);
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
        this.idempotencyKey = protecting(this.idempotencyKey, value);
        break;
      case 'x-svc-deadline':
        this.deadline = protecting(this.deadline, value);
        break;
      case 'authorization':
        this.authorization ||= value;
        break;
      case 'origin':
        this.origin ||= value;
        break;
      case 'accept-encoding':
        this.acceptEncoding ||= value;
        break;
      case 'if-none-match':
        this.ifNoneMatch += this.ifNoneMatch === '' ? value : `,${value}`;
        break;
      case 'cookie':
        this.cookie += this.cookie === '' ? value : `; ${value}`;
        break;
      case 'content-type':
        this.contentType ||= value;
        break;
      case 'sec-fetch-site':
        this.fetchSite ||= value;
        break;
      case 'user-agent':
        this.userAgent ||= value;
        break;
      case 'access-control-request-method':
        this.requestedMethod ||= value;
        break;
      case 'connection':
        if (value.toLowerCase() === 'close') this.isKeptAlive = false;
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

/**
 * Combines the value so far with that of a further line, for a header that protects a request. A client that sends an
 * empty one, or two, still relies on the protection, so both become values that no check accepts.
 */
function protecting(before: string, value: string): string {
  return before === '' ? value || EMPTY_VALUE : `${before}, ${value}`;
}

/** Those of a message on a socket. */
export const NO_HEADERS: Readonly<RequestHeaders> = Object.freeze(new RequestHeaders());

/** Created once: a closure for each request would cost an allocation. */
let reading = new RequestHeaders();
const read = (name: string, value: string): void => reading.read(name, value);
