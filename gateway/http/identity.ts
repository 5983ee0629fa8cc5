/**
 * The stages that decide on whose behalf a request is made and whether the caller's limit admits it (RULES.md 4):
 * identity, scope and limit. A call that is refused here has been answered.
 *
 * A key is counted only once its signature is valid, so a forged request never spends a quota. Everything else is
 * counted by address. Failed attempts have separate counters: they slow down guessing, but do not use up the quota of
 * the same address for requests without credentials. The administrator's correct token is not counted at all. Owner:
 * the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { Authenticator, Credentials, Unauthenticated } from '../access/authenticator.ts';
import type { ConnectionLimits } from '../access/connectionLimits.ts';
import type { Limiter, LimitResult } from '../access/limiter.ts';
import { clientAddress, clientSubject, isLoopback, peerSubject } from '../base/clientAddress.ts';
import type { Config } from '../base/config.ts';
import { isWithin } from '../base/networks.ts';
import type { AccountPrincipal, ApiKey, SessionPrincipal } from '../base/principal.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import type { SessionTokens } from '../base/sessionTokens.ts';
import type { Call, Offered, OfferedToken, Passage } from './call.ts';
import { applyLimit } from './counting.ts';
import { refuse } from './respond.ts';
import { type FullSpec, requiredSessionScope } from './spec.ts';

export type IdentityOptions = {
  readonly config: Pick<Config, 'trustProxy'>;
  readonly authenticator: Authenticator;
  /** Absent if every bearer token is refused. */
  readonly sessions?: SessionTokens;
  /** Null: nothing is counted. */
  readonly limiter: Limiter | null;
  readonly connectionLimits?: ConnectionLimits;
  readonly clock: Clock;
  /** A request of the account has arrived, with a valid signature. */
  readonly onSigned?: (account: number, nowMs: number) => void;
  /** True while no correct clock can sign an acceptable request; absent if that never happens. */
  readonly isSetBack?: () => boolean;
  /** A heartbeat of the account was refused, although its signature is valid and its client's clock good enough. */
  readonly onRefusedBeat?: (account: number) => void;
};

const BLOCKED: Unauthenticated = { ok: false, row: ERRORS.IP_BLOCKED, details: { step: 'address' } };
const REVOKED: Unauthenticated = { ok: false, row: ERRORS.API_KEY_REVOKED, details: { step: 'api_key' } };

export class IdentityStage {
  readonly #options: IdentityOptions;
  readonly #nowMs = (): number => this.#options.clock.nowMs();

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /**
   * For a call that offers a key, before its body is received: a body is received only for a known and valid key.
   * @returns false if the call was refused
   */
  admit(call: Call, route: FullSpec, credentials: Credentials): boolean {
    const admitted = this.#options.authenticator.admit(credentials, call.startedMs, route.early !== undefined);
    if (admitted.ok) {
      call.offered = admitted.key;
      return true;
    }
    if (needsKey(route)) this.refuse(call, route, admitted);
    else call.addressPassage = this.countAddress(call, route);
    return !needsKey(route);
  }

  /** For a call whose key or token was admitted, once its body is complete. @param scope bits that a key must have */
  identify(call: Call, route: FullSpec, scope: number, offered: Offered): Passage {
    if (offered.kind === 'token') return this.#identifySession(call, route, offered);
    return this.#identifyKey(call, route, scope, offered, call.headers);
  }

  #identifyKey(call: Call, route: FullSpec, scope: number, offered: ApiKey, credentials: Credentials): Passage {
    const { method, target, bodyBytes, startedMs, ahead } = call;
    const { authenticator } = this.#options;
    const by = ahead?.kind === 'front' ? ahead.verifiedWith : undefined;
    const result = authenticator.verify(offered, credentials, method, target, bodyBytes, startedMs, by);
    if (!result.ok) return this.#unidentified(call, route, result);
    const { key } = result;
    const early = route.early === undefined ? null : authenticator.earlyRefusal(key, credentials, startedMs);
    if (early !== null && !this.#servesEarly(route)) {
      if (route.early === 'noted' && (key.scopes & scope) === scope) this.#options.onRefusedBeat?.(key.accountIndex);
      return this.#unidentified(call, route, early);
    }
    // A request refused from here on has no effect: it does not use up its nonce, and leaves nothing behind.
    if (!this.#isAllowedFrom(call, key)) {
      authenticator.giveBack(key, credentials);
      return this.#unidentified(call, route, BLOCKED);
    }
    const passage = this.#enterKey(call, route, scope, key);
    if (passage instanceof Promise) return this.#giveBackLate(passage, key, credentials);
    if (!passage) authenticator.giveBack(key, credentials);
    return passage;
  }

  #servesEarly({ early }: FullSpec): boolean {
    return early === 'carriedOut' || (early === 'whileSetBack' && this.#options.isSetBack?.() === true);
  }

  async #giveBackLate(passage: Promise<boolean>, key: ApiKey, credentials: Credentials): Promise<boolean> {
    const isPassed = await passage;
    if (!isPassed) this.#options.authenticator.giveBack(key, credentials);
    return isPassed;
  }

  /** For a call on a connection that its principal opened: nothing has to be verified, everything else is the same. */
  enter(call: Call, route: FullSpec, scope: number, principal: AccountPrincipal): Passage {
    if (principal.kind === 'session') return this.#enterSession(call, route, principal);
    const isExpired = principal.expiresAtMs !== null && principal.expiresAtMs <= call.startedMs;
    if (!isExpired && this.#options.authenticator.isInForce(principal)) {
      return this.#enterKey(call, route, scope, principal);
    }
    return this.#unidentified(call, route, REVOKED);
  }

  #enterKey(call: Call, route: FullSpec, scope: number, key: ApiKey): Passage {
    this.#enter(call, key);
    this.#noteSigner(call, key);
    if ((key.scopes & scope) !== scope) {
      this.refuse(call, route, { row: ERRORS.INSUFFICIENT_SCOPE });
      return false;
    }
    const counted = this.#options.limiter?.countKey(key, route, call.startedMs) ?? null;
    return counted instanceof Promise ? this.#passLate(call, key, counted) : this.#pass(call, counted);
  }

  /** The same for a call with a bearer token. */
  admitSession(call: Call, route: FullSpec, token: string): boolean {
    const admitted = this.#options.sessions?.admit(token, call.startedMs) ?? ERRORS.INVALID_ACCESS_TOKEN;
    if ('principal' in admitted) {
      call.offered = { kind: 'token', token, admitted };
      return true;
    }
    if (needsKey(route)) this.refuse(call, route, unauthenticated(admitted));
    else call.addressPassage = this.countAddress(call, route);
    return !needsKey(route);
  }

  /** The first use of a token takes longer. */
  #identifySession(call: Call, route: FullSpec, { token, admitted }: OfferedToken): Passage {
    if (admitted.isVerified) return this.#enterSession(call, route, admitted.principal);
    const { sessions } = this.#options;
    return sessions!.verify(token, admitted, call.startedMs).then((isVerified) => {
      if (isVerified) return this.#enterSession(call, route, admitted.principal);
      return this.#unidentified(call, route, unauthenticated(ERRORS.INVALID_ACCESS_TOKEN));
    });
  }

  /** Body or signature may have taken long, and the session may have ended meanwhile. */
  #enterSession(call: Call, route: FullSpec, principal: SessionPrincipal): Passage {
    const { sessions, limiter } = this.#options;
    const isInForce = (): boolean => sessions!.isInForce(principal, call.startedMs);
    if (!isInForce()) return this.#unidentified(call, route, unauthenticated(ERRORS.SESSION_ENDED));
    this.#enter(call, principal);
    const scope = requiredSessionScope(route);
    if ((principal.scopes & scope) !== scope) {
      this.refuse(call, route, { row: ERRORS.INSUFFICIENT_SCOPE, message: 'sessions lack the required scope' });
      return false;
    }
    const isCounted = limiter !== null && !route.countsItself;
    const counted = isCounted ? limiter.countAccount(principal.accountIndex, route, call.startedMs) : null;
    if (!(counted instanceof Promise)) return this.#pass(call, counted);
    return counted.then((result) => {
      if (isInForce()) return this.#pass(call, result);
      refuse(call, unauthenticated(ERRORS.SESSION_ENDED));
      return false;
    });
  }

  #enter(call: Call, principal: AccountPrincipal): void {
    call.principal = principal;
    this.#options.onSigned?.(principal.accountIndex, call.startedMs);
  }

  /** For a call that offers no credentials, or none that count. */
  countAddress(call: Call, route: FullSpec): Passage {
    const { limiter } = this.#options;
    const address = this.#subjectOf(call);
    call.transport.subject = limiter === null ? address : limiter.subjectOf(address, call.startedMs);
    if (limiter === null || route.countsItself) return true;
    return this.#pass(call, limiter.countAddress(address, route, call.startedMs));
  }

  /** The address of the client, as far as proxies are trusted. */
  addressOf(call: Call): string {
    return clientAddress(call.transport.peer(), call.transport.forwardedFor, this.#options.config.trustProxy);
  }

  /** Counts the failed attempt by its address, then refuses it. */
  refuse(call: Call, route: FullSpec, refusal: Refusal): void {
    const { limiter } = this.#options;
    const passage =
      limiter === null || this.#pass(call, limiter.countFailure(this.#subjectOf(call), route, call.startedMs));
    if (passage === true) refuse(call, refusal);
    else if (passage !== false) {
      // The refusal stands, whatever the result of the count.
      passage.then((isPassed) => isPassed && refuse(call, refusal)).catch(() => refuse(call, refusal));
    }
  }

  /** The handler, which counts the requests of some routes, does not see this one. */
  refuseInvalid(call: Call, route: FullSpec, { message, details }: Invalid): void {
    const refusal = { row: ERRORS.VALIDATION_ERROR, message, details };
    if (route.countsItself) this.refuse(call, route, refusal);
    else refuse(call, refusal);
  }

  #unidentified(call: Call, route: FullSpec, refusal: Unauthenticated): Passage {
    if (!needsKey(route)) return this.countAddress(call, route);
    this.refuse(call, route, refusal);
    return false;
  }

  #subjectOf(call: Call): string {
    return clientSubject(call.transport.peer(), call.transport.forwardedFor, this.#options.config.trustProxy);
  }

  isProxy(call: Call): boolean {
    const { trustProxy } = this.#options.config;
    return trustProxy !== null && isWithin(trustProxy, clientAddress(call.transport.peer(), '', null));
  }

  /**
   * From now on the address may use the reserved connections. A session does not suffice, because anyone can sign up.
   */
  #noteSigner(call: Call, { keyId, accountIndex }: ApiKey): void {
    const signed = this.#options.connectionLimits?.signed;
    if (signed?.isDue(keyId, call.startedMs)) signed.note(accountIndex, peerSubject(call.transport.peer()));
  }

  /** The same for an administrator. */
  noteAdministrator(call: Call, operatorId: string): void {
    this.#options.connectionLimits?.signed.note(operatorId, peerSubject(call.transport.peer()));
  }

  /** Checked only after the signature, so that a key's list of networks stays unknown to others. */
  #isAllowedFrom(call: Call, { allowedNetworks }: ApiKey): boolean {
    if (allowedNetworks === null) return true;
    return isWithin(allowedNetworks, this.addressOf(call));
  }

  #pass(call: Call, result: LimitResult | Promise<LimitResult> | null): Passage {
    return applyLimit(call, result, this.#nowMs);
  }

  async #passLate(call: Call, key: ApiKey, counted: Promise<LimitResult>): Promise<boolean> {
    const result = await counted;
    if (this.#options.authenticator.isInForce(key)) return this.#pass(call, result);
    refuse(call, { row: ERRORS.API_KEY_REVOKED, details: { step: 'api_key' } });
    return false;
  }
}

/** Public data needs no key: an invalid key or a wrong clock must not prevent a client from requesting the time. */
function needsKey({ access, strictKey }: FullSpec): boolean {
  return access !== 'public' || strictKey === true;
}

function unauthenticated(row: ErrorRow): Unauthenticated {
  return { ok: false, row, details: { step: 'access_token' } };
}

/** True for a socket opened on this machine. */
export function isFromHere(call: Call): boolean {
  return isLoopback(call.transport.peer());
}
