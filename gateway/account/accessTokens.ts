/**
 * Access tokens (RULES.md 15.2): JWTs that the exchange signs for its sessions and reads back. A token's claims are
 * checked first, because that costs nothing: only if they name a valid session is the signature verified, on another
 * thread. A verified token is recognised by its hash.
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   TOKENS-1  A token, known or not, is accepted only while its session is valid.
 *   TOKENS-2  Only tokens with a correct signature are remembered: at most PER_SESSION per session, and MAX_KNOWN in
 *             all.
 *   TOKENS-3  A token is verified once at a time. After MOST_WRONG wrong signatures in WRONG_MS, no further token that
 *             names the same session is verified: a flood of them costs no more than reading the claims.
 */
import { hash } from 'node:crypto';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { SessionPrincipal } from '../base/principal.ts';
import { toScopeNames } from '../base/scopes.ts';
import type { AdmittedToken, SessionTokens } from '../base/sessionTokens.ts';
import { ACCESS_TOKEN_SEC, type SessionKeys } from './sessionKeysStore.ts';
import type { Session } from './sessionsStore.ts';

const ALGORITHM = 'ES256';
const AUDIENCE = 'open-prediction-exchange';
/** The exchange's own tokens have under 700 characters. */
const MAX_CHARACTERS = 2048;
const MAX_KNOWN = 65_536;
/** A reloaded page refreshes its token; earlier tokens are not needed any more. */
const PER_SESSION = 4;
const MOST_WRONG = 20;
const WRONG_MS = 10_000;
/** Another gateway may have signed the token. */
const MAX_SKEW_SEC = 5;

/** A token that was verified. */
type Known = { readonly sessionId: string; readonly expirationSec: number };
type Wrong = { count: number; readonly sinceMs: number };
type Claims = { readonly sessionId: string; readonly expirationSec: number; readonly kid: string };

type AccessTokensOptions = {
  readonly keys: SessionKeys;
  /** The claim `iss` of every token. */
  readonly issuer: string;
  /** The session, if it is valid. */
  readonly find: (id: string, nowMs: number) => Session | null;
};

export class AccessTokens implements SessionTokens {
  readonly #options: AccessTokensOptions;
  /** By the hash of the token, the oldest first. */
  readonly #known = new Map<string, Known>();
  /** Hashes by session, the oldest first. */
  readonly #hashes = new Map<string, string[]>();
  /** By the hash of the token. */
  readonly #verifying = new Map<string, Promise<boolean>>();
  /** By session. */
  readonly #wrong = new Map<string, Wrong>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  get known(): number {
    return this.#known.size;
  }

  /** A token that is valid for ACCESS_TOKEN_SEC. */
  sign({ sessionId, userId, scopes }: SessionPrincipal, nowMs: number): Promise<string> {
    const { keys, issuer } = this.#options;
    const nowSec = Math.floor(nowMs / 1000);
    return new SignJWT({ sid: sessionId, scope: toScopeNames(scopes).join(' ') })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: keys.kid })
      .setIssuer(issuer)
      .setAudience(AUDIENCE)
      .setSubject(userId)
      .setIssuedAt(nowSec)
      .setExpirationTime(nowSec + ACCESS_TOKEN_SEC)
      .sign(keys.privateKey);
  }

  admit(token: string, nowMs: number): AdmittedToken | ErrorRow {
    if (token.length > MAX_CHARACTERS) return ERRORS.INVALID_ACCESS_TOKEN;
    const known = this.#known.get(hashOf(token));
    const claims = known ?? this.#claimsOf(token, nowMs);
    if (claims === null) return ERRORS.INVALID_ACCESS_TOKEN;
    if (claims.expirationSec * 1000 <= nowMs) return ERRORS.ACCESS_TOKEN_EXPIRED;
    const session = this.#options.find(claims.sessionId, nowMs);
    if (session === null) return ERRORS.SESSION_ENDED;
    if (known === undefined && this.#hasTooManyWrong(claims.sessionId, nowMs)) return ERRORS.INVALID_ACCESS_TOKEN;
    return { principal: session.principal, isVerified: known !== undefined };
  }

  verify(token: string, { principal }: AdmittedToken, nowMs: number): Promise<boolean> {
    const tokenHash = hashOf(token);
    let verifying = this.#verifying.get(tokenHash);
    if (verifying === undefined) {
      verifying = this.#verify(token, principal, nowMs).finally(() => this.#verifying.delete(tokenHash));
      this.#verifying.set(tokenHash, verifying);
    }
    return verifying;
  }

  async #verify(token: string, principal: SessionPrincipal, nowMs: number): Promise<boolean> {
    // Tokens that arrived in the same turn are not verified either.
    if (this.#hasTooManyWrong(principal.sessionId, nowMs)) return false;
    const { keys, issuer } = this.#options;
    const claims = this.#claimsOf(token, nowMs);
    const key = claims === null ? null : keys.verifier(claims.kid, nowMs);
    if (claims === null || key === null) return false;
    const expected = {
      algorithms: [ALGORITHM],
      issuer,
      audience: AUDIENCE,
      subject: principal.userId,
      requiredClaims: ['exp', 'iat', 'sid'],
      clockTolerance: MAX_SKEW_SEC,
      currentDate: new Date(nowMs),
    };
    const isRight = await jwtVerify(token, key, expected).then(
      ({ payload }) => payload['sid'] === principal.sessionId,
      () => false,
    );
    if (!this.isInForce(principal, nowMs)) return false;
    if (isRight) this.#remember(hashOf(token), claims);
    else this.#countWrong(principal.sessionId, nowMs);
    return isRight;
  }

  isInForce({ sessionId }: SessionPrincipal, nowMs: number): boolean {
    return this.#options.find(sessionId, nowMs) !== null;
  }

  /** Frees what is remembered of the session's tokens; they are refused even without this (TOKENS-1). */
  forget(sessionId: string): void {
    for (const each of this.#hashes.get(sessionId) ?? []) this.#known.delete(each);
    this.#hashes.delete(sessionId);
    this.#wrong.delete(sessionId);
  }

  #hasTooManyWrong(sessionId: string, nowMs: number): boolean {
    const wrong = this.#wrong.get(sessionId);
    return wrong !== undefined && wrong.count >= MOST_WRONG && Math.abs(nowMs - wrong.sinceMs) < WRONG_MS;
  }

  #countWrong(sessionId: string, nowMs: number): void {
    const wrong = this.#wrong.get(sessionId);
    // Otherwise a clock that was set back would lock the session out for the length of the step.
    if (wrong === undefined || Math.abs(nowMs - wrong.sinceMs) >= WRONG_MS) {
      this.#wrong.set(sessionId, { count: 1, sinceMs: nowMs });
    } else {
      wrong.count++;
    }
  }

  /** The claims of the token, or null if it does not have our form; its signature is not verified here. */
  #claimsOf(token: string, nowMs: number): Claims | null {
    try {
      const { alg, kid } = decodeProtectedHeader(token);
      if (alg !== ALGORITHM || kid === undefined) return null;
      if (this.#options.keys.verifier(kid, nowMs) === null) return null;
      const { iss, aud, sub, sid, exp, iat } = decodeJwt(token);
      if (iss !== this.#options.issuer || aud !== AUDIENCE || typeof sub !== 'string') return null;
      if (typeof sid !== 'string' || typeof exp !== 'number' || typeof iat !== 'number') return null;
      if (iat > Math.floor(nowMs / 1000) + MAX_SKEW_SEC) return null;
      return { sessionId: sid, expirationSec: exp, kid };
    } catch {
      return null;
    }
  }

  /** TOKENS-2 */
  #remember(tokenHash: string, { sessionId, expirationSec }: Claims): void {
    const hashes = this.#hashes.get(sessionId) ?? [];
    // Two requests with a new token may have been verified at the same time.
    if (hashes.includes(tokenHash)) return;
    this.#hashes.set(sessionId, hashes);
    this.#known.set(tokenHash, { sessionId, expirationSec });
    hashes.push(tokenHash);
    if (hashes.length > PER_SESSION) this.#known.delete(hashes.shift()!);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest, { sessionId: its }] = this.#known.entries().next().value!;
    this.#known.delete(oldest);
    this.#hashes.set(
      its,
      this.#hashes.get(its)!.filter((each) => each !== oldest),
    );
  }
}

/** One byte per character: as a key it is shorter than the token, and the time of its look-up reveals nothing. */
function hashOf(token: string): string {
  return hash('sha256', token, 'binary');
}
