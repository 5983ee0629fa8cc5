/** The token of a person who has signed in: it is the same for all requests, and lasts no longer than its session. */
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { SessionPrincipal } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { type AdmittedToken, tokenIn } from '../base/sessionTokens.ts';
import type { Unauthenticated } from './authenticator.ts';
import type { Credential } from './credential.ts';

/** The tabs of a browser share one session, and each may have sockets: all sessions of an account count together. */
export const MAX_CONNECTIONS_OF_SESSIONS = 20;

/** A bearer token that was admitted; its signature may not be verified yet. */
export type OfferedToken = { readonly kind: 'token'; readonly token: string; readonly admitted: AdmittedToken };

const LACKS: Refusal = { row: ERRORS.INSUFFICIENT_SCOPE, message: 'sessions lack the required scope' };

export const SESSION_CREDENTIAL: Credential<SessionPrincipal, OfferedToken> = {
  ended: unauthenticated(ERRORS.SESSION_ENDED),
  mostSockets: MAX_CONNECTIONS_OF_SESSIONS,

  admit({ sessions }, { authorization }, nowMs) {
    const token = tokenIn(authorization);
    const admitted = sessions?.admit(token, nowMs) ?? ERRORS.INVALID_ACCESS_TOKEN;
    return 'principal' in admitted ? { kind: 'token', token, admitted } : unauthenticated(admitted);
  },

  /** The first use of a token takes longer. */
  identify(gate, { token, admitted }, { startedMs }) {
    const { principal, isVerified } = admitted;
    // Body or signature may have taken long, and the session may have ended meanwhile.
    const found = () => (this.isInForce(gate, principal, startedMs) ? principal : this.ended);
    if (isVerified) return found();
    return gate
      .sessions!.verify(token, admitted, startedMs)
      .then((isRight) => (isRight ? found() : unauthenticated(ERRORS.INVALID_ACCESS_TOKEN)));
  },

  isInForce: ({ sessions }, session, nowMs) => sessions?.isInForce(session, nowMs) === true,

  entered() {},

  lacks: ({ scopes }, { sessionScope }) => ((scopes & sessionScope) === sessionScope ? null : LACKS),

  count(limiter, { accountIndex }, route, nowMs) {
    return route.countsItself ? null : limiter.countAccount(accountIndex, route, nowMs);
  },

  giveBack() {},

  ownQuota: () => null,

  socketOwner: ({ accountIndex }) => `account ${accountIndex}`,

  provedMs: ({ authenticatedAtMs }) => authenticatedAtMs,
};

function unauthenticated(row: ErrorRow): Unauthenticated {
  return { ok: false, row, details: { step: 'access_token' } };
}
