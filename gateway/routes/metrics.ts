/** What an operator's monitoring asks for (RULES.md 10.9). */
import type { Metrics } from '../metrics.ts';
import { okAs } from '../respond.ts';
import type { Route } from '../route.ts';

/** Answers also before recovery is done and while draining, when it is watched most closely. */
export function metricsRoutes(metrics: () => Metrics): Route[] {
  return [
    {
      method: 'GET',
      path: '/metrics',
      access: 'operator',
      limit: 'unlisted',
      probe: true,
      handler: async (call) => okAs(call, metrics().contentType, await metrics().text()),
    },
  ];
}
