/** The text of GET /metrics (RULES.md 10.9): each number of the exchange under its name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { threadEnds } from '../../../../gateway/base/threadEnds.ts';
import { RequestMeters } from '../../../../gateway/http/requestMeters.ts';
import type { RouteSpec } from '../../../../gateway/http/spec.ts';
import { TURN_BOUNDS_MS } from '../../../../gateway/http/turnTimes.ts';
import { Metrics } from '../../../../gateway/operator/metrics.ts';
import { ProcessMeters } from '../../../../gateway/operator/processMeters.ts';
import { ReplyTimes } from '../../../../gateway/shardlink/replyTimes.ts';
import { NO_BACKUP } from '../../../../shared/base/backupStatus.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { DURATION_BOUNDS_SEC, Histogram } from '../../../../shared/base/histogram.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { createShardMeters, ShardMeters } from '../../../../shared/wire/shardMeters.ts';
import type { SettlementHealth } from '../../../../shared/wire/threads.ts';

const ROUTE = { method: 'GET', path: '/v1/time' } as RouteSpec;

const FRONT = { connections: 86, calls: 87, read: 79, answered: 99, unreadBytes: 88 };

const VIEWS = {
  orders: [{ count: 41 }, { count: 42 }],
  markets: { shardStages: [0, 2] as const, inStage: [143, 144, 145] },
  appliedSequence: (shard: number) => (shard === 0 ? 96 : 0),
};

const BACKUPS = { ...NO_BACKUP, backedUpMs: 5000, failedMs: 6000, bytes: 70, newBytes: 7, tookMs: 1500 };

function metersOfProxies(): RequestMeters {
  const meters = new RequestMeters(0, createLogger('silent'));
  meters.counts.ofUnnamedProxies = 140;
  return meters;
}

/** Sources whose numbers all differ. */
function sources() {
  const progress = new Progress(Progress.create(2));
  progress.setCommitted(0, 100);
  progress.setProjected(0, 70);
  progress.setReserveBytes(1, 4096);
  progress.setHistoryFromMs(1_790_000_000_500);
  const requests = metersOfProxies();
  const { counts, turns } = requests;
  for (const status of [200, 200, 404, 0]) counts.count(ROUTE, status);
  counts.count(null, 404, ERRORS.PATH_NOT_FOUND);
  requests.times.end(ROUTE, { arrivedUs: 1, completeUs: 0, identifiedUs: 21, handledUs: 51, answeredUs: 351 });
  turns.counts.set([1, 2, 3]);
  turns.counts[TURN_BOUNDS_MS.length] = 4;
  turns.totalMs = 2500;
  turns.forEachWorst = (report) => report(ROUTE, 12);
  const load = (shard: number) => ({
    commandBytes: 10 + shard,
    commandCapacity: 20 + shard,
    eventBytes: 30 + shard,
    unanswered: 40 + shard,
  });
  const memory = createShardMeters(2);
  const shardMeters = [0, 1].map((shard) => new ShardMeters(memory, shard));
  shardMeters[1].histograms.commitSec.observe(0.003);
  shardMeters[1].histograms.batchCommands.observe(5);
  shardMeters[1].add('checksAlone', 31);
  shardMeters[1].add('checksByVerifiers', 32);
  shardMeters[1].add('checksTogether', 33);
  shardMeters[1].add('undecidedBatches', 34);
  shardMeters[1].add('keptOutOfBatches', 35);
  shardMeters[1].checkpointerMemory = { heap: 106, used: 107, external: 108, v8: 109 };
  const replyTimes = new ReplyTimes(2);
  replyTimes.replied(1, COMMAND.CANCEL.TYPE, 0);
  return {
    link: { replyTimes, isReady: (shard: number) => shard === 1, load },
    progress,
    projectorLag: { milliseconds: (shard: number) => 1500 + shard },
    verifierOf: (shard: number) => (shard === 0 ? 'kernel' : undefined),
    deadMansSwitch: { armed: 51, triggered: 52, cancelledOrders: 53 },
    limiter: { decisions: { allowed: 61, quota_denied: 62, dependency_unavailable: 63 } },
    badSignatures: { refused: 64 },
    requests,
    shardMeters,
    views: VIEWS,
    ...{ process: new ProcessMeters(), loopDelay: { delaySec: DELAY_SEC, use: { activeSec: 75, idleSec: 76 } } },
    memory: MEMORY,
    queries: { runSec: new Histogram(DURATION_BOUNDS_SEC), waiting: 77 },
    disk: { isLow: true, freeBytes: 78, reserveBytes: 79 },
    files: { sizes: new Map([['read.db', 80]]), backups: BACKUPS, refresh: async () => {} },
    streamConnections: () => 82,
    pendingApprovals: () => 83,
    longAnswers: { underway: 71, pieces: 72 },
    connections: () => 73,
    refusedConnections: () => 74,
    ownConnections: () => 84,
    fronts: { failures: 85, counts: () => [FRONT] },
    refresh: async () => {},
    ...WATCHED,
    isPaused: () => false,
    ...{ controlReserveBytes: () => 81, wantedReserveBytes: 16_000_000, damagedRows: 3 },
    fiat: { sessions: { alarmedCount: 91 }, statementRows: { openCount: 92, claimMicro: 93_500_000 } },
    ...{ keptAnswers: () => ({ rows: 91, bytes: 92 }), areAnswersFull: () => true },
    ...{ member: null, positionDifferences: () => 93 },
    ...{ droppedLogLines: () => 94, isAlertTested: () => true },
    settlement: { ...STANDING, latest: SETTLEMENT },
    spotCounts: {
      checked: (shard: number) => 94 + shard,
      missed: () => 96,
      differences: (shard: number) => 97 + shard,
    },
  };
}

const STANDING = { isReported: true, refusal: null, unhealthy: 'old', isConnected: true, lowKeys: ['DEPLOYER'] };
const SETTLEMENT: SettlementHealth = {
  unhealthy: null,
  problem: null,
  headAgeMs: 2500,
  headNumber: 201,
  finalizedNumber: 202,
  behind: 203,
  unsettled: { pending: 204, submitted: 205, mined: 206 },
  move: { exchange: '0x04', state: 'moving', ageMs: 2090, left: 218 },
  oldestTradeMs: 2070,
  oldestWorkMs: 2080,
  failed: 209,
  failedInRow: 210,
  foreign: 211,
  isAtMostFee: true,
  lastRefusal: null,
  differences: 212,
  waiting: 213,
  isWaitingForLog: true,
  withoutWallet: 214,
  refusedPayments: 218,
  floorsToCarry: 0,
  heldUpPayments: 221,
  waitingSets: 0,
  scannedBlock: 215,
  reconciledBlock: 216,
  compared: 217,
  balances: [
    { job: 'OPERATOR', address: '0x01', wei: 1_500_000_000_000_000_000n },
    { job: 'DEPLOYER', address: '0x02', wei: 500_000_000_000_000_000n },
    { job: 'RELAYER', address: '0x03', wei: null },
  ],
  decisions: {
    counts: { wanted: 0, proposed: 0, decided: 0, otherwise: 0 },
    ...{ mayPropose: true, delays: null, foreign: [] },
  },
  nodes: [
    { node: 1, state: 'well', reason: null, differences: 0 },
    { node: 2, state: 'behind', reason: 'old', differences: 219 },
  ],
};

/** The samples by name and labels. */
async function scrape(metrics: Metrics): Promise<Record<string, number>> {
  let text = '';
  for (const row of metrics.rows()) {
    if (typeof row === 'string') text += row;
    else await row;
  }
  const lines = text.split('\n').filter((line) => /^[a-z]/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

const DELAY_SEC = new Histogram(DURATION_BOUNDS_SEC);
DELAY_SEC.observe(20);

const CLOCK = {
  nowMs: () => 1_790_000_000_250,
  ...{ isAccepting: false, isSetBack: true, refusedAccounts: 137, shifts: 138 },
  offsets: { accounts: 139, middleSec: -1.5 },
};

const WATCHED = {
  isReady: () => true,
  startingSeconds: () => 0,
  clock: CLOCK,
  sharedCounters: { isAnswering: false },
  placed: { taken: 131, turnedAway: new Map([['ENGINE_BUSY', 132]]) },
  certificateEndMs: () => 133_500,
  bounds: () => [['accounts', 134, 135]],
  memoryLimitBytes: () => 136,
  isAuditWritten: () => true,
};

const MEMORY = {
  process: new Map([['private', 101]]),
  threads: () => [['shard 0', { heap: 102, used: 103, external: 104, v8: 105 }]],
  refresh: async () => {},
};

const EXPECTED: Record<string, number> = {
  'exchange_thread_connections{thread="0"}': 84,
  'exchange_thread_connections{thread="1"}': 86,
  'exchange_front_calls_total{thread="1"}': 87,
  'exchange_front_prepared_total{thread="1"}': 79,
  'exchange_front_answers_total{thread="1"}': 99,
  'exchange_front_unread_bytes{thread="1"}': 88,
  exchange_front_failures_total: 85,
  exchange_settlement_healthy: 0,
  exchange_settlement_node_connected: 1,
  'exchange_settlement_node_well{node="1"}': 1,
  'exchange_settlement_node_well{node="2"}': 0,
  'exchange_settlement_node_differences_total{node="1"}': 0,
  'exchange_settlement_node_differences_total{node="2"}': 219,
  exchange_settlement_waits_for_log: 1,
  exchange_settlement_head_age_seconds: 2.5,
  'exchange_settlement_block{block="newest"}': 201,
  'exchange_settlement_block{block="final"}': 202,
  exchange_settlement_behind_records: 203,
  'exchange_settlement_work{status="pending"}': 204,
  'exchange_settlement_work{status="submitted"}': 205,
  'exchange_settlement_work{status="mined"}': 206,
  exchange_settlement_oldest_trade_seconds: 2.07,
  exchange_settlement_oldest_work_seconds: 2.08,
  exchange_settlement_move_seconds: 2.09,
  exchange_settlement_move_left: 218,
  exchange_settlement_failed_trades: 209,
  exchange_settlement_failed_batches: 210,
  exchange_settlement_foreign_nonces_total: 211,
  exchange_settlement_at_most_fee: 1,
  exchange_settlement_differences: 212,
  'exchange_settlement_waiting{for="deposit"}': 213,
  'exchange_settlement_waiting{for="wallet"}': 214,
  'exchange_settlement_waiting{for="payment"}': 218,
  'exchange_settlement_waiting{for="bound"}': 3,
  'exchange_settlement_block{block="read"}': 215,
  'exchange_settlement_block{block="compared"}': 216,
  exchange_settlement_balances_compared_total: 217,
  'exchange_settlement_key_balance{key="OPERATOR"}': 1.5,
  'exchange_settlement_key_low{key="OPERATOR"}': 0,
  'exchange_settlement_key_balance{key="DEPLOYER"}': 0.5,
  'exchange_settlement_key_low{key="DEPLOYER"}': 1,
  'exchange_requests_total{method="GET",route="/v1/time",status="200"}': 2,
  'exchange_requests_total{method="GET",route="/v1/time",status="404"}': 1,
  'exchange_requests_total{method="GET",route="/v1/time",status="aborted"}': 1,
  'exchange_requests_total{method="none",route="none",status="404"}': 1,
  'exchange_rate_limit_decisions_total{decision="allowed"}': 61,
  'exchange_rate_limit_decisions_total{decision="quota_denied"}': 62,
  'exchange_rate_limit_decisions_total{decision="dependency_unavailable"}': 63,
  exchange_bad_signature_refusals_total: 64,
  exchange_connections: 73,
  exchange_connections_refused_total: 74,
  'exchange_request_turn_worst_seconds{method="GET",route="/v1/time"}': 0.012,
  exchange_long_answers: 71,
  exchange_long_answer_pieces_total: 72,
  'exchange_shard_ready{shard="0"}': 0,
  'exchange_shard_ready{shard="1"}': 1,
  'exchange_command_ring_bytes{shard="1"}': 11,
  'exchange_command_ring_capacity_bytes{shard="1"}': 21,
  'exchange_event_ring_bytes{shard="1"}': 31,
  'exchange_journal_lag_commands{shard="1"}': 41,
  'exchange_journal_sequence{shard="0"}': 100,
  'exchange_journal_sequence{shard="1"}': 0,
  'exchange_projector_lag_records{shard="0"}': 30,
  'exchange_projector_lag_records{shard="1"}': 0,
  'exchange_projector_lag_seconds{shard="1"}': 1.501,
  exchange_history_from_seconds: 1_790_000_000.5,
  'exchange_journal_reserve_bytes{shard="0"}': 0,
  'exchange_journal_reserve_bytes{shard="1"}': 4096,
  'exchange_verifier_info{shard="0",verifier="kernel"}': 1,
  'exchange_signature_spot_checks_total{shard="1"}': 95,
  'exchange_signature_spot_checks_missed_total{shard="0"}': 96,
  'exchange_signature_differences_total{shard="1"}': 98,
  exchange_clock_trusted: 0,
  exchange_clock_set_back: 1,
  exchange_clock_seconds: 1_790_000_000.25,
  exchange_clock_shifts_total: 138,
  exchange_clock_refused_accounts: 137,
  exchange_clock_clients_ahead_seconds: -1.5,
  exchange_clock_clients: 139,
  exchange_limits_counted: 0,
  exchange_unnamed_proxy_requests_total: 140,
  exchange_placed_requests_total: 131,
  'exchange_turned_away_requests_total{code="ENGINE_BUSY"}': 132,
  exchange_certificate_end_seconds: 133.5,
  'exchange_bound_used{bound="accounts"}': 134,
  'exchange_bound_most{bound="accounts"}': 135,
  exchange_memory_limit_bytes: 136,
  exchange_audit_log_written: 1,
  exchange_heartbeat_switches_armed: 51,
  exchange_heartbeat_switches_triggered_total: 52,
  exchange_heartbeat_cancelled_orders_total: 53,
  exchange_ready: 1,
  exchange_paused: 0,
  exchange_stage: 2,
  'exchange_markets_in_stage{stage="open"}': 143,
  'exchange_markets_in_stage{stage="post_only"}': 144,
  'exchange_markets_in_stage{stage="cancel_only"}': 145,
  exchange_disk_low: 1,
  exchange_backup_time_seconds: 5,
  exchange_backup_failed: 1,
  exchange_backup_restore_time_seconds: 0,
  exchange_backup_restore_failed: 0,
  exchange_backup_bytes: 70,
  exchange_backup_new_bytes: 7,
  exchange_backup_seconds: 1.5,
  exchange_control_reserve_bytes: 81,
  exchange_reserve_wanted_bytes: 16_000_000,
  exchange_control_rows_damaged: 3,
  exchange_kept_answers: 91,
  'exchange_refusals_total{code="NOT_FOUND"}': 1,
  'exchange_request_seconds_count{method="GET",route="/v1/time"}': 1,
  'exchange_request_stage_seconds_sum{method="GET",route="/v1/time",stage="identify"}': 20e-6,
  'exchange_request_stage_seconds_sum{method="GET",route="/v1/time",stage="validate"}': 30e-6,
  'exchange_request_stage_seconds_sum{method="GET",route="/v1/time",stage="handle"}': 300e-6,
  'exchange_request_stage_seconds_count{method="GET",route="/v1/time",stage="answer"}': 1,
  'exchange_open_orders{shard="0"}': 41,
  'exchange_views_lag_records{shard="0"}': 4,
  'exchange_commit_seconds_sum{shard="1"}': 0.003,
  'exchange_commit_seconds_bucket{shard="1",le="0.0025"}': 0,
  'exchange_commit_seconds_bucket{shard="1",le="0.005"}': 1,
  'exchange_commit_seconds_count{shard="0"}': 0,
  'exchange_batch_commands_bucket{shard="1",le="8"}': 1,
  'exchange_command_seconds_count{shard="1",kind="cancel"}': 1,
  'exchange_command_seconds_count{shard="1",kind="place"}': 0,
  'exchange_signature_checks_total{shard="1",by="shard"}': 31,
  'exchange_signature_checks_total{shard="1",by="verifier"}': 32,
  'exchange_signature_checks_total{shard="1",by="batch"}': 33,
  'exchange_signature_batches_undecided_total{shard="1"}': 34,
  'exchange_signature_batch_exclusions_total{shard="1"}': 35,
  'exchange_event_loop_delay_seconds_bucket{le="10"}': 0,
  'exchange_event_loop_delay_seconds_bucket{le="+Inf"}': 1,
  exchange_event_loop_active_seconds_total: 75,
  exchange_event_loop_idle_seconds_total: 76,
  exchange_queries_waiting: 77,
  'exchange_memory_bytes{kind="private"}': 101,
  'exchange_thread_memory_bytes{thread="shard 0",kind="heap"}': 102,
  'exchange_thread_memory_bytes{thread="shard 0",kind="used"}': 103,
  'exchange_thread_memory_bytes{thread="shard 0",kind="external"}': 104,
  'exchange_thread_memory_bytes{thread="shard 0",kind="v8"}': 105,
  'exchange_thread_memory_bytes{thread="checkpoints 1",kind="heap"}': 106,
  'exchange_thread_memory_bytes{thread="checkpoints 1",kind="v8"}': 109,
  exchange_disk_free_bytes: 78,
  exchange_disk_reserve_bytes: 79,
  'exchange_file_bytes{file="read.db"}': 80,
  exchange_stream_connections: 82,
  exchange_approvals_pending: 83,
  exchange_kept_answers_bytes: 92,
  exchange_kept_answers_full: 1,
  exchange_position_differences_total: 93,
  exchange_log_lines_dropped_total: 94,
  exchange_alert_test: 1,
  'exchange_fallbacks_total{kind="snapshot"}': 0,
  'exchange_thread_ends_total{thread="worn out"}': 2,
};

for (let n = 0; n < 2; n++) threadEnds.note(createLogger('silent'), 'worn out', new Error('for a test'));

test('each number is under its name, with its labels', async () => {
  const metrics = new Metrics(sources() as never);
  const samples = await scrape(metrics);
  for (const [name, value] of Object.entries(EXPECTED)) assert.equal(samples[name], value, name);
  const receive = 'exchange_request_stage_seconds_count{method="GET",route="/v1/time",stage="receive"}';
  assert.equal(samples[receive], undefined, 'a request without a body');
  assert.equal(samples['exchange_shard_ready{shard="2"}'], undefined);
  assert.equal(samples['exchange_thread_memory_bytes{thread="checkpoints 0",kind="heap"}'], undefined, 'no thread');
  assert.equal(samples['exchange_verifier_info{shard="1",verifier="undefined"}'], undefined);
  assert.match(metrics.contentType, /^text\/plain/);
});

test('the buckets of turns add up, each with those below it', async () => {
  const samples = await scrape(new Metrics(sources() as never));
  const bucket = (le: string): number => samples[`exchange_request_turn_seconds_bucket{le="${le}"}`];
  assert.deepEqual(['0.00005', '0.0001', '0.00025', '0.0005', '1', '+Inf'].map(bucket), [1, 3, 6, 6, 6, 10]);
  assert.deepEqual(
    [samples['exchange_request_turn_seconds_sum'], samples['exchange_request_turn_seconds_count']],
    [2.5, 10],
  );
});

test('a scrape shows present values, and each once', async () => {
  const from = sources();
  const metrics = new Metrics({ ...from, limiter: null, badSignatures: null } as never);
  const first = await scrape(metrics);
  assert.equal(first['exchange_bad_signature_refusals_total'], 0);
  assert.equal(first['exchange_rate_limit_decisions_total{decision="allowed"}'], undefined);
  const second = await scrape(metrics);
  assert.equal(second['exchange_heartbeat_switches_triggered_total'], 52);
  from.deadMansSwitch.armed = 5;
  assert.equal((await scrape(metrics))['exchange_heartbeat_switches_armed'], 5);
});

test('a scrape measures the process as it is then, and its own pause of the event loop', async () => {
  const meters = new ProcessMeters();
  const metrics = new Metrics({ ...sources(), process: meters } as never);
  const samples = await scrape(metrics);
  const of = (name: string): number => samples[name];
  assert.equal(of('process_resident_memory_bytes'), meters.memory.rss);
  assert.equal(of('process_cpu_seconds_total'), (meters.cpu.user + meters.cpu.system) / 1e6);
  assert.ok(of('process_open_fds') > 2 && of('process_open_fds') < of('process_max_fds'));
  assert.ok(of('process_virtual_memory_bytes') >= of('process_resident_memory_bytes'));
  assert.ok(Math.abs(of('process_start_time_seconds') - (Date.now() / 1000 - process.uptime())) < 60);
  assert.ok(of('nodejs_heap_space_size_used_bytes{space="old"}') > 0);
  assert.ok(of('nodejs_eventloop_lag_seconds') > 0);
  const [major, minor, patch] = process.versions.node.split('.');
  const version = `version="${process.version}",major="${major}",minor="${minor}",patch="${patch}"`;
  assert.equal(of(`nodejs_version_info{${version}}`), 1);
});
