/**
 * Finds the key that signed a request (RULES.md 4). Checks run cheapest first and stop at the first failure: headers,
 * version, key known, key in force, timestamp, passphrase, signature, and the nonce only once the signature is valid,
 * so that the nonces of a key cannot be used up without its secret. Those before the signature need only the headers:
 * they are made before a body is accepted.
 *
 * Each step has its own documented message, so callers can distinguish an unknown key from a wrong passphrase anyway;
 * equalising the time would hide nothing. Comparisons with a secret take constant time.
 */
import { hash } from 'node:crypto';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { EMPTY_BODY_SHA256, NONCE_FORM, stringToSignV1, stringToSignV2 } from '../../shared/crypto/hmac.ts';
import { type HmacKey, NO_SECRET } from '../base/hmacKey.ts';
import type { ApiKey } from '../base/principal.ts';
import { MAX_SKEW_SEC, type NonceMemory } from './nonces.ts';

/**
 * Notified of each accepted request, with how far its timestamp is ahead of this clock, and of each request that has
 * the right passphrase but is refused for its timestamp.
 */
export type TimeVerdicts = {
  noteAccepted(account: number, aheadSec: number): void;
  noteRefused(account: number): void;
};

export type KeyStore = { find(keyId: string): ApiKey | undefined };

/** Header values; an absent header is the empty string. */
export type Credentials = {
  readonly keyId: string;
  readonly passphrase: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly version: string;
  readonly nonce: string;
};

type Authentication = { readonly ok: true; readonly key: ApiKey } | Unauthenticated;
export type Unauthenticated = {
  readonly ok: false;
  readonly row: ErrorRow;
  readonly details: AuthenticationDetails;
};

type AuthenticationDetails = {
  /** The step that failed. */
  readonly step: string;
  /** Present if the clocks differ. */
  readonly server_time?: number;
  /** Why a current timestamp is refused, and what the client should do. */
  readonly reason?: string;
  readonly sign_after?: number;
  readonly action?: string;
};

const NO_BODY = new Uint8Array(0);
/** The first character of a JSON object or array, or the white space before it. */
const STARTS_BODY = /[{[ \t\r\n]/;
const SIGN_AGAIN = 'the exchange has restarted: sign the request again, with a timestamp after sign_after';
/** No timestamp is acceptable now: requests signed until then may have been accepted before the clock was set back. */
const WAIT_FOR_CLOCK =
  'the clock of the exchange was set back: it accepts signed requests again once it is past sign_after';
const TIMESTAMP_FORM = /^[0-9]{1,15}$/;

export class Authenticator {
  readonly #keys: KeyStore;
  readonly #nonces: NonceMemory;
  readonly #watch: TimeVerdicts | null;

  constructor(keys: KeyStore, nonces: NonceMemory, watch: TimeVerdicts | null = null) {
    this.#keys = keys;
    this.#nonces = nonces;
    this.#watch = watch;
  }

  /** Asked again after waiting for a shared counter: the key may have been revoked or changed meanwhile. */
  isInForce(key: ApiKey): boolean {
    return !key.revoked && this.#keys.find(key.keyId) === key;
  }

  /** The secret of a key in force, for a front thread. A key that cannot be read is refused where it is answered. */
  secretOf(keyId: string): HmacKey | null {
    try {
      const key = this.#keys.find(keyId);
      return key === undefined || key.revoked ? null : key.secret;
    } catch {
      return null;
    }
  }

  /**
   * The checks that need only the headers.
   * @param mayBeEarly true if a timestamp up to the floor is no fault yet; the caller asks `earlyRefusal` later
   */
  admit(credentials: Credentials, nowMs: number, mayBeEarly = false): Authentication {
    if (isIncomplete(credentials)) return refuse(ERRORS.MISSING_API_KEY_HEADERS, 'headers');
    const version = toVersion(credentials.version);
    if (version === 0) return refuse(ERRORS.UNSUPPORTED_SIGNING_VERSION, 'signing_version');

    const key = this.#keys.find(credentials.keyId);
    if (key === undefined) return refuse(ERRORS.INVALID_API_KEY, 'api_key');
    if (key.requireSigningVersion !== null && key.requireSigningVersion !== version) {
      return refuse(ERRORS.UNSUPPORTED_SIGNING_VERSION, 'signing_version');
    }
    if (key.revoked || (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)) {
      return refuse(ERRORS.API_KEY_REVOKED, 'api_key');
    }

    const nowSec = Math.floor(nowMs / 1000);
    if (!TIMESTAMP_FORM.test(credentials.timestamp)) return refuse(ERRORS.INVALID_TIMESTAMP, 'timestamp', nowSec);
    const timestampSec = Number(credentials.timestamp);
    if (Math.abs(timestampSec - nowSec) > MAX_SKEW_SEC) {
      const isTheirs = this.#watch !== null && key.passphrase.accepts(credentials.passphrase);
      if (isTheirs) this.#watch?.noteRefused(key.accountIndex);
      return refuse(ERRORS.TIMESTAMP_OUTSIDE_WINDOW, 'timestamp', nowSec);
    }
    const early = mayBeEarly ? null : this.earlyRefusal(key, credentials, nowMs);
    if (early !== null) return early;

    if (!key.passphrase.accepts(credentials.passphrase)) return refuse(ERRORS.INVALID_PASSPHRASE, 'passphrase');
    return { ok: true, key };
  }

  /**
   * The checks that need the whole request. `target` is the path with its query exactly as sent.
   * @param admitted the key that `admit` found in these credentials.
   * @param verifiedWith the number of the secret with which another thread has found the signature right
   */
  verify(
    admitted: ApiKey,
    credentials: Credentials,
    method: string,
    target: string,
    body: Uint8Array,
    nowMs: number,
    verifiedWith = NO_SECRET,
  ): Authentication {
    // The body may have taken long, and the key may have been changed or revoked meanwhile.
    const key = this.#keys.find(admitted.keyId);
    if (key !== admitted) return this.check(credentials, method, target, body, nowMs);
    if (verifiedWith !== key.secret.number && !isSigned(key.secret, credentials, method, target, body))
      return refuse(ERRORS.INVALID_HMAC_SIGNATURE, 'signature');
    return this.#useOnce(key, credentials, nowMs);
  }

  /**
   * The refusal of a request signed before this process started, or at a time that recurs because the clock was set
   * back; otherwise null.
   */
  earlyRefusal({ keyId }: ApiKey, { timestamp }: Credentials, nowMs: number): Unauthenticated | null {
    const unknownUntilSec = this.#nonces.unknownUntilSec(keyId);
    return Number(timestamp) <= unknownUntilSec ? refuseEarly(Math.floor(nowMs / 1000), unknownUntilSec) : null;
  }

  /** All checks at once. */
  check(credentials: Credentials, method: string, target: string, body: Uint8Array, nowMs: number): Authentication {
    const admitted = this.admit(credentials, nowMs);
    return admitted.ok ? this.verify(admitted.key, credentials, method, target, body, nowMs) : admitted;
  }

  /** The request was authenticated but refused before it had any effect: it may be sent again unchanged. */
  giveBack(key: ApiKey, credentials: Credentials): void {
    this.#nonces.giveBack(key.keyId, onceOf(credentials));
  }

  #useOnce(key: ApiKey, credentials: Credentials, nowMs: number): Authentication {
    const isV2 = credentials.version === '2';
    if (isV2 && !NONCE_FORM.test(credentials.nonce)) return refuse(ERRORS.INVALID_NONCE, 'nonce');
    if (this.#nonces.tryUse(key.keyId, onceOf(credentials), Number(credentials.timestamp), nowMs)) {
      this.#watch?.noteAccepted(key.accountIndex, Number(credentials.timestamp) - nowMs / 1000);
      return { ok: true, key };
    }
    return isV2 ? refuse(ERRORS.NONCE_USED, 'nonce') : refuse(ERRORS.SIGNATURE_USED, 'signature');
  }
}

/** True if the credentials have the signature of this secret for the request. */
export function isSigned(
  secret: HmacKey,
  credentials: Credentials,
  method: string,
  target: string,
  body: Uint8Array,
): boolean {
  if (credentials.version === '2') {
    return secret.accepts(credentials.signature, textV2(credentials, method, target, body), NO_BODY);
  }
  if (!hasOneBorder(target, body)) return false;
  return secret.accepts(credentials.signature, stringToSignV1(credentials.timestamp, method, target), body);
}

function isIncomplete(credentials: Credentials): boolean {
  return (
    credentials.keyId === '' ||
    credentials.passphrase === '' ||
    credentials.timestamp === '' ||
    credentials.signature === '' ||
    (credentials.version === '2' && credentials.nonce === '')
  );
}

/** The absent header means version 1; zero is an unknown version. */
function toVersion(header: string): 0 | 1 | 2 {
  if (header === '2') return 2;
  return header === '' || header === '1' ? 1 : 0;
}

/** The part of the credentials that a key may use only once. No nonce looks like a marked signature. */
function onceOf({ version, nonce, signature }: Credentials): string {
  return version === '2' ? nonce : `v1 ${inOneSpelling(signature)}`;
}

/** Base64 has several spellings of the same bytes: two alphabets, optional padding, and unused bits at the end. */
function inOneSpelling(signature: string): string {
  return Buffer.from(signature, 'base64').toString('base64url');
}

/**
 * Version 1 signs target and body without a separator, so a signature would also fit if part of one were moved to the
 * other. JSON begins with a character that no target of this exchange contains. So if the body begins with such a
 * character and the target contains none, there is only one possible border.
 */
function hasOneBorder(target: string, body: Uint8Array): boolean {
  if (STARTS_BODY.test(target)) return false;
  return body.length === 0 || STARTS_BODY.test(String.fromCharCode(body[0]));
}

function textV2(sent: Credentials, method: string, target: string, body: Uint8Array): string {
  const bodyHash = body.length === 0 ? EMPTY_BODY_SHA256 : hash('sha256', body, 'hex');
  return stringToSignV2(sent.timestamp, sent.nonce, method, target, bodyHash);
}

/** The requests that an earlier process accepted are not known to this one, so it accepts only later ones. */
function refuseEarly(nowSec: number, unknownUntilSec: number): Unauthenticated {
  const details = {
    step: 'timestamp',
    server_time: nowSec,
    reason: 'signed_before_start',
    sign_after: unknownUntilSec,
    action: nowSec + MAX_SKEW_SEC > unknownUntilSec ? SIGN_AGAIN : WAIT_FOR_CLOCK,
  };
  return { ok: false, row: ERRORS.TIMESTAMP_OUTSIDE_WINDOW, details };
}

function refuse(row: ErrorRow, step: string, serverTimeSec?: number): Unauthenticated {
  const details = serverTimeSec === undefined ? { step } : { step, server_time: serverTimeSec };
  return { ok: false, row, details };
}
