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

/** True for an Authorization header of that scheme; it is empty if there is none. */
export function isBearer(header: string): boolean {
  return header.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}

/** @param header one that `isBearer` */
export function tokenIn(header: string): string {
  return header.slice(SCHEME.length);
}
