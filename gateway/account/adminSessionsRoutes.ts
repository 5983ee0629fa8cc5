/** The administrator's routes for the sessions of an account (RULES.md 15.11). */
import { ADMIN_SESSIONS, REVOKED_SESSIONS } from '../../shared/api/sessions.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Accounts } from './accounts.ts';
import { requireUser } from './requireUser.ts';
import { sessionJson } from './sessionJson.ts';
import type { Sessions } from './sessions.ts';

type AdminSessionDeps = { readonly accounts: Accounts; readonly sessions: Sessions; readonly clock: Clock };

const PATH = '/admin/users/:id/sessions';
const OF_USER = { path: PATH, params: ID_PARAM, errors: ['RESOURCE_NOT_FOUND'] } as const;

const LIST_SESSIONS = {
  ...OF_USER,
  method: 'GET',
  id: 'adminListSessions',
  summary: 'The sessions of the account that are in force, the one opened last first.',
  access: 'viewer',
  answers: { 200: ADMIN_SESSIONS },
} as const satisfies RouteSpec;

const END_SESSIONS = {
  ...OF_USER,
  method: 'DELETE',
  id: 'adminEndSessions',
  summary: 'Ends all sessions of the account, and closes their sockets.',
  access: 'superuser',
  answers: { 200: REVOKED_SESSIONS },
} as const satisfies RouteSpec;

export function adminSessionRoutes(deps: AdminSessionDeps): Route[] {
  return [
    route(LIST_SESSIONS, (call) => listSessions(call, deps)),
    route(END_SESSIONS, (call) => endSessions(call, deps)),
  ];
}

function listSessions(call: CallOf<typeof LIST_SESSIONS>, { accounts, sessions, clock }: AdminSessionDeps): void {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const inForce = sessions.of(user.index, clock.nowMs()).reverse();
  ok(call, { sessions: inForce.map((session) => sessionJson(session, sessions.endMs(session))) });
}

async function endSessions(call: CallOf<typeof END_SESSIONS>, deps: AdminSessionDeps): Promise<void> {
  const { accounts, sessions, clock } = deps;
  const user = requireUser(call, accounts);
  if (user === null) return;
  noteBefore(call, { sessions: sessions.of(user.index, clock.nowMs()).map(({ principal }) => principal.sessionId) });
  const revoked = sessions.endAll(user.index, clock.nowMs());
  await sessions.durable();
  ok(call, { message: 'sessions ended', revoked });
}
