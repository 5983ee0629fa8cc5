/**
 * The state that a browser keeps while its person is at a provider (RULES.md 15.33). It is sealed, so it can be neither
 * read nor made up.
 *
 * Invariants:
 *   OAUTHSTATE-1  It opens for LIFETIME_SEC, with the key of this exchange, and in the browser that began the sign-in:
 *                 the browser is the only place where it is.
 */
import { hkdfSync } from 'node:crypto';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';

export const LIFETIME_SEC = 600;
const OWNER = 'sign-in at a provider';
const KEY_BYTES = 32;
/** Ours are shorter. */
const MAX_CHARACTERS = 4096;

type OAuthState = {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectPath: string;
  readonly referralCode: string | null;
};

export class OAuthStates {
  readonly #key: Buffer;

  /** @param secret of the exchange, kept over its restarts. */
  constructor(secret: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', OWNER, KEY_BYTES));
  }

  /** The value of a cookie. */
  seal(state: OAuthState, nowMs: number): string {
    const text = JSON.stringify({ ...state, expiresMs: nowMs + LIFETIME_SEC * 1000 });
    return sealSecret(this.#key, OWNER, Buffer.from(text)).toString('base64url');
  }

  /** Null for anything that is not of this exchange, or too old. */
  open(sealed: string, nowMs: number): OAuthState | null {
    if (sealed.length > MAX_CHARACTERS) return null;
    try {
      const opened = openSecret(this.#key, OWNER, Buffer.from(sealed, 'base64url'));
      const { expiresMs, ...state } = JSON.parse(opened.toString());
      return expiresMs > nowMs ? state : null;
    } catch {
      return null;
    }
  }
}
