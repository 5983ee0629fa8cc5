/** The administrator's feed of counts and changes (RULES.md 9.11). */
import { ERRORS } from '../../shared/errors.ts';
import type { AdminFeed } from '../adminFeed.ts';
import type { Call } from '../call.ts';
import { beginEventStream, fail } from '../respond.ts';
import type { Route } from '../route.ts';

export type AdminEventDeps = { readonly feed: AdminFeed; readonly stats: () => object };

export function adminEventRoutes(deps: AdminEventDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/admin/events',
      access: 'admin',
      limit: 'unlisted',
      handler: (call) => listen(call, deps),
    },
  ];
}

function listen(call: Call, { feed, stats }: AdminEventDeps): void {
  if (feed.isFull) {
    fail(call, ERRORS.ENGINE_BUSY, { message: 'too many listeners' });
    return;
  }
  const { response } = call;
  beginEventStream(call);
  if (!call.aborted) feed.attach(response, ['stats', stats()]);
}
