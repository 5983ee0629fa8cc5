/**
 * The state that a browser keeps while the person is at the provider (RULES.md 15.33). It is sealed, so it can be
 * neither read nor forged.
 *
 * Invariants:
 *   OAUTHSTATE-1  It can be opened for LIFETIME_SEC, with this exchange's key, and only from the browser that began the
 *                 sign-in, because nothing else stores it.
 */
import { hkdfSync } from 'node:crypto';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';

export const LIFETIME_SEC = 600;
const OWNER = 'sign-in at a provider';
const KEY_BYTES = 32;
/** The exchange's own states are shorter. */
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

  /** Null if it was not sealed by this exchange, or is too old. */
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
