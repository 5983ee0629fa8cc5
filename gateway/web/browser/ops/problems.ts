/**
 * The problems that a person on call has to know, in words, worst first. The bounds are those of the guide: a shard
 * that is down, a disk that fills, a read model or an event loop that is late, commits that take long.
 */
import type { Operations } from '../../../../shared/client/types.ts';
import { countsBetween, earlier, merged, quantile, type Sample } from './measure.ts';
import { bytes, seconds, stageWords } from './numbers.ts';

type Problem = { readonly level: 'bad' | 'warn'; readonly text: string };

const WINDOW_MS = 30_000;
/** The read model is usually less than half a second behind. */
const PROJECTOR_LAG_SEC = 2;
const LOOP_P99_SEC = 0.05;
const COMMIT_P99_SEC = 0.1;
/** A move has to end before the exit delay of a contract, which is longer than this. */
const MOVE_HANGS_SEC = 1800;
const RING_SHARE = 0.5;
/** Rows of a cluster are usually held within milliseconds; from one second on changes are refused. */
const LOG_WAIT_SEC = 1;
const MEMBER_SILENT_SEC = 10;
/** A member that is farther behind does not get the lead. */
const BEHIND_ROWS = 5000;
/** The disk reserve refuses orders: with this many times as much there is time to act. */
const DISK_WARN_FACTOR = 4;
/** These are the bounds of the alerts. */
const TURNED_AWAY = 3;
const REFUSED_ACCOUNTS = 2;
const FILLING_SHARE = 0.7;
const CERTIFICATE_MS = 14 * 86_400_000;

export function problemsOf(samples: readonly Sample[], error: string | null): Problem[] {
  const last = samples.at(-1)?.report ?? null;
  const found: Problem[] = [];
  if (error !== null) found.push({ level: 'bad', text: `No report: ${error} The numbers are those of the last one.` });
  if (last === null) return found;
  found.push(
    ...stateProblems(last),
    ...watchedProblems(last),
    ...clusterProblems(last),
    ...settlementProblems(last),
    ...last.shards.flatMap((shard) => shardProblems(shard)),
  );
  const before = earlier(samples, samples.length - 1, WINDOW_MS);
  if (before !== null) found.push(...placingProblems(before, last), ...latencyProblems(before, last));
  return found.sort((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn'));
}

function stateProblems(last: Operations): Problem[] {
  const { status, reason, paused, drills, disk, approvals_pending } = last;
  const found: Problem[] = [];
  // A standby that follows has no problem.
  if (status !== 'ready' && status !== 'standby') {
    found.push({ level: 'bad', text: `The exchange is ${status}${reason === null ? '' : `: ${reason}`}.` });
  }
  if (paused) found.push({ level: 'warn', text: 'Placing is paused.' });
  found.push(...stageProblems(last));
  if (drills.length > 0) found.push({ level: 'warn', text: `A drill refuses orders: ${drills.join(', ')}.` });
  if (disk.low) found.push({ level: 'bad', text: 'The disk is nearly full: orders and deposits are refused.' });
  else if (disk.free_bytes < DISK_WARN_FACTOR * disk.reserve_bytes) {
    found.push({ level: 'warn', text: `The disk has ${bytes(disk.free_bytes)} left.` });
  }
  if (approvals_pending > 0) {
    const text = approvals_pending === 1 ? 'A change waits' : `${approvals_pending} changes wait`;
    found.push({ level: 'warn', text: `${text} for a second operator.` });
  }
  return found;
}

function watchedProblems(last: Operations): Problem[] {
  const { limits_counted: isCounted, clock, bounds, damaged, audit_written: isWritten, certificate_end: end } = last;
  const found: Problem[] = [];
  if (isCounted === false) found.push({ level: 'bad', text: 'Redis does not count: orders and reads are refused.' });
  if (clock.refused_accounts >= REFUSED_ACCOUNTS) {
    found.push({
      level: 'bad',
      text: `Accounts refused for their time, and none accepted: ${clock.refused_accounts}.`,
    });
  }
  if (clock.shifts > 0) found.push({ level: 'warn', text: `Shifts of this clock since the start: ${clock.shifts}.` });
  if (!isWritten) found.push({ level: 'bad', text: 'The audit log cannot be written: administrators change nothing.' });
  for (const { kind, count } of damaged) {
    if (count === 0) continue;
    if (kind === 'audit_log') found.push({ level: 'bad', text: 'Records of the audit log are missing.' });
    else found.push({ level: 'warn', text: `Damaged or lost, and gone on without: ${kind.replaceAll('_', ' ')}.` });
  }
  for (const { name, used, most } of bounds) {
    if (used > FILLING_SHARE * most) found.push({ level: 'warn', text: `${percentOf(used / most)} used: ${name}.` });
  }
  if (end !== null && end - last.time < CERTIFICATE_MS) {
    found.push({ level: 'warn', text: `The certificate ends ${new Date(end).toISOString().slice(0, 16)} UTC.` });
  }
  return found;
}

/** Trading has stopped, possibly for a cause that has no words of its own. */
function placingProblems({ placing: before }: Operations, { placing }: Operations): Problem[] {
  const counts = new Map(before.turned_away.map(({ code, count }) => [code, count]));
  const grown = placing.turned_away.map(({ code, count }) => ({ code, count: count - (counts.get(code) ?? 0) }));
  const refused = grown.filter(({ count }) => count > 0);
  const total = refused.reduce((sum, { count }) => sum + count, 0);
  if (total < TURNED_AWAY || total <= placing.taken - before.taken) return [];
  const codes = refused.map(({ code }) => code).join(', ');
  return [{ level: 'bad', text: `More orders are turned away than taken: ${total} in 30 s, ${codes}.` }];
}

/** The stage of the platform, and markets that are in a stricter one. */
function stageProblems({ stage, stages }: Operations): Problem[] {
  if (stage !== 'open') return [{ level: 'warn', text: `The platform is in ${stageWords(stage)}.` }];
  return (['cancel_only', 'post_only'] as const).flatMap((each) => {
    if (stages[each] === 0) return [];
    return [{ level: 'warn' as const, text: `Markets in ${stageWords(each)}: ${stages[each]}.` }];
  });
}

function clusterProblems({ cluster }: Operations): Problem[] {
  if (cluster === null) return [];
  const { leader, log, members, database } = cluster;
  const found: Problem[] = [];
  if (leader === null) found.push({ level: 'bad', text: 'No member leads: changes are refused.' });
  if (log.problem !== null) found.push({ level: 'bad', text: `The log does not answer as it should: ${log.problem}.` });
  if (log.oldest_wait_seconds > LOG_WAIT_SEC) {
    found.push({ level: 'bad', text: `Rows wait for the log for ${seconds(log.oldest_wait_seconds)}.` });
  }
  const answering = members.filter(({ silent_seconds: silent }) => silent < MEMBER_SILENT_SEC);
  if (!answering.some(({ role }) => role === 'standby')) {
    found.push({ level: 'bad', text: 'No standby answers that could take over.' });
  }
  for (const { member, behind_rows: behind, problem } of answering) {
    if (problem !== null) found.push({ level: 'bad', text: `${member} does not agree with the log: ${problem}.` });
    if ((behind ?? 0) > BEHIND_ROWS) found.push({ level: 'warn', text: `${member} is ${behind} rows behind the log.` });
  }
  if (new Set(answering.map(({ version }) => version)).size > 1) {
    found.push({ level: 'warn', text: 'Members run different versions.' });
  }
  const isOne = database?.standbys.filter(({ state }) => state === 'streaming').length === 1;
  if (isOne) found.push({ level: 'warn', text: 'The database has one standby alone: without it nothing is accepted.' });
  return found;
}

function settlementProblems({ settlement }: Operations): Problem[] {
  if (settlement === null) return [];
  const { reason, problem, differences, failed_trades: failed, at_most_fee: isAtMostFee, low_keys: low } = settlement;
  const { decisions, move, nodes } = settlement;
  const found: Problem[] = [];
  if (reason !== null) found.push({ level: 'bad', text: `Settlement refuses orders: ${reason}.` });
  if (problem !== null && problem !== reason) found.push({ level: 'bad', text: `The chain is not used: ${problem}.` });
  for (const { node, state, reason: cause } of nodes) {
    if (state === 'well') continue;
    found.push({ level: 'warn', text: `Node ${node} of RPC_URL is not as the others (${state}): ${cause}.` });
  }
  if (differences > 0) found.push({ level: 'bad', text: `Ledger and chain differ in ${differences} balances.` });
  if (failed > 0)
    found.push({ level: 'bad', text: `Trades that the contract refuses: ${failed}. They have to be undone.` });
  if (move !== null) {
    const level = move.seconds > MOVE_HANGS_SEC ? 'bad' : 'warn';
    const text = `Funds move to another contract (${move.state}) for ${seconds(move.seconds)}: ${move.left} left.`;
    found.push({ level, text });
  }
  for (const { market_id, proposal, payouts, is_carried_out: isDone } of decisions.foreign) {
    const what = `proposal ${proposal} pays ${payouts.join(' and ')} millionths in market ${market_id}`;
    const text = isDone
      ? `The chain has decided otherwise than the exchange: ${what}.`
      : `Not proposed by the exchange, and takes effect unless it is vetoed: ${what}.`;
    found.push({ level: 'bad', text });
  }
  if (!decisions.may_propose) {
    found.push({ level: 'warn', text: 'RESOLVER_KEY may not propose: decisions of markets wait for another key.' });
  }
  if (isAtMostFee) found.push({ level: 'bad', text: 'A transaction waits for fees above MOST_FEE_GWEI.' });
  if (low.length > 0) found.push({ level: 'warn', text: `Keys with little left for gas: ${low.join(', ')}.` });
  return found;
}

function shardProblems(shard: Operations['shards'][number]): Problem[] {
  const found: Problem[] = [];
  const { ready, command_ring_bytes: used, command_ring_capacity_bytes: capacity } = shard;
  if (!ready) found.push({ level: 'bad', text: `Shard ${shard.shard} accepts no commands.` });
  if (shard.signature_differences > 0) {
    const where = `Shard ${shard.shard} judged a signature wrongly`;
    found.push({ level: 'bad', text: `${where}: the slow reference decides since. The log has the order.` });
  }
  if (capacity > 0 && used / capacity > RING_SHARE) {
    found.push({
      level: 'bad',
      text: `The command ring of shard ${shard.shard} is ${percentOf(used / capacity)} full.`,
    });
  }
  if (shard.projector_lag_seconds > PROJECTOR_LAG_SEC) {
    const lag = seconds(shard.projector_lag_seconds);
    found.push({ level: 'warn', text: `History of shard ${shard.shard} is ${lag} behind.` });
  }
  return found;
}

function latencyProblems(before: Operations, last: Operations): Problem[] {
  const found: Problem[] = [];
  const p99 = (pick: Parameters<typeof countsBetween>[2]): number => {
    return quantile(countsBetween(before, last, pick) ?? [], last.bounds_seconds, 0.99) ?? 0;
  };
  const loop = p99(({ event_loop }) => event_loop.delay);
  if (loop > LOOP_P99_SEC) found.push({ level: 'warn', text: `The event loop is late by ${seconds(loop)} (p99).` });
  const commit = p99(({ shards }) => merged(shards.map((each) => each.commit)));
  if (commit > COMMIT_P99_SEC) found.push({ level: 'warn', text: `Commits take ${seconds(commit)} (p99).` });
  return found;
}

function percentOf(share: number): string {
  return `${Math.round(share * 100)} %`;
}
