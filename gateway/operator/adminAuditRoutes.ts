/** The administrator's view of the audit log (RULES.md 9.14). */

import { AUDIT_PAGE, AUDIT_QUERY } from '../../shared/api/audit.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import { okPage, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { AuditLog } from './auditLog.ts';
import type { AuditReader } from './auditReader.ts';

type AdminAuditDeps = { readonly reader: AuditReader; readonly log: Pick<AuditLog, 'head'> };

const SHOW_AUDIT = {
  method: 'GET',
  path: '/admin/audit',
  id: 'adminListAudit',
  summary: 'The records of the audit log, the newest first.',
  access: 'viewer',
  query: AUDIT_QUERY,
  answers: { 200: AUDIT_PAGE },
  errors: ['VALIDATION_ERROR'],
} as const satisfies RouteSpec;

export function adminAuditRoutes(deps: AdminAuditDeps): Route[] {
  return [route(SHOW_AUDIT, (call) => showAudit(call, deps))];
}

async function showAudit(call: CallOf<typeof SHOW_AUDIT>, { reader, log }: AdminAuditDeps): Promise<void> {
  const { limit, cursor, since, until, ...filter } = call.query;
  const page = await reader.page({ ...filter, sinceMs: toMs(since), untilMs: toMs(until) }, limit, cursor);
  if (page === null) {
    const details = { field: 'cursor', rule: 'of a page' };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid cursor', details });
    return;
  }
  const { sequence, hash } = log.head;
  // The lines are JSON already and are sent as they are in the file.
  okPage(call, 'records', page.lines, { next_cursor: page.next, head: { sequence, hash } });
}

function toMs(time: string | undefined): number | undefined {
  return time === undefined ? undefined : parseTimeMs(time);
}
