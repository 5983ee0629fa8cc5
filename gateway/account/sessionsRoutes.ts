/** The sessions of people (RULES.md 15): refreshed, listed and ended, and the keys that verify their access tokens. */

import { UUID } from '../../shared/api/fields.ts';
import {
  JWKS,
  OWN_SESSIONS,
  REFRESH_BODY,
  REVOKED_SESSIONS,
  SESSION,
  SESSION_MESSAGE,
} from '../../shared/api/sessions.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { sessionOf } from '../access/credentialOf.ts';
import { clientSubject } from '../base/clientAddress.ts';
import type { Call, Passage } from '../http/call.ts';
import { cookieOf, isOfOwnPage } from '../http/cookies.ts';
import { applyLimit } from '../http/counting.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { answerSession, clearRefreshCookie, REFRESH_COOKIE, type TokenDelivery } from './sessionAnswer.ts';
import { sessionJson } from './sessionJson.ts';
import type { SessionKeys } from './sessionKeysStore.ts';
import type { Session } from './sessionsStore.ts';
import type { AuthDeps } from './signInDeps.ts';

const REFRESH = {
  method: 'POST',
  path: '/v1/auth/refresh',
  id: 'refreshSession',
  summary: 'Exchanges the refresh token, of the cookie or of the body, for the next one and an access token.',
  access: 'public',
  limit: 'refreshSession',
  cookies: true,
  countsItself: true,
  bodyOptional: true,
  body: REFRESH_BODY,
  answers: { 200: SESSION },
  errors: ['INVALID_REFRESH_TOKEN', 'SESSION_ENDED', 'OTHER_SITE'],
} as const satisfies RouteSpec;

const REVOKE = {
  method: 'POST',
  path: '/v1/auth/revoke',
  id: 'revokeSession',
  summary: 'Ends the session of the refresh token; the answer is the same whether there was one or not.',
  access: 'public',
  limit: 'signIn',
  cookies: true,
  bodyOptional: true,
  body: REFRESH_BODY,
  answers: { 200: SESSION_MESSAGE },
  errors: ['OTHER_SITE'],
} as const satisfies RouteSpec;

const REVOKE_ALL = {
  method: 'POST',
  path: '/v1/auth/revoke-all',
  id: 'revokeAllSessions',
  summary: 'Ends all sessions of the account, this one too.',
  access: 'authenticated',
  limit: 'refreshSession',
  bodyOptional: true,
  answers: { 200: REVOKED_SESSIONS },
} as const satisfies RouteSpec;

const LIST_SESSIONS = {
  method: 'GET',
  path: '/v1/auth/sessions',
  id: 'listSessions',
  summary: 'The sessions of the account that are in force, the one opened last first.',
  access: 'authenticated',
  answers: { 200: OWN_SESSIONS },
} as const satisfies RouteSpec;

const END_SESSION = {
  method: 'DELETE',
  path: '/v1/auth/sessions/:id',
  id: 'endSession',
  summary: 'Ends a session of the account.',
  access: 'authenticated',
  params: { id: UUID },
  answers: { 200: SESSION_MESSAGE },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const SHOW_KEYS = {
  method: 'GET',
  path: '/.well-known/jwks.json',
  id: 'getSigningKeys',
  summary: 'The keys that verify access tokens (RFC 7517).',
  access: 'public',
  answers: { 200: JWKS },
} as const satisfies RouteSpec;

const ENDED = { message: 'session ended' };

export function sessionRoutes(deps: AuthDeps & { readonly sessionKeys: SessionKeys }): Route[] {
  const { sessionKeys: keys } = deps;
  return [
    route(REFRESH, (call) => refresh(call, deps)),
    route(REVOKE, (call) => revoke(call, deps)),
    route(REVOKE_ALL, (call) => revokeAll(call, deps)),
    route(LIST_SESSIONS, (call) => listSessions(call, deps)),
    route(END_SESSION, (call) => endSession(call, deps)),
    route(SHOW_KEYS, (call) => ok(call, keys.jwks(deps.clock.nowMs()))),
  ];
}

async function refresh(call: CallOf<typeof REFRESH>, deps: AuthDeps): Promise<void> {
  const { sessions, clock } = deps;
  const given = refreshTokenOf(call, deps);
  if (!(await isCounted(call, given === null ? null : sessions.ofToken(given.token, clock.nowMs()), deps))) return;
  if (given === null) return refuse(call, { row: ERRORS.OTHER_SITE });
  const result = sessions.refresh(given.token, call.headers.userAgent, clock.nowMs());
  if ('session' in result) await answerSession(call, { ...result, isNew: false, delivery: given.delivery }, deps);
  else {
    // The end of a session is durable before its client is informed.
    await sessions.durable();
    refuse(call, { row: result, details: { step: 'refresh_token' } });
  }
}

/** The session decides which limit applies, because many people may share one address. */
function isCounted(call: Call, session: Session | null, { limiter, trustProxy, clock }: AuthDeps): Passage {
  if (limiter === null) return true;
  const peer = call.transport.peer();
  const result =
    session === null
      ? limiter.countFailure(clientSubject(peer, call.transport.forwardedFor, trustProxy), REFRESH, call.startedMs)
      : limiter.countAccount(session.principal.accountIndex, REFRESH, call.startedMs);
  return applyLimit(call, result, () => clock.nowMs());
}

async function revoke(call: CallOf<typeof REVOKE>, deps: AuthDeps): Promise<void> {
  const { sessions, clock } = deps;
  const given = refreshTokenOf(call, deps);
  if (given === null) return refuse(call, { row: ERRORS.OTHER_SITE });
  const session = sessions.ofToken(given.token, clock.nowMs());
  if (session !== null) sessions.end(session.principal.sessionId);
  await sessions.durable();
  if (given.delivery === 'cookie') clearRefreshCookie(call, deps);
  ok(call, ENDED);
}

async function revokeAll(call: CallOf<typeof REVOKE_ALL>, { sessions, clock }: AuthDeps): Promise<void> {
  const revoked = sessions.endAll(call.principal.accountIndex, clock.nowMs());
  await sessions.durable();
  ok(call, { message: 'sessions ended', revoked });
}

function listSessions(call: CallOf<typeof LIST_SESSIONS>, { sessions, clock }: AuthDeps): void {
  const { principal } = call;
  const current = sessionOf(principal)?.sessionId;
  const own = sessions.of(principal.accountIndex, clock.nowMs()).reverse();
  ok(call, {
    sessions: own.map((session) => ({
      ...sessionJson(session, sessions.endMs(session)),
      is_current: session.principal.sessionId === current,
    })),
  });
}

async function endSession(call: CallOf<typeof END_SESSION>, { sessions, clock }: AuthDeps): Promise<void> {
  const session = sessions.find(call.params.id.toLowerCase(), clock.nowMs());
  if (session?.principal.accountIndex !== call.principal.accountIndex)
    return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'session not found' });
  sessions.end(session.principal.sessionId);
  await sessions.durable();
  ok(call, ENDED);
}

/** The token in the body, otherwise in the cookie; null if a page of another site has sent the cookie. */
function refreshTokenOf(
  call: CallOf<typeof REFRESH>,
  { pages }: AuthDeps,
): { readonly token: string; readonly delivery: TokenDelivery } | null {
  const { refresh_token } = call.body;
  if (refresh_token !== undefined) return { token: refresh_token, delivery: 'body' };
  const browser = call.headers;
  if (!isOfOwnPage(browser, pages)) return null;
  return { token: cookieOf(browser, REFRESH_COOKIE) ?? '', delivery: 'cookie' };
}
