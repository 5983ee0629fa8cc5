/**
 * Alerts that the report of one exchange does not show, each with what would have to be looked at. The view names them,
 * so that "Nothing needs a hand" claims no more than it knows.
 */
import type { ALERTS } from './alerts.ts';

export const UNSEEN_ALERTS: Partial<Record<keyof typeof ALERTS, string>> = {
  MetricsRefused: 'only Prometheus knows what it was refused',
  HistoryShortened: 'the report does not say where history begins',
  OpenFiles: 'the report does not count open files',
  MemoryNearItsEnd: 'the report has no limit of memory',
  ClockDiffers: 'it compares with the clock of Prometheus',
  TestAlert: 'it tests the way to a phone, and no state of the exchange',
  OrdersLimited: 'the report does not count refusals by route',
  ServerErrors: 'the report does not count answers by status',
  ThreadEnds: 'the report does not count threads that were started again',
  ProxyNotNamed: 'the report does not count requests by proxy',
  PositionDifferences: 'the report does not count them',
  SpotChecksAway: 'the report does not count checks of signatures',
  FiatDifferences: 'the section Cashing has the sessions with an alarm',
  PaymentHeldBack: 'the report does not count payments that wait for a bound',
  FrontFailed: 'the report does not count front threads that failed',
  MemoryGrows: 'it compares with the memory of hours ago',
  LogLinesDropped: 'the report does not count lines of the log',
  ClientClocksDiffer: 'the report does not count clients',
  ClockUnsynchronised: 'only the exporter of the machine knows',
  RulesFail: 'only Prometheus knows its own failures',
};
