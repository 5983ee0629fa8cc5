/** A session as its person and the administrator see it (RULES.md 15.6). */
import type { AdminSessions } from '../../shared/api/sessions.ts';
import type { Session } from './sessionsStore.ts';

/** @param endMs the time at which it ends without another refresh */
export function sessionJson(session: Session, endMs: number): AdminSessions['sessions'][number] {
  const { principal, method, userAgent, createdMs, rotatedMs } = session;
  const toText = (timeMs: number): string => new Date(timeMs).toISOString();
  return {
    id: principal.sessionId,
    method,
    user_agent: userAgent,
    created_at: toText(createdMs),
    authenticated_at: toText(principal.authenticatedAtMs),
    refreshed_at: toText(rotatedMs),
    expires_at: toText(endMs),
  };
}
