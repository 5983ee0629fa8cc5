/** The administrator's feed of counters and changes (RULES.md 9.11). */
import { ERRORS } from '../../shared/base/errors.ts';
import { okAs, refuse, startEventStream } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { AdminFeed } from './feed.ts';

type AdminEventDeps = { readonly feed: AdminFeed; readonly stats: () => object };

const LISTEN = {
  method: 'GET',
  path: '/admin/events',
  id: 'adminStreamEvents',
  summary: 'Counts and changes as server-sent events.',
  access: 'viewer',
  answers: { 200: { type: 'string' } },
  contentType: 'text/event-stream',
} as const satisfies RouteSpec;

export function adminEventRoutes(deps: AdminEventDeps): Route[] {
  return [route(LISTEN, (call) => listen(call, deps))];
}

function listen(call: CallOf<typeof LISTEN>, { feed, stats }: AdminEventDeps): void {
  if (feed.isFull) return refuse(call, { row: ERRORS.ENGINE_BUSY, message: 'too many listeners' });
  if (call.method === 'HEAD') return okAs(call, 'text/event-stream', '');
  const { response } = call;
  startEventStream(call);
  if (!call.aborted) feed.attach(response, call.principal.operatorId, ['stats', stats()]);
}
