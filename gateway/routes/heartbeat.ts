/** The heartbeat that keeps an account's orders alive once it has begun (RULES.md 7.8). */
import type { DeadMansSwitch } from '../deadMansSwitch.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';

const NO_FIELDS = { type: 'object', additionalProperties: false, properties: {} };

/** Not placing: it goes on while the platform is paused, as cancels do. */
export function heartbeatRoutes(deadMansSwitch: DeadMansSwitch): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/orders/heartbeat',
      access: 'trade:orders',
      limit: 'heartbeat',
      body: NO_FIELDS,
      bodyOptional: true,
      handler: (call) => {
        deadMansSwitch.beat(call.key!.accountIndex);
        ok(call, { status: 'ok', server_time: Math.floor(call.startedMs / 1000) });
      },
    },
  ];
}
