/**
 * The stages that decide who calls and whether once more is too often (RULES.md 4): identity, scope and limit. A call
 * that is refused here has been answered.
 *
 * A key is counted only once its signature holds, so a forged request never spends a quota. Everything else is counted
 * by address, failed attempts too: whoever guesses is held up like any other stranger.
 * Owner: the gateway thread.
 */
import type { Clock } from '../shared/clock.ts';
import { ERRORS, type ErrorRow } from '../shared/errors.ts';
import type { ApiKey, Authentication, Authenticator, Credentials } from './auth/apiKeys.ts';
import type { Admission, Call } from './call.ts';
import type { Config } from './config.ts';
import { clientAddress, clientSubject, isLoopback } from './limits/clientAddress.ts';
import type { Limiter, Verdict } from './limits/limiter.ts';
import { isWithin } from './limits/networks.ts';
import { type FailOptions, fail } from './respond.ts';
import type { Route } from './route.ts';

export type IdentityOptions = {
  readonly config: Pick<Config, 'trustProxy'>;
  readonly authenticator: Authenticator;
  /** Null counts nothing. */
  readonly limiter: Limiter | null;
  readonly clock: Clock;
};

const DEPENDENCY_RETRY_AFTER_SEC = 1;
const BLOCKED: Authentication = { ok: false, row: ERRORS.IP_BLOCKED, details: { step: 'address' } };

export class IdentityStage {
  readonly #options: IdentityOptions;

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /** Of a call with a key, whose body is there. @param scope bits the key has to have. */
  identify(call: Call, route: Route, scope: number, credentials: Credentials): Admission {
    const { method, target, body, startedMs } = call;
    const checked = this.#options.authenticator.check(credentials, method, target, body, startedMs);
    const result = checked.ok && !this.#isAllowedFrom(call, checked.key) ? BLOCKED : checked;
    if (!result.ok) {
      // Public data needs no key: a bad one, or a clock that is off, must not keep anyone from asking for the time.
      if (route.access === 'public' && !route.strictKey) return this.admitAddress(call, route);
      this.refuse(call, route, result.row, result.details);
      return false;
    }
    call.key = result.key;
    if ((result.key.scopes & scope) !== scope) {
      this.refuse(call, route, ERRORS.INSUFFICIENT_SCOPE);
      return false;
    }
    return this.#admit(call, this.#options.limiter?.takeForKey(result.key, route, startedMs) ?? null);
  }

  /** Of a call without a key. */
  admitAddress(call: Call, route: Route): Admission {
    const { limiter, config } = this.#options;
    if (limiter === null) return true;
    const subject = clientSubject(peerOf(call), call.forwardedFor, config.trustProxy);
    return this.#admit(call, limiter.takeForAddress(subject, route, call.startedMs));
  }

  refuse(call: Call, route: Route, row: ErrorRow, details?: FailOptions['details']): void {
    const admission = this.admitAddress(call, route);
    if (admission === true) fail(call, row, { details });
    else if (admission !== false) void admission.then((isAdmitted) => isAdmitted && fail(call, row, { details }));
  }

  /** Asked only once the signature holds: the list of a key is nobody else's business. */
  #isAllowedFrom(call: Call, { allowedNetworks }: ApiKey): boolean {
    if (allowedNetworks === null) return true;
    return isWithin(allowedNetworks, clientAddress(peerOf(call), call.forwardedFor, this.#options.config.trustProxy));
  }

  #admit(call: Call, verdict: Verdict | Promise<Verdict> | null): Admission {
    if (verdict === null) return true;
    return verdict instanceof Promise ? verdict.then((late) => this.#heed(call, late)) : this.#heed(call, verdict);
  }

  #heed(call: Call, verdict: Verdict): boolean {
    call.rateLimitHeaders = verdict.headers;
    if (verdict.decision === 'allowed') return true;
    if (verdict.decision === 'dependency_unavailable') {
      fail(call, ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE, { retryAfterSec: DEPENDENCY_RETRY_AFTER_SEC });
    } else {
      // Never 0: a full window still holds its oldest request for some milliseconds.
      const waitMs = verdict.resetMs - this.#options.clock.nowMs();
      fail(call, ERRORS.RATE_LIMITED, { retryAfterSec: Math.max(Math.ceil(waitMs / 1000), 1) });
    }
    return false;
  }
}

/** Whether the socket begins on this machine. */
export function isFromHere(call: Call): boolean {
  return isLoopback(peerOf(call));
}

function peerOf(call: Call): Uint8Array {
  return new Uint8Array(call.response.getRemoteAddress());
}
