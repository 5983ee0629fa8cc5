/** The bearer tokens of people, as the identity stage sees them (gateway/account/accessTokens.ts). */
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { SessionPrincipal } from './principal.ts';

export type SessionTokens = {
  /** The checks that cost nothing: what the token says of itself, and that its session is in force. */
  admit(token: string, nowMs: number): AdmittedToken | ErrorRow;
  /** The signature of a token that was admitted and is not verified yet. */
  verify(token: string, admitted: AdmittedToken, nowMs: number): Promise<boolean>;
  /** Asked again when something has been waited for: the session may have ended meanwhile. */
  isInForce(principal: SessionPrincipal, nowMs: number): boolean;
};

export type AdmittedToken = {
  readonly principal: SessionPrincipal;
  /** The signature of this very token was verified before. */
  readonly isVerified: boolean;
};

const SCHEME = 'bearer ';

/** @param header the Authorization header as sent. @returns null for one of another scheme, or none. */
export function bearerOf(header: string): string | null {
  return header.slice(0, SCHEME.length).toLowerCase() === SCHEME ? header.slice(SCHEME.length) : null;
}
