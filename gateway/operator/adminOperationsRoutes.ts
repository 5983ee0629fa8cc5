/** The administrator's report on the state of the exchange, for the page at `/ops` (RULES.md 9.60). */
import { OPERATIONS } from '../../shared/api/operations.ts';
import { ok } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { OperationsReport } from './operations.ts';

/** Answers even before recovery is done and while draining, when the exchange is watched most closely. */
const SHOW_OPERATIONS = {
  method: 'GET',
  path: '/admin/operations',
  id: 'adminGetOperations',
  summary: 'Shards, lags, latencies, refusals and disk: counters since the start, and how things stand.',
  access: 'viewer',
  probe: true,
  answers: { 200: OPERATIONS },
} as const satisfies RouteSpec;

export function adminOperationsRoutes(report: () => OperationsReport): Route[] {
  return [
    route(SHOW_OPERATIONS, async (call) => {
      await report().refresh();
      ok(call, report().of(call.principal));
    }),
  ];
}
