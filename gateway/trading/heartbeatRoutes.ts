/** The heartbeats of an account that has armed the dead-man's switch (RULES.md 7.8). */
import { HEARTBEAT_RESPONSE } from '../../shared/api/orders.ts';
import { NO_FIELDS } from '../../shared/api/platform.ts';
import { ok } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { DeadMansSwitch } from './deadMansSwitch.ts';

/** Heartbeats do not count as placing: like cancels, they are accepted while the platform is paused. */
const HEARTBEAT = {
  method: 'POST',
  path: '/v1/orders/heartbeat',
  id: 'sendHeartbeat',
  summary: 'Arms the switch: 15 seconds without another heartbeat cancel all open orders.',
  access: 'trade:orders',
  limit: 'heartbeat',
  early: 'noted',
  body: NO_FIELDS,
  bodyOptional: true,
  answers: { 200: HEARTBEAT_RESPONSE },
} as const satisfies RouteSpec;

export function heartbeatRoutes(deadMansSwitch: DeadMansSwitch): Route[] {
  return [
    route(HEARTBEAT, (call) => {
      const answer = (): void => ok(call, { status: 'ok', server_time: Math.floor(call.startedMs / 1000) });
      const armed = deadMansSwitch.beat(call.principal.accountIndex);
      if (armed !== null) return armed.then(answer);
      answer();
    }),
  ];
}
