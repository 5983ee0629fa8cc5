/**
 * Tokens by which Privy identifies a person (RULES.md 15.31, 15.32): ES256 JWTs for our app. Owner: the gateway thread;
 * signatures are verified on others.
 *
 * Invariants:
 *   PRIVY-1  A token's claims are read first: no key is fetched for a token of another issuer, app or algorithm, or an
 *            expired one.
 *   PRIVY-2  An e-mail address is accepted only from an identity token of the same person.
 */
import type { KeyObject } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import { ProviderCalls, ProviderDown } from '../http/providerCalls.ts';
import { providerKeys } from './providerKeys.ts';
import type { Proof } from './signIn.ts';

const ISSUER = 'privy.io';
const ALGORITHM = 'ES256';
const MAX_SUBJECT = 255;
const MAX_EMAIL = 254;
/** Providers' clocks may differ from ours. */
const MAX_SKEW_SEC = 30;
/** Sign-ins that wait for keys: an exchange never has as many at a time, unless the keys do not arrive. */
const MAX_WAITING = 256;
const RETRY_AFTER_SEC = 5;

type Step = 'access_token' | 'identity_token';
type FindKey = ReturnType<typeof providerKeys>;

type PrivyTokensOptions = {
  readonly appId: string;
  readonly keys: KeyObject | URL;
  /** Called with the reason if the keys cannot be fetched. */
  readonly onDown: (error: Error) => void;
  readonly calls?: Pick<ProviderCalls, 'send'>;
};

export class PrivyTokens {
  readonly #appId: string;
  readonly #keys: KeyObject | FindKey;
  readonly #onDown: (error: Error) => void;
  #waiting = 0;

  constructor({ appId, keys, onDown, calls = new ProviderCalls() }: PrivyTokensOptions) {
    this.#appId = appId;
    this.#keys = keys instanceof URL ? providerKeys(keys, calls) : keys;
    this.#onDown = onDown;
  }

  /** Finds out who the person is, or why the tokens are refused. */
  async check(accessToken: string, identityToken: string | undefined, nowMs: number): Promise<Proof | Refusal> {
    if (this.#waiting >= MAX_WAITING) return down();
    this.#waiting++;
    try {
      const access = await this.#claimsOf(accessToken, 'access_token', nowMs);
      if (!('claims' in access)) return access;
      const subject = access.claims.sub!;
      let email: string | null = null;
      if (identityToken !== undefined) {
        const identity = await this.#claimsOf(identityToken, 'identity_token', nowMs);
        if (!('claims' in identity)) return identity;
        if (identity.claims.sub !== subject) return refused(ERRORS.INVALID_ACCESS_TOKEN, 'identity_token');
        email = emailOf(identity.claims['linked_accounts']);
      }
      return { method: 'privy', wallet: null, identity: { issuer: ISSUER, subject }, email, displayName: null };
    } catch (error) {
      if (!(error instanceof ProviderDown)) throw error;
      this.#onDown(error);
      return down();
    } finally {
      this.#waiting--;
    }
  }

  async #claimsOf(token: string, step: Step, nowMs: number): Promise<{ readonly claims: JWTPayload } | Refusal> {
    const fault = this.#faultOf(token, nowMs);
    if (fault !== null) return refused(fault, step);
    const expected = {
      algorithms: [ALGORITHM],
      issuer: ISSUER,
      audience: this.#appId,
      requiredClaims: ['sub', 'exp', 'iat'],
      clockTolerance: MAX_SKEW_SEC,
      currentDate: new Date(nowMs),
    };
    try {
      const keys = this.#keys;
      const { payload } =
        typeof keys === 'function' ? await jwtVerify(token, keys, expected) : await jwtVerify(token, keys, expected);
      return { claims: payload };
    } catch (error) {
      if (error instanceof ProviderDown) throw error;
      return refused(ERRORS.INVALID_ACCESS_TOKEN, step);
    }
  }

  /** PRIVY-1. Null if the claims have no fault. */
  #faultOf(token: string, nowMs: number): ErrorRow | null {
    const nowSec = Math.floor(nowMs / 1000);
    try {
      const { alg } = decodeProtectedHeader(token);
      const { iss, aud, sub, exp, iat } = decodeJwt(token);
      const isOurs = alg === ALGORITHM && iss === ISSUER && aud === this.#appId;
      const isDated = typeof exp === 'number' && typeof iat === 'number' && iat <= nowSec + MAX_SKEW_SEC;
      const isNamed = typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUBJECT;
      if (!isOurs || !isDated || !isNamed) return ERRORS.INVALID_ACCESS_TOKEN;
      return exp + MAX_SKEW_SEC <= nowSec ? ERRORS.ACCESS_TOKEN_EXPIRED : null;
    } catch {
      return ERRORS.INVALID_ACCESS_TOKEN;
    }
  }
}

/**
 * The verified address of the person, in lower case; null if there is none.
 * @param linked the person's accounts in the token: JSON text, or the array itself
 */
function emailOf(linked: unknown): string | null {
  try {
    const accounts: unknown = typeof linked === 'string' ? JSON.parse(linked) : linked;
    if (!Array.isArray(accounts)) return null;
    for (const account of accounts) {
      const { type, address, lv, verified_at } = account ?? {};
      const isVerified = Number(lv ?? verified_at ?? 0) > 0;
      if (type === 'email' && isVerified && typeof address === 'string' && address.length <= MAX_EMAIL) {
        return address.toLowerCase();
      }
    }
    return null;
  } catch {
    return null;
  }
}

function refused(row: ErrorRow, step: Step): Refusal {
  return { row, details: { step } };
}

function down(): Refusal {
  return { row: ERRORS.PROVIDER_UNAVAILABLE, retryAfterSec: RETRY_AFTER_SEC };
}
