/**
 * On whose behalf a request is carried out. The identity stage decides this once; handlers get only the kinds that the
 * access of their route admits (http/route.ts), so that none of them needs to check for an account.
 */
import type { BlockList } from 'node:net';
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { SelfTrade } from '../../shared/base/codes.ts';
import type { Limit, Tier } from './classes.ts';
import type { HmacKey } from './hmacKey.ts';
import type { Passphrase } from './passphrase.ts';

/** One object per key, made when the key is loaded or issued: a request allocates nothing for its principal. */
export type ApiKey = {
  readonly kind: 'apiKey';
  readonly keyId: string;
  readonly accountIndex: number;
  readonly userId: string;
  readonly secret: HmacKey;
  readonly passphrase: Passphrase;
  /** Bits of SCOPE. */
  readonly scopes: number;
  readonly revoked: boolean;
  readonly expiresAtMs: number | null;
  readonly requireSigningVersion: 1 | 2 | null;
  readonly tier: Tier;
  readonly rateLimitOverride: Limit | null;
  readonly selfTradePrevention: SelfTrade;
  /** The networks from which the key may be used; null allows all networks. */
  readonly allowedNetworks: BlockList | null;
};

/** One object per operator, and one for the holder of the token in the settings. */
export type Administrator = {
  readonly kind: 'administrator';
  /** BOOTSTRAP_ID, or the id of a named operator. */
  readonly operatorId: string;
  readonly name: string;
  readonly roles: readonly OperatorRole[];
};

/** A person who has signed in (RULES.md 15.1). One object per session, made when the session is opened or loaded. */
export type SessionPrincipal = {
  readonly kind: 'session';
  readonly sessionId: string;
  readonly accountIndex: number;
  readonly userId: string;
  /** Bits of SCOPE. */
  readonly scopes: number;
  readonly selfTradePrevention: SelfTrade;
  /** When the person last proved their identity: at the sign-in, or with a later signature of a wallet. */
  readonly authenticatedAtMs: number;
};

/** Public requests without valid credentials, and operators' requests from this machine. */
export type Anonymous = { readonly kind: 'anonymous' };

export type Principal = ApiKey | SessionPrincipal | Administrator | Anonymous;

/** All kinds that act for an account. */
export type AccountPrincipal = Extract<Principal, { readonly accountIndex: number }>;

const BOOTSTRAP_ID = 'bootstrap';
/** The holder of ADMIN_TOKEN: a superuser who exists before any operator does, and cannot be revoked. */
export const BOOTSTRAP: Administrator = Object.freeze({
  kind: 'administrator',
  operatorId: BOOTSTRAP_ID,
  name: BOOTSTRAP_ID,
  roles: ['superuser'] as const,
});
export const ANONYMOUS: Anonymous = Object.freeze({ kind: 'anonymous' });

/** True for a principal that acts for an account. */
export function isAccount(principal: Principal): principal is AccountPrincipal {
  return 'accountIndex' in principal;
}
