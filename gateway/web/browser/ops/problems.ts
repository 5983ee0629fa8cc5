/**
 * Lists what a person on call has to know, worst first: what needs a hand now, what can wait for the day, and what an
 * operator has set. Urgency and bounds are those of the alerts (alerts.ts), so that the page is red for what rings.
 */
import type { BackupReport, Operations } from '../../../../shared/client/types.ts';
import { countsBetween, earlier, merged, quantile, type Sample } from './measure.ts';
import { age, DAY_SEC, seconds, stageWords } from './numbers.ts';
import { boundOf, noted, type Problem, ringing, worstFirst } from './problem.ts';
import { clusterProblems, settlementProblems } from './problemsBeyond.ts';

const ORDERS = 'POST /v1/orders';
const WINDOW_MS = 30_000;
const MS = 1000;

/** @param backups null while it is not known */
export function problemsOf(samples: readonly Sample[], error: string | null, backups: BackupReport | null): Problem[] {
  const last = samples.findLast(({ report }) => report !== null)?.report ?? null;
  const found: Problem[] = [];
  if (error !== null) {
    const text = `No report: ${error} The numbers are those of the last one.`;
    found.push(ringing('ExchangeDown', 'Surroundings', text));
  }
  if (last === null) return found;
  // A report has the start of its process; those of the last fifteen minutes are kept (reports.ts).
  const starts = new Set(samples.flatMap(({ report }) => (report === null ? [] : [report.started]))).size - 1;
  if (starts >= boundOf('ExchangeRestarts')) {
    found.push(ringing('ExchangeRestarts', 'Surroundings', `Starts of the exchange in 15 minutes: ${starts}.`));
  }
  found.push(
    ...stateProblems(last),
    ...diskProblems(last),
    ...keptProblems(last),
    ...watchedProblems(last),
    ...clusterProblems(last),
    ...settlementProblems(last),
    ...last.shards.flatMap((shard) => shardProblems(shard)),
  );
  if (backups !== null) found.push(...backupProblems(backups, last.time));
  const before = earlier(samples, samples.length - 1, WINDOW_MS);
  if (before !== null) found.push(...placingProblems(before, last), ...latencyProblems(before, last));
  return worstFirst(found);
}

function stateProblems(last: Operations): Problem[] {
  const { status, reason, paused, drills, approvals_pending: waiting } = last;
  const found: Problem[] = [];
  const text = `The exchange is ${status}${reason === null ? '' : `: ${reason}`}.`;
  // A standby that follows has no problem, and a start takes as long as its journals are.
  if (status === 'starting') found.push(noted('Trading', text, 'the-exchange-does-not-answer'));
  else if (status !== 'ready' && status !== 'standby') found.push(ringing('ExchangeNotReady', 'Trading', text));
  if (paused) found.push(ringing('PausedLong', 'Trading', 'Placing is paused.'));
  found.push(...stageProblems(last));
  if (drills.length > 0) {
    found.push(noted('Trading', `A drill refuses orders: ${drills.join(', ')}.`, 'trading-has-stopped'));
  }
  if (waiting > 0) {
    const what = waiting === 1 ? 'A change waits' : `${waiting} changes wait`;
    found.push(ringing('ApprovalWaits', 'Surroundings', `${what} for a second operator.`));
  }
  return found;
}

/** The stage of the platform, and markets that are in a stricter one. */
function stageProblems({ stage, stages }: Operations): Problem[] {
  if (stage !== 'open') {
    return [ringing('StageLong', 'Trading', `The platform is in ${stageWords(stage)}.`)];
  }
  return (['cancel_only', 'post_only'] as const)
    .filter((each) => stages[each] > 0)
    .map((each) => ringing('StageLong', 'Trading', `Markets in ${stageWords(each)}: ${stages[each]}.`, each));
}

function diskProblems({ disk }: Operations): Problem[] {
  if (disk.low) return [ringing('DiskLow', 'Disk', 'The disk is nearly full: orders and deposits are refused.')];
  const leftSec = secondsUntilFull(disk);
  if (leftSec === null || leftSec >= DAY_SEC) return [];
  return [ringing('DiskFilling', 'Disk', `The disk will be nearly full in ${age(leftSec)}.`)];
}

/** Returns the time until orders are refused if the disk goes on filling; null if it does not, or is not known. */
export function secondsUntilFull({
  free_bytes,
  reserve_bytes,
  growth_bytes_per_day,
}: Operations['disk']): number | null {
  if (growth_bytes_per_day === null || growth_bytes_per_day <= 0) return null;
  return (Math.max(free_bytes - reserve_bytes, 0) / growth_bytes_per_day) * DAY_SEC;
}

function backupProblems(backups: BackupReport, nowMs: number): Problem[] {
  const { backed_up_at: backedUpAt, failed_at: failedAt, restored_at: restoredAt, drill_failed_at } = backups;
  const found: Problem[] = [];
  const sinceSec = (time: string): number => (nowMs - Date.parse(time)) / MS;
  if (backedUpAt === null) {
    found.push(ringing('BackupLate', 'Backups', 'No backup was ever made of this directory.'));
  } else if (sinceSec(backedUpAt) > boundOf('BackupLate')) {
    const isOld = sinceSec(backedUpAt) > boundOf('BackupOld');
    const text = `The last whole backup is ${age(sinceSec(backedUpAt))} old: a disaster takes all that came after it.`;
    found.push(ringing(isOld ? 'BackupOld' : 'BackupLate', 'Backups', text));
  }
  if (failedAt !== null) found.push(ringing('BackupFailed', 'Backups', 'The last backup has failed.'));
  if (drill_failed_at !== null) {
    found.push(ringing('BackupDrillFailed', 'Backups', 'The last drill has restored a backup that is not sound.'));
  }
  if (backedUpAt !== null && (restoredAt === null || sinceSec(restoredAt) > boundOf('BackupNotRestored'))) {
    const time = restoredAt === null ? 'yet' : `for ${age(sinceSec(restoredAt))}`;
    found.push(ringing('BackupNotRestored', 'Backups', `No drill has restored a backup ${time}.`));
  }
  return found;
}

/** Finds reserves for a full disk that are used, and rows whose checksum is wrong. */
function keptProblems(last: Operations): Problem[] {
  const { control_rows_damaged: damaged, control_reserve_bytes: kept, reserve_wanted_bytes: wanted } = last;
  const found: Problem[] = [];
  if (damaged > 0) {
    found.push(ringing('ControlRowsDamaged', 'Disk', `Rows of control.db with a wrong checksum: ${damaged}.`));
  }
  const least = boundOf('ControlReserveUsed') * wanted;
  const text = 'has less than half of the space that it keeps for a full disk.';
  if (kept < least) found.push(ringing('ControlReserveUsed', 'Disk', `control.db ${text}`));
  for (const { shard, reserve_bytes: bytes } of last.shards) {
    if (bytes < least)
      found.push(ringing('JournalReserveUsed', 'Disk', `The journal of shard ${shard} ${text}`, shard));
  }
  return found;
}

function watchedProblems(last: Operations): Problem[] {
  const { limits_counted: isCounted, clock, damaged, audit_written: isWritten } = last;
  const found: Problem[] = [];
  if (isCounted === false) {
    found.push(ringing('LimitsNotCounted', 'Trading', 'Redis does not count: orders and reads are refused.'));
  }
  if (clock.refused_accounts >= boundOf('ClockWrong')) {
    const text = `Accounts refused for their time, and none accepted: ${clock.refused_accounts}.`;
    found.push(ringing('ClockWrong', 'Surroundings', text));
  }
  if (clock.set_back) {
    const text = 'The clock was set back: signed requests are refused until it has caught up.';
    found.push(ringing('ClockSetBack', 'Surroundings', text));
  }
  if (clock.shifts > 0) {
    // The alert rings for a shift of the last ten minutes; how long ago the last one was is not in a report.
    const text = `Shifts of this clock since the start: ${clock.shifts}.`;
    found.push({ ...ringing('ClockShifted', 'Surroundings', text), level: 'warn' });
  }
  if (!isWritten) {
    const text = 'The audit log cannot be written: administrators change nothing.';
    found.push(ringing('AuditLogUnwritten', 'Surroundings', text));
  }
  for (const { kind, count } of damaged) {
    if (count === 0) continue;
    const text = `Damaged or lost, and gone on without: ${kind.replaceAll('_', ' ')}.`;
    if (kind !== 'audit_log') found.push(ringing('Damaged', 'Surroundings', text));
    else found.push(ringing('AuditLogCut', 'Surroundings', 'Records of the audit log are missing.'));
  }
  return [...found, ...queryProblems(last), ...tableProblems(last), ...certificateProblems(last)];
}

function queryProblems({ queries: { waiting } }: Operations): Problem[] {
  if (waiting <= boundOf('QueriesWaiting')) return [];
  return [ringing('QueriesWaiting', 'Trading', `Queries of the past that wait for a thread: ${waiting}.`)];
}

function tableProblems({ bounds }: Operations): Problem[] {
  return bounds.flatMap(({ name, used, most }) => {
    if (used <= boundOf('TableFilling') * most) return [];
    const isOrders = name.startsWith('orders in memory') && used > boundOf('OrderCapacity') * most;
    const text = `${percentOf(used / most)} used: ${name}.`;
    return [ringing(isOrders ? 'OrderCapacity' : 'TableFilling', 'Surroundings', text, name)];
  });
}

function certificateProblems({ certificate_end: end, time }: Operations): Problem[] {
  if (end === null) return [];
  const leftSec = (end - time) / MS;
  if (leftSec >= boundOf('CertificateEnds')) return [];
  const name = leftSec < boundOf('CertificateEndsSoon') ? 'CertificateEndsSoon' : 'CertificateEnds';
  return [ringing(name, 'Surroundings', `The certificate ends ${new Date(end).toISOString().slice(0, 16)} UTC.`)];
}

/** Trading has stopped, possibly for a cause that has no words of its own. */
function placingProblems({ placing: before }: Operations, { placing }: Operations): Problem[] {
  const counts = new Map(before.turned_away.map(({ code, count }) => [code, count]));
  const grown = placing.turned_away.map(({ code, count }) => ({ code, count: count - (counts.get(code) ?? 0) }));
  const refused = grown.filter(({ count }) => count > 0);
  const total = refused.reduce((sum, { count }) => sum + count, 0);
  if (total < boundOf('TradingStopped') || total <= placing.taken - before.taken) return [];
  const codes = refused.map(({ code }) => code).join(', ');
  return [ringing('TradingStopped', 'Trading', `More orders are turned away than taken: ${total} in 30 s, ${codes}.`)];
}

function shardProblems(shard: Operations['shards'][number]): Problem[] {
  const found: Problem[] = [];
  const { ready, command_ring_bytes: used, command_ring_capacity_bytes: capacity, projector_lag_seconds: lag } = shard;
  if (!ready) found.push(ringing('ShardAway', 'Shards', `Shard ${shard.shard} accepts no commands.`, shard.shard));
  if (shard.signature_differences > 0) {
    const where = `Shard ${shard.shard} judged a signature wrongly`;
    const text = `${where}: the slow reference decides since. The log has the order.`;
    found.push(ringing('SignaturesDiffered', 'Shards', text, shard.shard));
  }
  if (capacity > 0 && used / capacity > boundOf('CommandQueueFilling')) {
    const text = `The command ring of shard ${shard.shard} is ${percentOf(used / capacity)} full.`;
    found.push(ringing('CommandQueueFilling', 'Shards', text, shard.shard));
  }
  if (shard.verifier === 'noble') {
    const text = `Shard ${shard.shard} checks signatures with the reference, ten times as slowly.`;
    found.push(ringing('SlowVerifier', 'Shards', text, shard.shard));
  }
  if (lag > boundOf('ProjectorBehind')) {
    const text = `History of shard ${shard.shard} is ${seconds(lag)} behind.`;
    found.push(ringing('ProjectorBehind', 'Shards', text, shard.shard));
  }
  return found;
}

function latencyProblems(before: Operations, last: Operations): Problem[] {
  const found: Problem[] = [];
  const p99 = (pick: Parameters<typeof countsBetween>[2]): number => {
    return quantile(countsBetween(before, last, pick) ?? [], last.bounds_seconds, 0.99) ?? 0;
  };
  const loop = p99(({ event_loop }) => event_loop.delay);
  if (loop > boundOf('GatewayThreadHeld')) {
    found.push(ringing('GatewayThreadHeld', 'Shards', `The event loop is late by ${seconds(loop)} (p99).`));
  }
  const orders = p99(({ routes }) => routes.find((each) => `${each.method} ${each.route}` === ORDERS) ?? null);
  if (orders > boundOf('SlowOrders')) {
    found.push(ringing('SlowOrders', 'Trading', `Orders take ${seconds(orders)} (p99).`));
  }
  const refused = last.connections.refused - before.connections.refused;
  if (refused > boundOf('ConnectionsRefused')) {
    found.push(
      ringing('ConnectionsRefused', 'Trading', `Connections refused in 30 s, for there are too many: ${refused}.`),
    );
  }
  const commit = p99(({ shards }) => merged(shards.map((each) => each.commit)));
  if (commit > boundOf('SlowCommits')) {
    found.push(ringing('SlowCommits', 'Disk', `Commits take ${seconds(commit)} (p99).`));
  }
  return found;
}

function percentOf(share: number): string {
  return `${Math.round(share * 100)} %`;
}
