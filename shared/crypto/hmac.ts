/**
 * The text that an API key signs (RULES.md 4.2), in both signing versions, and the names of the headers with the
 * result. The caller computes the HMAC-SHA256, keyed with the base64url-decoded secret: the server checks it and the
 * client creates it with the platform's own crypto.
 */

/** In lower case, as every HTTP library passes headers; HTTP ignores the case. */
export const AUTH_HEADER = {
  API_KEY: 'x-svc-api-key',
  PASSPHRASE: 'x-svc-passphrase',
  TIMESTAMP: 'x-svc-timestamp',
  SIGNATURE: 'x-svc-signature',
  VERSION: 'x-svc-signing-version',
  NONCE: 'x-svc-nonce',
} as const;

export const NONCE_FORM = /^[A-Za-z0-9_-]{16,64}$/;

/** The SHA-256 of no bytes in lowercase hex, which version 2 signs for a request without a body. */
export const EMPTY_BODY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Version 2. `path` is the path with its query exactly as sent; `bodySha256` is lowercase hex. */
export function stringToSignV2(
  timestamp: string,
  nonce: string,
  method: string,
  path: string,
  bodySha256: string,
): string {
  return `v2\n${timestamp}\n${nonce}\n${method}\n${path}\n${bodySha256}`;
}

/**
 * Version 1: this text and then the raw bytes of the body, without a separator. They are separate because a body is
 * bytes: decoding it to text would sign something else if it is not valid UTF-8.
 */
export function stringToSignV1(timestamp: string, method: string, path: string): string {
  return timestamp + method + path;
}
