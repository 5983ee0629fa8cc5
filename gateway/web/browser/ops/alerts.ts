/**
 * The alerts of data/deploy/prometheus/rules.yml: how urgent each is, the section of incidents.md that says what to do,
 * its bound, and for how long it has to hold. `npm run docs` writes this file.
 */
export type Alert = {
  /** `page` needs a person now, `ticket` within a working day. */
  readonly severity: 'page' | 'ticket';
  readonly runbook: string;
  /** The number that the alert compares with; null if it compares with a metric. */
  readonly bound: number | null;
  /** It rings when its condition has held for this long. */
  readonly lastsSec: number;
};

const alert = (severity: Alert['severity'], runbook: string, bound: number | null, lastsSec = 0): Alert => {
  return { severity, runbook, bound, lastsSec };
};

export const ALERTS = {
  ExchangeDown: alert('page', 'the-exchange-does-not-answer', 0, 30),
  MetricsRefused: alert('page', 'prometheus-gets-no-metrics', 1, 120),
  ExchangeNotReady: alert('page', 'a-shard-is-away', 0, 30),
  ShardAway: alert('page', 'a-shard-is-away', 0, 30),
  ExchangeRestarts: alert('page', 'the-exchange-is-started-again-and-again', 3),
  TradingStopped: alert('page', 'trading-has-stopped', 3),
  LimitsNotCounted: alert('page', 'trading-has-stopped', 0, 15),
  OrdersLimited: alert('ticket', 'requests-are-refused', null, 300),
  ServerErrors: alert('ticket', 'requests-are-refused', 0.01, 300),
  ThreadEnds: alert('ticket', 'the-exchange-is-started-again-and-again', 0),
  ProxyNotNamed: alert('ticket', 'requests-are-refused', 0.1, 600),
  PausedLong: alert('ticket', 'requests-are-refused', 1, 3600),
  StageLong: alert('ticket', 'opening-again', 0, 3600),
  DiskLow: alert('page', 'the-disk-is-full', 1),
  DiskFilling: alert('ticket', 'the-disk-is-full', null, 1800),
  JournalReserveUsed: alert('page', 'the-disk-is-full', null, 60),
  ControlReserveUsed: alert('page', 'the-disk-is-full', 0.5, 60),
  ControlRowsDamaged: alert('page', 'rows-are-not-as-they-were-written', 0),
  SlowCommits: alert('ticket', 'orders-are-slow', 0.05, 300),
  Damaged: alert('ticket', 'something-was-damaged', 0),
  AuditLogCut: alert('page', 'the-audit-log-was-cut', 0),
  AuditLogUnwritten: alert('page', 'the-audit-log-was-cut', 0, 60),
  BackupLate: alert('ticket', 'backups-are-late-or-fail', 10800, 300),
  BackupOld: alert('page', 'backups-are-late-or-fail', 86400, 300),
  BackupFailed: alert('ticket', 'backups-are-late-or-fail', 1),
  BackupNotRestored: alert('ticket', 'backups-are-late-or-fail', 864000, 300),
  BackupDrillFailed: alert('page', 'backups-are-late-or-fail', 1),
  ProjectorBehind: alert('page', 'the-projector-is-behind', 2, 60),
  PositionDifferences: alert('ticket', 'positions-differed', 0),
  HistoryShortened: alert('page', 'history-is-lost', 0),
  QueriesWaiting: alert('ticket', 'orders-are-slow', 50, 300),
  SignaturesDiffered: alert('page', 'signatures-differed', 0),
  SpotChecksAway: alert('ticket', 'signatures-differed', 0, 300),
  SettlementUnhealthy: alert('page', 'nothing-settles', 0, 30),
  ChainDiffers: alert('page', 'ledger-and-chain-differ', 0),
  TradesFailed: alert('page', 'the-contract-refuses-a-trade', 0),
  FiatDifferences: alert('ticket', 'statements-differ', 0, 300),
  KeyLow: alert('page', 'nothing-settles', 1, 300),
  FeeAtMost: alert('page', 'nothing-settles', 1, 300),
  ForeignNonces: alert('page', 'a-key-is-used-elsewhere', 0),
  ForeignProposal: alert('page', 'a-decision-that-is-not-ours', 0),
  DecisionsHeld: alert('ticket', 'a-decision-that-is-not-ours', 0, 60),
  FundsDoNotMove: alert('page', 'funds-do-not-move', 1800),
  PaymentRefused: alert('ticket', 'a-payment-is-refused', 0, 60),
  PaymentsRefused: alert('page', 'a-payment-is-refused', 5, 60),
  PaymentHeldBack: alert('ticket', 'a-payment-is-held-back', 0, 60),
  NodeNotWell: alert('ticket', 'a-node-is-not-as-the-others', 0, 300),
  SettlementBehind: alert('ticket', 'nothing-settles', 100000, 300),
  NoLeader: alert('page', 'no-member-leads', 0, 30),
  NoStandby: alert('page', 'a-standby-is-away-or-behind', 0, 60),
  StandbyBehind: alert('ticket', 'a-standby-is-away-or-behind', 5000, 120),
  StandbyStale: alert('page', 'a-standby-is-away-or-behind', 5, 60),
  LogStalled: alert('page', 'the-log-takes-no-rows', 1, 15),
  DatabaseStandbyAway: alert('page', 'the-log-takes-no-rows', 2, 120),
  LogGrows: alert('ticket', 'the-log-grows', 10000000000, 600),
  VersionsDiffer: alert('ticket', 'members-run-different-versions', 1, 7200),
  SlowOrders: alert('ticket', 'orders-are-slow', 0.25, 300),
  CommandQueueFilling: alert('ticket', 'orders-are-slow', 0.5, 60),
  GatewayThreadHeld: alert('ticket', 'orders-are-slow', 0.1, 300),
  ConnectionsRefused: alert('ticket', 'requests-are-refused', 0, 300),
  FrontFailed: alert('ticket', 'a-front-thread-failed', 0),
  MemoryGrows: alert('ticket', 'the-memory-grows', 0, 600),
  LogLinesDropped: alert('ticket', 'lines-of-the-log-are-lost', 0),
  OpenFiles: alert('page', 'requests-are-refused', 0.9, 300),
  MemoryNearItsEnd: alert('page', 'the-memory-grows', 0.9, 300),
  OrderCapacity: alert('page', 'a-table-is-nearly-full', 0.9, 300),
  TableFilling: alert('ticket', 'a-table-is-nearly-full', 0.7, 300),
  CertificateEnds: alert('ticket', 'a-certificate-ends', 1209600, 300),
  CertificateEndsSoon: alert('page', 'a-certificate-ends', 172800, 300),
  SlowVerifier: alert('ticket', 'orders-are-slow', 1, 300),
  ClockSetBack: alert('page', 'the-clock-is-wrong', 1, 15),
  ClockShifted: alert('page', 'the-clock-is-wrong', 0),
  ClockDiffers: alert('page', 'the-clock-is-wrong', 5, 30),
  ClockWrong: alert('page', 'the-clock-is-wrong', 2, 30),
  ClientClocksDiffer: alert('ticket', 'the-clock-is-wrong', 5, 300),
  ClockUnsynchronised: alert('ticket', 'the-clock-is-wrong', 0, 900),
  TestAlert: alert('page', 'a-test-alert-rings', 1),
  ApprovalWaits: alert('ticket', 'a-change-waits-for-approval', 0, 43200),
  RulesFail: alert('ticket', 'the-watchdog-is-silent', 0),
};
