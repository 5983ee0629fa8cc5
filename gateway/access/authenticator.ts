/**
 * Finds the key that signed a request (RULES.md 4). Checks run cheapest first and stop at the first failure: headers,
 * version, key known, key in force, timestamp, passphrase, signature, and the nonce only once the signature is valid,
 * so that the nonces of a key cannot be used up without its secret.
 *
 * Each step has its own documented message, so a caller can distinguish an unknown key from a wrong passphrase;
 * equalising their time would therefore hide nothing. Comparisons with a secret take constant time.
 */
import { hash } from 'node:crypto';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { EMPTY_BODY_SHA256, NONCE_FORM, stringToSignV1, stringToSignV2 } from '../../shared/crypto/hmac.ts';
import type { NonceMemory } from './nonces.ts';
import type { ApiKey } from './principal.ts';

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

export type Authentication =
  | { readonly ok: true; readonly key: ApiKey }
  | { readonly ok: false; readonly row: ErrorRow; readonly details: AuthenticationDetails };

/** The step that failed and, if the clocks differ, the server's time. */
type AuthenticationDetails = { readonly step: string; readonly server_time?: number };

const MAX_SKEW_SEC = 30;
const NO_BODY = new Uint8Array(0);
const TIMESTAMP_FORM = /^[0-9]{1,15}$/;

export class Authenticator {
  readonly #keys: KeyStore;
  readonly #nonces: NonceMemory;

  constructor(keys: KeyStore, nonces: NonceMemory) {
    this.#keys = keys;
    this.#nonces = nonces;
  }

  /** `target` is the path with its query exactly as sent. */
  check(credentials: Credentials, method: string, target: string, body: Uint8Array, nowMs: number): Authentication {
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
    const isCurrent = Math.abs(timestampSec - nowSec) <= MAX_SKEW_SEC;
    if (!isCurrent || (version === 2 && !this.#nonces.covers(key.keyId, timestampSec))) {
      return refuse(ERRORS.TIMESTAMP_OUTSIDE_WINDOW, 'timestamp', nowSec);
    }

    if (!key.passphrase.accepts(credentials.passphrase)) return refuse(ERRORS.INVALID_PASSPHRASE, 'passphrase');
    const isSigned =
      version === 2
        ? key.secret.accepts(credentials.signature, textV2(credentials, method, target, body), NO_BODY)
        : key.secret.accepts(credentials.signature, stringToSignV1(credentials.timestamp, method, target), body);
    if (!isSigned) return refuse(ERRORS.INVALID_HMAC_SIGNATURE, 'signature');

    if (version === 2) {
      if (!NONCE_FORM.test(credentials.nonce)) return refuse(ERRORS.INVALID_NONCE, 'nonce');
      if (!this.#nonces.tryUse(key.keyId, credentials.nonce, timestampSec, nowMs))
        return refuse(ERRORS.NONCE_USED, 'nonce');
    }
    return { ok: true, key };
  }
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

function textV2(sent: Credentials, method: string, target: string, body: Uint8Array): string {
  const bodyHash = body.length === 0 ? EMPTY_BODY_SHA256 : hash('sha256', body, 'hex');
  return stringToSignV2(sent.timestamp, sent.nonce, method, target, bodyHash);
}

function refuse(row: ErrorRow, step: string, serverTimeSec?: number): Authentication {
  const details = serverTimeSec === undefined ? { step } : { step, server_time: serverTimeSec };
  return { ok: false, row, details };
}
