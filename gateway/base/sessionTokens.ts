/** The bearer tokens of people, as the identity stage uses them (gateway/account/accessTokens.ts). */
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { SessionPrincipal } from './principal.ts';

export type SessionTokens = {
  /** Does the cheap checks: the claims of the token, and whether its session is in force. */
  admit(token: string, nowMs: number): AdmittedToken | ErrorRow;
  /** Verifies the signature of a token that was admitted and is not verified yet. */
  verify(token: string, admitted: AdmittedToken, nowMs: number): Promise<boolean>;
  /** Checks again after a wait: the session may have ended in the meantime. */
  isInForce(principal: SessionPrincipal, nowMs: number): boolean;
};

export type AdmittedToken = {
  readonly principal: SessionPrincipal;
  /** True if the signature of this very token was verified before. */
  readonly isVerified: boolean;
};

const SCHEME = 'bearer ';

/** @param header the Authorization header as sent. @returns null if there is none, or if its scheme is another. */
export function bearerOf(header: string): string | null {
  return header.slice(0, SCHEME.length).toLowerCase() === SCHEME ? header.slice(SCHEME.length) : null;
}
