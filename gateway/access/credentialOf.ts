/** Of which kind a credential or a principal is: no other file asks (test/unit/gateway/access/credential.test.ts). */
import type { AccountPrincipal, Administrator, ApiKey, Principal, SessionPrincipal } from '../base/principal.ts';
import { isBearer } from '../base/sessionTokens.ts';
import type { Credential, Gate, Identified, Offering } from './credential.ts';
import { KEY_CREDENTIAL } from './keyCredential.ts';
import { type OfferedToken, SESSION_CREDENTIAL } from './sessionCredential.ts';

/** The part of an admitted credential that is kept until its body is complete. */
export type Offered = ApiKey | OfferedToken;
/** A credential, for the principals and offers of its own kind. */
type AnyCredential = Credential<AccountPrincipal, Offered>;

export function offersCredential({ keyId, authorization }: Offering): boolean {
  return keyId !== '' || isBearer(authorization);
}

/** True if both a key and a token are offered (RULES.md 15.3). */
export function offersTwo({ keyId, authorization }: Offering): boolean {
  return keyId !== '' && isBearer(authorization);
}

/** An offer of nothing is refused as that of a key without its headers. */
export function admit(gate: Gate, offering: Offering, nowMs: number, mayBeEarly: boolean): Identified<Offered> {
  const isToken = offering.keyId === '' && isBearer(offering.authorization);
  return (isToken ? SESSION_CREDENTIAL : KEY_CREDENTIAL).admit(gate, offering, nowMs, mayBeEarly);
}

export function credentialOf({ kind }: AccountPrincipal | Offered): AnyCredential {
  return kind === 'apiKey' ? KEY_CREDENTIAL : SESSION_CREDENTIAL;
}

export function isAdministrator(principal: Principal): principal is Administrator {
  return principal.kind === 'administrator';
}

export function isAnonymous({ kind }: Principal): boolean {
  return kind === 'anonymous';
}

/** The session with which a person acts; null for everyone else. */
export function sessionOf(principal: Principal): SessionPrincipal | null {
  return principal.kind === 'session' ? principal : null;
}
