/**
 * Alerts that page and that the report of one exchange does not show, each with what would have to be looked at. The
 * view names them, so that "Nothing needs a hand" claims no more than it knows.
 */
import type { ALERTS } from './alerts.ts';

export const UNSEEN_ALERTS: Partial<Record<keyof typeof ALERTS, string>> = {
  MetricsRefused: 'only Prometheus knows what it was refused',
  HistoryShortened: 'the report does not say where history begins',
  OpenFiles: 'the report does not count open files',
  MemoryNearItsEnd: 'the report has no limit of memory',
  ClockDiffers: 'it compares with the clock of Prometheus',
  TestAlert: 'it tests the way to a phone, and no state of the exchange',
};
