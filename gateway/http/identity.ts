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
import { ERRORS } from '../../shared/base/errors.ts';
import { ADMINISTRATOR, type Administrators } from '../access/administrators.ts';
import type { Unauthenticated } from '../access/authenticator.ts';
import { type Gate, type Identified, isUnauthenticated, type Rights } from '../access/credential.ts';
import { admit, credentialOf, type Offered, offersTwo } from '../access/credentialOf.ts';
import type { Limiter, LimitResult } from '../access/limiter.ts';
import { clientAddress, clientSubject, isLoopback } from '../base/clientAddress.ts';
import { isWithin } from '../base/networks.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import { Audited } from './audited.ts';
import type { Call, Passage } from './call.ts';
import { applyLimit } from './counting.ts';
import type { RequestHeaders } from './headers.ts';
import { refuse } from './respond.ts';
import type { FullSpec } from './spec.ts';

export type RefusedLoginCount = {
  countRefusedLogin(address: string, fault: 'missing' | 'invalid' | 'role', operator?: string): void;
};

/** A route, as far as this stage needs it. */
type Row = { readonly route: FullSpec; readonly rights: Rights };

export type IdentityOptions = Gate & {
  readonly administrators: Pick<Administrators, 'identify'>;
  /** Absent: refused logins of administrators are not counted. */
  readonly audit?: RefusedLoginCount;
  /** Null: nothing is counted. */
  readonly limiter: Limiter | null;
  readonly clock: Clock;
  /** A request of the account has arrived, with a valid signature. */
  readonly onSigned?: (account: number, nowMs: number) => void;
};

const TWO: Refusal = { row: ERRORS.TWO_CREDENTIALS };
const NO_ADMINISTRATOR: Refusal = { row: ERRORS.INVALID_ADMIN_TOKEN, details: { step: 'admin_token' } };

export class IdentityStage {
  readonly #options: IdentityOptions;
  readonly #nowMs = (): number => this.#options.clock.nowMs();

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /**
   * The checks that need only the headers, for a call that offers a credential or has to.
   * @returns false if the call was refused
   */
  admit(call: Call, { route }: Row, headers: RequestHeaders): boolean {
    if (offersTwo(headers)) {
      refuse(call, TWO);
      return false;
    }
    const offered = admit(this.#options, headers, call.startedMs, route.early !== undefined);
    if (!isUnauthenticated(offered)) {
      call.offered = offered;
      return true;
    }
    if (needsKey(route)) this.refuse(call, route, offered);
    else call.addressPassage = this.countAddress(call, route);
    return !needsKey(route);
  }

  /** For a call that was admitted, once its body is complete. */
  identify(call: Call, row: Row, offered: Offered): Passage {
    const found = credentialOf(offered).identify(this.#options, offered, call, row);
    if (!(found instanceof Promise)) return this.#identified(call, row, found);
    return found.then((late) => this.#identified(call, row, late));
  }

  /** A request that is refused from here on has no effect. */
  #identified(call: Call, row: Row, found: Identified<AccountPrincipal>): Passage {
    if (isUnauthenticated(found)) return this.#unidentified(call, row.route, found);
    const passage = this.#enter(call, row, found);
    if (passage instanceof Promise) return this.#giveBackLate(passage, call, found);
    if (!passage) this.#giveBack(call, found);
    return passage;
  }

  async #giveBackLate(passage: Promise<boolean>, call: Call, principal: AccountPrincipal): Promise<boolean> {
    const isPassed = await passage;
    if (!isPassed) this.#giveBack(call, principal);
    return isPassed;
  }

  #giveBack(call: Call, principal: AccountPrincipal): void {
    credentialOf(principal).giveBack(this.#options, principal, call);
  }

  /** For a call on a connection that its principal opened: nothing has to be verified, everything else is the same. */
  enter(call: Call, row: Row, principal: AccountPrincipal): Passage {
    if (this.isInForce(principal, call.startedMs)) return this.#enter(call, row, principal);
    return this.#unidentified(call, row.route, credentialOf(principal).ended);
  }

  isInForce(principal: AccountPrincipal, nowMs: number): boolean {
    return credentialOf(principal).isInForce(this.#options, principal, nowMs);
  }

  #enter(call: Call, { route, rights }: Row, principal: AccountPrincipal): Passage {
    const { limiter, onSigned } = this.#options;
    const credential = credentialOf(principal);
    call.principal = principal;
    onSigned?.(principal.accountIndex, call.startedMs);
    credential.entered(this.#options, principal, call);
    const lacking = credential.lacks(principal, rights);
    if (lacking !== null) {
      this.refuse(call, route, lacking);
      return false;
    }
    const counted = limiter === null ? null : credential.count(limiter, principal, route, call.startedMs);
    return counted instanceof Promise ? this.#passLate(call, principal, counted) : this.#pass(call, counted);
  }

  /** CREDENTIAL-3 */
  async #passLate(call: Call, principal: AccountPrincipal, counted: Promise<LimitResult>): Promise<boolean> {
    const result = await counted;
    if (this.isInForce(principal, call.startedMs)) return this.#pass(call, result);
    refuse(call, credentialOf(principal).ended);
    return false;
  }

  /** An administrator has come in before the body is received. @returns false if the call was refused */
  admitAdministrator(call: Call, { route, rights }: Row, authorization: string): boolean {
    const { administrators, audit } = this.#options;
    const administrator = administrators.identify(authorization);
    const address = this.#addressOf(call);
    if (administrator === null) {
      audit?.countRefusedLogin(address, authorization === '' ? 'missing' : 'invalid');
      this.refuse(call, route, NO_ADMINISTRATOR);
      return false;
    }
    // Not counted: no traffic from the same address may lock an administrator out.
    call.principal = administrator;
    call.audited = new Audited(address);
    ADMINISTRATOR.entered(this.#options, administrator, call);
    const lacking = ADMINISTRATOR.lacks(administrator, rights);
    if (lacking === null) return true;
    audit?.countRefusedLogin(address, 'role', administrator.name);
    refuse(call, lacking);
    return false;
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
  #addressOf(call: Call): string {
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
  refuseInvalid(call: Call, { route }: Row, { message, details }: Invalid): void {
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

  #pass(call: Call, result: LimitResult | Promise<LimitResult> | null): Passage {
    return applyLimit(call, result, this.#nowMs);
  }
}

/** Public data needs no key: an invalid key or a wrong clock must not prevent a client from requesting the time. */
function needsKey({ access, strictKey }: FullSpec): boolean {
  return access !== 'public' || strictKey === true;
}

/** True for a socket opened on this machine. */
export function isFromHere(call: Call): boolean {
  return isLoopback(call.transport.peer());
}
