/** The administrator's switch: while the platform is paused nothing that takes risk is accepted (RULES.md 9). */
import type { Platform } from '../control/platform.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';

const ADMIN = { access: 'admin', limit: 'unlisted', method: 'POST' } as const;

export function adminPlatformRoutes({ platform }: { readonly platform: Platform }): Route[] {
  return [
    {
      ...ADMIN,
      path: '/admin/platform/pause',
      handler: (call) => {
        platform.setPaused(true);
        ok(call, { message: 'platform paused' });
      },
    },
    {
      ...ADMIN,
      path: '/admin/platform/resume',
      handler: (call) => {
        platform.setPaused(false);
        ok(call, { message: 'platform resumed' });
      },
    },
  ];
}
