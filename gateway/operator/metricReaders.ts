/**
 * Reads the value of each metric from its source. Between two scrapes a metric costs only the plain counters that the
 * parts keep; they are read here.
 * Owner: the gateway thread.
 */
import { systemClock } from '../../shared/base/clock.ts';
import { STAGE_NAMES } from '../../shared/base/codes.ts';
import { MEMORY_KINDS, type ThreadMemory } from '../../shared/base/threadMemory.ts';
import { NOT_KNOWN, type Progress } from '../../shared/wire/progress.ts';
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';
import type { SettlementHealth } from '../../shared/wire/threads.ts';
import { FALLBACKS, fallbacks } from '../base/fallbacks.ts';
import { threadEnds } from '../base/threadEnds.ts';
import { NO_STATUS } from '../http/requestCounts.ts';
import type { RequestMeters } from '../http/requestMeters.ts';
import { STAGES } from '../http/requestTimes.ts';
import type { RouteSpec } from '../http/spec.ts';
import { TURN_BOUNDS_MS } from '../http/turnTimes.ts';
import { platformStage } from '../markets/stages.ts';
import { KINDS } from '../shardlink/replyTimes.ts';
import { answeringMembers, answeringStandbys, syncedStandbys } from './clusterReport.ts';
import type { HistogramValue, Member, MetricsSources, Reader, Single, ValueOf } from './metricSources.ts';
import type { LabelsOf, METRICS, MetricName } from './metricTable.ts';
import { PROCESS_READERS } from './processReaders.ts';

const WEI_PER_COIN = 1e18;
const MICRO_PER_USDC = 1e6;

type OfShard = {
  readonly [N in MetricName]: (typeof METRICS)[N]['labels'] extends readonly ['shard'] ? N : never;
}[MetricName];

/** The value of a metric without labels. */
function observeOne<N extends Single>(observe: Parameters<Reader<N>>[1], value: number | HistogramValue): void {
  observe({} as LabelsOf<N>, value as ValueOf<N>);
}

/** A metric without labels. */
function single<N extends Single>(read: (from: MetricsSources) => ValueOf<N>): Reader<N> {
  return (from, observe) => observeOne(observe, read(from));
}

function ofShard<N extends OfShard>(read: (from: MetricsSources, shard: number) => ValueOf<N>): Reader<N> {
  return (from, observe) => {
    for (let shard = 0; shard < from.progress.shards; shard++) {
      observe({ shard } as unknown as LabelsOf<N>, read(from, shard));
    }
  };
}

/** A metric of a member of a cluster: absent without a cluster, and while its value is unknown. */
function ofMember<N extends Single>(read: (member: Member) => number | null): Reader<N> {
  return ({ member }, observe) => {
    const value = member === null ? null : read(member);
    if (value !== null) observeOne(observe, value);
  };
}

/** A metric of the chain: absent without a chain, and before settlement has reported. */
function ofChain<N extends Single>(read: (health: SettlementHealth) => number): Reader<N> {
  return ({ settlement }, observe) => {
    const latest = settlement.latest;
    if (latest !== null) observeOne(observe, read(latest));
  };
}

/** A histogram that the shard keeps itself. */
function measured<N extends OfShard>(name: keyof ShardMeters['histograms']): Reader<N> {
  return ofShard(({ shardMeters }, shard) => shardMeters[shard].histograms[name] as HistogramValue as ValueOf<N>);
}

export const READERS: { readonly [N in MetricName]: Reader<N> } = {
  ...PROCESS_READERS,
  exchange_requests_total: ({ requests }, observe) => {
    requests.counts.forEach((route, status, count) => {
      observe({ ...labelsOf(route), status: status === NO_STATUS ? 'aborted' : status }, count);
    });
  },
  exchange_request_seconds: ({ requests }, observe) => {
    for (const [route, { total }] of requests.times.byRoute) observe(labelsOf(route), total);
  },
  exchange_request_stage_seconds: ({ requests }, observe) => {
    for (const [route, { stages }] of requests.times.byRoute) {
      for (const stage of STAGES) {
        if (stages[stage].count > 0) observe({ ...labelsOf(route), stage }, stages[stage]);
      }
    }
  },
  exchange_refusals_total: ({ requests }, observe) => {
    for (const [code, count] of requests.counts.refusals) observe({ code }, count);
  },
  exchange_rate_limit_decisions_total: ({ limiter }, observe) => {
    for (const [decision, count] of Object.entries(limiter?.decisions ?? {})) observe({ decision }, count);
  },
  exchange_unnamed_proxy_requests_total: single(({ requests }) => requests.counts.ofUnnamedProxies),
  exchange_limits_counted: ({ sharedCounters }, observe) => {
    if (sharedCounters !== null) observe({}, Number(sharedCounters.isAnswering));
  },
  exchange_placed_requests_total: single(({ placed }) => placed.taken),
  exchange_turned_away_requests_total: ({ placed }, observe) => {
    for (const [code, count] of placed.turnedAway) observe({ code }, count);
  },
  exchange_bad_signature_refusals_total: single(({ badSignatures }) => badSignatures?.refused ?? 0),
  exchange_request_turn_seconds: single(({ requests }) => turnsOf(requests)),
  exchange_request_turn_worst_seconds: ({ requests }, observe) => {
    requests.turns.forEachWorst((route, tookMs) => observe(labelsOf(route), tookMs / 1000));
  },
  exchange_long_answers: single(({ longAnswers }) => longAnswers.underway),
  exchange_long_answer_pieces_total: single(({ longAnswers }) => longAnswers.pieces),
  exchange_connections: single(({ connections }) => connections()),
  exchange_connections_refused_total: single(({ refusedConnections }) => refusedConnections()),
  exchange_thread_connections: ({ fronts, ownConnections }, observe) => {
    if (fronts === null) return;
    observe({ thread: 0 }, ownConnections());
    for (const [index, { connections }] of fronts.counts().entries()) observe({ thread: index + 1 }, connections);
  },
  exchange_front_calls_total: ({ fronts }, observe) => {
    for (const [index, { calls }] of fronts?.counts().entries() ?? []) observe({ thread: index + 1 }, calls);
  },
  exchange_front_prepared_total: ({ fronts }, observe) => {
    for (const [index, { read }] of fronts?.counts().entries() ?? []) observe({ thread: index + 1 }, read);
  },
  exchange_front_answers_total: ({ fronts }, observe) => {
    for (const [index, { answered }] of fronts?.counts().entries() ?? []) observe({ thread: index + 1 }, answered);
  },
  exchange_front_unread_bytes: ({ fronts }, observe) => {
    for (const [index, { unreadBytes }] of fronts?.counts().entries() ?? [])
      observe({ thread: index + 1 }, unreadBytes);
  },
  exchange_front_failures_total: ({ fronts }, observe) => {
    if (fronts !== null) observe({}, fronts.failures);
  },
  exchange_stream_connections: single(({ streamConnections }) => streamConnections()),
  exchange_event_loop_delay_seconds: single(({ loopDelay }) => loopDelay.delaySec),
  exchange_event_loop_active_seconds_total: single(({ loopDelay }) => loopDelay.use.activeSec),
  exchange_event_loop_idle_seconds_total: single(({ loopDelay }) => loopDelay.use.idleSec),
  exchange_log_lines_dropped_total: single(({ droppedLogLines }) => droppedLogLines()),
  exchange_thread_ends_total: (_, observe) => {
    for (const [thread, times] of threadEnds.counts) observe({ thread }, times);
  },
  exchange_fallbacks_total: (_, observe) => {
    for (const kind of FALLBACKS) observe({ kind }, fallbacks.counts[kind]);
  },
  exchange_control_rows_damaged: single(({ damagedRows }) => damagedRows),
  exchange_query_seconds: single(({ queries }) => queries.runSec),
  exchange_queries_waiting: single(({ queries }) => queries.waiting),
  exchange_memory_bytes: ({ memory }, observe) => {
    for (const [kind, bytes] of memory.process) observe({ kind }, bytes);
  },
  exchange_thread_memory_bytes: ({ memory, shardMeters }, observe) => {
    const observeThread = (thread: string, bytes: ThreadMemory): void => {
      for (const kind of MEMORY_KINDS) observe({ thread, kind }, bytes[kind]);
    };
    for (const [thread, bytes] of memory.threads()) observeThread(thread, bytes);
    for (const [shard, { checkpointerMemory }] of shardMeters.entries()) {
      if (checkpointerMemory !== null) observeThread(`checkpoints ${shard}`, checkpointerMemory);
    }
  },
  exchange_memory_limit_bytes: single(({ memoryLimitBytes }) => memoryLimitBytes()),
  exchange_bound_used: ({ bounds }, observe) => {
    for (const [bound, used] of bounds()) observe({ bound }, used);
  },
  exchange_bound_most: ({ bounds }, observe) => {
    for (const [bound, , most] of bounds()) observe({ bound }, most);
  },
  exchange_kept_answers: single(({ keptAnswers }) => keptAnswers().rows),
  exchange_kept_answers_bytes: single(({ keptAnswers }) => keptAnswers().bytes),
  exchange_kept_answers_full: single(({ areAnswersFull }) => Number(areAnswersFull())),
  exchange_shard_ready: ofShard(({ link }, shard) => Number(link.isReady(shard))),
  exchange_open_orders: ofShard(({ views }, shard) => views.orders[shard].count),
  exchange_command_seconds: ({ link }, observe) => {
    for (const [shard, histograms] of link.replyTimes.histograms.entries()) {
      for (const [index, kind] of KINDS.entries()) observe({ shard, kind }, histograms[index]);
    }
  },
  exchange_command_queue_seconds: measured('queueSec'),
  exchange_batch_commands: measured('batchCommands'),
  exchange_batch_run_seconds: measured('runSec'),
  exchange_commit_seconds: measured('commitSec'),
  exchange_batch_publish_seconds: measured('publishSec'),
  exchange_command_ring_bytes: ofShard(({ link }, shard) => link.load(shard).commandBytes),
  exchange_command_ring_capacity_bytes: ofShard(({ link }, shard) => link.load(shard).commandCapacity),
  exchange_event_ring_bytes: ofShard(({ link }, shard) => link.load(shard).eventBytes),
  exchange_signature_checks_total: ({ shardMeters }, observe) => {
    for (const [shard, meters] of shardMeters.entries()) {
      observe({ shard, by: 'shard' }, meters.count('checksAlone'));
      observe({ shard, by: 'batch' }, meters.count('checksTogether'));
      observe({ shard, by: 'verifier' }, meters.count('checksByVerifiers'));
    }
  },
  exchange_signature_batch_size: measured('batchSignatures'),
  exchange_signature_batches_undecided_total: ofShard(({ shardMeters }, shard) =>
    shardMeters[shard].count('undecidedBatches'),
  ),
  exchange_signature_batch_exclusions_total: ofShard(({ shardMeters }, shard) =>
    shardMeters[shard].count('keptOutOfBatches'),
  ),
  exchange_verifier_info: ({ progress, verifierOf }, observe) => {
    for (let shard = 0; shard < progress.shards; shard++) {
      const verifier = verifierOf(shard);
      if (verifier !== undefined) observe({ shard, verifier }, 1);
    }
  },
  exchange_signature_spot_checks_total: ofShard(({ spotCounts }, shard) => spotCounts.checked(shard)),
  exchange_signature_spot_checks_missed_total: ofShard(({ spotCounts }, shard) => spotCounts.missed(shard)),
  exchange_signature_differences_total: ofShard(({ spotCounts }, shard) => spotCounts.differences(shard)),
  exchange_journal_sequence: ofShard(({ progress }, shard) => Math.max(progress.committed(shard), 0)),
  exchange_journal_lag_commands: ofShard(({ link }, shard) => link.load(shard).unanswered),
  exchange_views_lag_records: ofShard(({ progress, views }, shard) =>
    behind(progress, shard, views.appliedSequence(shard)),
  ),
  exchange_projector_lag_records: ofShard(({ progress }, shard) => behind(progress, shard, progress.projected(shard))),
  exchange_projector_lag_seconds: ofShard(({ projectorLag }, shard) => projectorLag.milliseconds(shard) / 1000),
  exchange_history_from_seconds: single(({ progress }) => progress.historyFromMs() / 1000),
  exchange_public_history_lag_records: ofShard(
    ({ progress }, shard) => progress.historyLag(shard, systemClock.nowMs()).records,
  ),
  exchange_public_history_lag_seconds: ofShard(
    ({ progress }, shard) => progress.historyLag(shard, systemClock.nowMs()).ms / 1000,
  ),
  exchange_position_differences_total: single(({ positionDifferences }) => positionDifferences()),
  exchange_disk_free_bytes: single(({ disk }) => disk.freeBytes),
  exchange_disk_reserve_bytes: single(({ disk }) => disk.reserveBytes),
  exchange_disk_low: single(({ disk }) => Number(disk.isLow)),
  exchange_backup_time_seconds: single(({ files }) => (files.backups.backedUpMs ?? 0) / 1000),
  exchange_backup_failed: single(({ files }) => Number(files.backups.failedMs !== null)),
  exchange_backup_restore_time_seconds: single(({ files }) => (files.backups.restoredMs ?? 0) / 1000),
  exchange_backup_restore_failed: single(({ files }) => Number(files.backups.drillFailedMs !== null)),
  exchange_backup_bytes: single(({ files }) => files.backups.bytes),
  exchange_backup_new_bytes: single(({ files }) => files.backups.newBytes),
  exchange_backup_seconds: single(({ files }) => files.backups.tookMs / 1000),
  exchange_file_bytes: ({ files }, observe) => {
    for (const [file, bytes] of files.sizes) observe({ file }, bytes);
  },
  exchange_journal_reserve_bytes: ofShard(({ progress }, shard) => progress.reserveBytes(shard)),
  exchange_control_reserve_bytes: single(({ controlReserveBytes }) => controlReserveBytes()),
  exchange_reserve_wanted_bytes: single(({ wantedReserveBytes }) => wantedReserveBytes),
  exchange_fiat_alarmed_sessions: single(({ fiat }) => fiat.sessions.alarmedCount),
  exchange_fiat_differences: single(({ fiat }) => fiat.statementRows.openCount),
  exchange_fiat_claims_dollars: single(({ fiat }) => fiat.statementRows.claimMicro / MICRO_PER_USDC),
  exchange_settlement_healthy: ({ settlement }, observe) => {
    if (settlement.isReported) observe({}, Number(settlement.unhealthy === null));
  },
  exchange_settlement_node_connected: ({ settlement }, observe) => {
    if (settlement.isReported) observe({}, Number(settlement.isConnected));
  },
  exchange_settlement_node_well: ({ settlement }, observe) => {
    for (const { node, state } of settlement.latest?.nodes ?? []) observe({ node }, Number(state === 'well'));
  },
  exchange_settlement_node_differences_total: ({ settlement }, observe) => {
    for (const { node, differences } of settlement.latest?.nodes ?? []) observe({ node }, differences);
  },
  exchange_settlement_waits_for_log: ofChain(({ isWaitingForLog }) => Number(isWaitingForLog)),
  exchange_settlement_head_age_seconds: ({ settlement }, observe) => {
    const ageMs = settlement.latest?.headAgeMs ?? null;
    if (ageMs !== null) observe({}, ageMs / 1000);
  },
  exchange_settlement_block: ({ settlement }, observe) => {
    const latest = settlement.latest;
    if (latest === null) return;
    observe({ block: 'newest' }, latest.headNumber);
    observe({ block: 'final' }, latest.finalizedNumber);
    if (latest.scannedBlock !== null) observe({ block: 'read' }, latest.scannedBlock);
    if (latest.reconciledBlock !== null) observe({ block: 'compared' }, latest.reconciledBlock);
  },
  exchange_settlement_behind_records: ofChain(({ behind }) => behind),
  exchange_settlement_work: ({ settlement }, observe) => {
    for (const [status, count] of Object.entries(settlement.latest?.unsettled ?? {})) observe({ status }, count);
  },
  exchange_settlement_oldest_trade_seconds: ofChain(({ oldestTradeMs }) => oldestTradeMs / 1000),
  exchange_settlement_oldest_work_seconds: ofChain(({ oldestWorkMs }) => oldestWorkMs / 1000),
  exchange_settlement_move_seconds: ofChain(({ move }) => (move?.ageMs ?? 0) / 1000),
  exchange_settlement_move_left: ofChain(({ move }) => move?.left ?? 0),
  exchange_settlement_failed_trades: ofChain(({ failed }) => failed),
  exchange_settlement_failed_batches: ofChain(({ failedInRow }) => failedInRow),
  exchange_settlement_foreign_nonces_total: ofChain(({ foreign }) => foreign),
  exchange_settlement_at_most_fee: ofChain(({ isAtMostFee }) => Number(isAtMostFee)),
  exchange_settlement_differences: ofChain(({ differences }) => differences),
  exchange_settlement_waiting: ({ settlement }, observe) => {
    const latest = settlement.latest;
    if (latest === null) return;
    observe({ for: 'deposit' }, latest.waiting);
    observe({ for: 'wallet' }, latest.withoutWallet);
    observe({ for: 'payment' }, latest.refusedPayments);
    observe({ for: 'bound' }, latest.heldUpPayments - latest.refusedPayments);
  },
  exchange_settlement_decisions: ({ settlement }, observe) => {
    for (const [state, count] of Object.entries(settlement.latest?.decisions.counts ?? {})) observe({ state }, count);
  },
  exchange_settlement_may_propose: ofChain(({ decisions }) => Number(decisions.mayPropose)),
  exchange_settlement_foreign_proposals: ofChain(({ decisions }) => decisions.foreign.length),
  exchange_settlement_balances_compared_total: ofChain(({ compared }) => compared),
  exchange_settlement_key_balance: ({ settlement }, observe) => {
    for (const { job, wei } of settlement.latest?.balances ?? []) {
      if (wei !== null) observe({ key: job }, Number(wei) / WEI_PER_COIN);
    }
  },
  exchange_settlement_key_low: ({ settlement }, observe) => {
    const low = settlement.lowKeys;
    for (const { job, wei } of settlement.latest?.balances ?? []) {
      if (wei !== null) observe({ key: job }, Number(low.includes(job)));
    }
  },
  exchange_cluster_leading: ofMember((member) => Number(member.isLeading)),
  exchange_cluster_epoch: ofMember((member) => member.epoch),
  exchange_cluster_stale_seconds: ofMember(({ staleMs }) => (staleMs === null ? null : staleMs / 1000)),
  exchange_cluster_log_bytes: ofMember(({ status }) => status?.logBytes ?? null),
  exchange_cluster_waiting_rows: ofMember(({ status }) => status?.waitingRows ?? null),
  exchange_cluster_oldest_wait_seconds: ofMember(({ status }) => (status === null ? null : status.oldestWaitMs / 1000)),
  exchange_cluster_append_seconds: ofMember(({ status }) => (status === null ? null : status.appendMs / 1000)),
  exchange_cluster_behind_rows: ({ member }, observe) => {
    const { members = [], end = 0, leader = null } = member?.status ?? {};
    // A leader reports only positions that have been durable for long.
    for (const { holder, position } of members) {
      if (holder !== leader?.holder) observe({ member: holder }, Math.max(end - position, 0));
    }
  },
  exchange_cluster_standbys: ofMember(({ status }) => status && answeringStandbys(status)),
  exchange_cluster_database_standbys: ofMember(({ status }) => status && syncedStandbys(status)),
  exchange_cluster_member_info: ({ member }, observe) => {
    for (const { holder, version } of answeringMembers(member?.status ?? null)) observe({ member: holder, version }, 1);
  },
  exchange_ready: single(({ isReady }) => Number(isReady())),
  exchange_starting_seconds: single(({ startingSeconds }) => startingSeconds()),
  exchange_paused: single(({ isPaused }) => Number(isPaused())),
  exchange_stage: single(({ views }) => platformStage(views.markets)),
  exchange_markets_in_stage: ({ views }, observe) => {
    for (const [stage, count] of views.markets.inStage.entries()) observe({ stage: STAGE_NAMES[stage] }, count);
  },
  exchange_certificate_end_seconds: ({ certificateEndMs }, observe) => {
    const endMs = certificateEndMs();
    if (endMs !== null) observe({}, endMs / 1000);
  },
  exchange_audit_log_written: single(({ isAuditWritten }) => Number(isAuditWritten())),
  exchange_alert_test: single(({ isAlertTested }) => Number(isAlertTested())),
  exchange_approvals_pending: single(({ pendingApprovals }) => pendingApprovals()),
  exchange_clock_trusted: single(({ clock }) => Number(clock.isAccepting)),
  exchange_clock_set_back: single(({ clock }) => Number(clock.isSetBack)),
  exchange_clock_seconds: single(({ clock }) => clock.nowMs() / 1000),
  exchange_clock_shifts_total: single(({ clock }) => clock.shifts),
  exchange_clock_refused_accounts: single(({ clock }) => clock.refusedAccounts),
  exchange_clock_clients_ahead_seconds: ({ clock }, observe) => {
    const { middleSec } = clock.offsets;
    if (middleSec !== null) observe({}, middleSec);
  },
  exchange_clock_clients: single(({ clock }) => clock.offsets.accounts),
  exchange_heartbeat_switches_armed: single(({ deadMansSwitch }) => deadMansSwitch.armed),
  exchange_heartbeat_switches_triggered_total: single(({ deadMansSwitch }) => deadMansSwitch.triggered),
  exchange_heartbeat_cancelled_orders_total: single(({ deadMansSwitch }) => deadMansSwitch.cancelledOrders),
};

/** The number of committed records of the shard after this one. */
export function behind(progress: Progress, shard: number, sequence: number): number {
  const committed = progress.committed(shard);
  return committed === NOT_KNOWN ? 0 : Math.max(committed - Math.max(sequence, 0), 0);
}

function labelsOf(route: RouteSpec | null): { readonly method: string; readonly route: string } {
  return { method: route?.method ?? 'none', route: route?.path ?? 'none' };
}

function turnsOf({ turns }: RequestMeters): HistogramValue {
  const bounds = Float64Array.from(TURN_BOUNDS_MS, (boundMs) => boundMs / 1000);
  return { bounds, counts: turns.counts, sum: turns.totalMs / 1000 };
}
