/** The administrator's routes for backups (RULES.md 9.62). */
import { BACKUP_ORDER, BACKUP_REPORT } from '../../shared/api/backups.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { ok, refuse } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { BackupRuns } from './backupRuns.ts';

const SHOW = {
  method: 'GET',
  path: '/admin/platform/backup',
  id: 'adminGetBackups',
  summary: 'The backup that was asked for last, and how backups and drills ended.',
  access: 'viewer',
  answers: { 200: BACKUP_REPORT },
} as const satisfies RouteSpec;

const START = {
  method: 'POST',
  path: '/admin/platform/backup',
  id: 'adminStartBackup',
  summary: 'Begins a backup of the data directory into the folder that BACKUP_TARGET names.',
  access: 'superuser',
  body: BACKUP_ORDER,
  bodyOptional: true,
  answers: { 202: BACKUP_REPORT },
  errors: ['CONFLICT'],
} as const satisfies RouteSpec;

export function adminBackupRoutes({ backupRuns }: { readonly backupRuns: BackupRuns }): Route[] {
  return [
    route(SHOW, (call) => ok(call, backupRuns.report())),
    route(START, (call) => {
      const refusal = backupRuns.start(call.body.rate);
      if (refusal === null) ok(call, backupRuns.report(), 202);
      else refuse(call, { row: ERRORS.CONFLICT, message: refusal });
    }),
  ];
}
