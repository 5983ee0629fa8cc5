/** The metrics of the exchange in the text format of Prometheus (RULES.md 10.9). */
import { okInRows } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Metrics } from './metrics.ts';

/** Answers even before recovery is done and while draining, when the exchange is watched most closely. */
const SHOW_METRICS = {
  method: 'GET',
  path: '/metrics',
  id: 'getMetrics',
  summary: 'Metrics in the text format of Prometheus.',
  access: 'operator',
  probe: true,
  answers: { 200: { type: 'string' } },
  contentType: 'text/plain',
} as const satisfies RouteSpec;

export function metricsRoutes(metrics: () => Metrics): Route[] {
  return [route(SHOW_METRICS, (call) => okInRows(call, metrics().rows(), metrics().contentType))];
}
