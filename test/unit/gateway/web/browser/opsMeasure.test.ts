/** The numbers of the operations page: rates and percentiles from counters, and the problems that follow from them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countsBetween,
  earlier,
  merged,
  quantile,
  rate,
  type Sample,
} from '../../../../../gateway/web/browser/ops/measure.ts';
import { problemsOf } from '../../../../../gateway/web/browser/ops/problems.ts';
import type { Operations } from '../../../../../shared/client/types.ts';
import { BOUNDS, REPORT, SHARD } from '../../../../support/operationsReport.ts';

function sample(time: number, more: Partial<Operations> | null = {}): Sample {
  return { atMs: time, report: more === null ? null : { ...REPORT, time, ...more } };
}

function textsOf(more: Partial<Operations>, error: string | null = null): string[] {
  return problemsOf([sample(1000, more)], error, null).map(({ level, text }) => `${level} ${text}`);
}

test('a quantile lies inside its bucket, and is the last bound if it is above all bounds', () => {
  assert.equal(quantile([0, 10, 0, 0, 0], BOUNDS, 0.5)?.toFixed(6), '0.005500');
  assert.equal(quantile([100, 0, 0, 0, 0], BOUNDS, 1), 0.001);
  assert.equal(quantile([98, 0, 0, 2, 0], BOUNDS, 0.99)?.toFixed(6), '0.550000');
  assert.equal(quantile([0, 0, 0, 0, 7], BOUNDS, 0.5), 1);
  assert.equal(quantile([0, 0, 0, 0, 0], BOUNDS, 0.5), null);
});

test('MEASURE-1: a difference is of one process, over at most the window, and over polls without an answer', () => {
  const samples = [sample(1000), sample(3000), sample(5000, null), sample(7000), sample(9000, { started: 2 })];
  assert.equal(earlier(samples, 3, 10_000)?.time, 1000);
  assert.equal(earlier(samples, 3, 5000)?.time, 3000);
  assert.equal(earlier(samples, 0, 5000), null);
  assert.equal(earlier(samples, 2, 5000), null, 'no report at that time');
  assert.equal(earlier(samples, 4, 60_000), null, 'the exchange was started again');
});

test('a series that is new in the later report begins at 0, and a rate is by the time between', () => {
  const route = { method: 'GET', route: '/v1/time', counts: [4, 1, 0, 0, 0], sum: 1 };
  const [from, to] = [sample(1000).report!, sample(3000, { routes: [route] }).report!];
  const pick = ({ routes }: Operations) => routes[0] ?? null;
  assert.deepEqual(countsBetween(from, to, pick), [4, 1, 0, 0, 0]);
  assert.deepEqual(countsBetween(to, to, pick), [0, 0, 0, 0, 0]);
  assert.equal(countsBetween(to, from, pick), null);
  assert.equal(
    rate(from, to, ({ routes }) => routes.length),
    0.5,
  );
  assert.deepEqual(merged([route, { counts: [1, 1, 1, 1, 1], sum: 2 }]), { counts: [5, 2, 1, 1, 1], sum: 3 });
});

test('an exchange without problems has none, and the worst of several is first', () => {
  assert.deepEqual(textsOf({}), []);
  const away = { ...SHARD, ready: false, command_ring_bytes: 900, projector_lag_seconds: 3 };
  assert.deepEqual(textsOf({ paused: true, status: 'degraded', reason: 'shard 0 is recovering', shards: [away] }), [
    'bad The exchange is degraded: shard 0 is recovering.',
    'bad Shard 0 accepts no commands.',
    'bad History of shard 0 is 3 s behind.',
    'warn Placing is paused.',
    'warn The command ring of shard 0 is 90 % full.',
  ]);
  assert.deepEqual(textsOf({ disk: { ...REPORT.disk, low: true }, approvals_pending: 2 }), [
    'bad The disk is nearly full: orders and deposits are refused.',
    'warn 2 changes wait for a second operator.',
  ]);
  assert.deepEqual(textsOf({ shards: [SHARD, { ...SHARD, shard: 1, signature_differences: 2 }] }), [
    'bad Shard 1 judged a signature wrongly: the slow reference decides since. The log has the order.',
  ]);
  const filling = (growth: number) => textsOf({ disk: { ...REPORT.disk, growth_bytes_per_day: growth } });
  assert.deepEqual(filling(1e9), ['warn The disk will be nearly full in 23 hours.']);
  assert.deepEqual([filling(9.9e8), filling(-1e9)], [[], []], 'not within a day, or never');
  assert.match(textsOf({}, 'The exchange does not answer.')[0]!, /^bad No report: The exchange does not answer\./);
});

test('what wakes a person is in words: Redis, clocks, files, tables, certificates', () => {
  const clock = { ...REPORT.clock, refused_accounts: 2, shifts: 1 };
  const damaged = ['audit_log', 'read_model'].map((kind) => ({ kind, count: 1 }));
  const tables = { bounds: [{ name: 'accounts', used: 8, most: 10 }], certificate_end: 100_000 + 13 * 86_400_000 };
  assert.deepEqual(textsOf({ limits_counted: false, clock, damaged, audit_written: false, ...tables }), [
    'bad Redis does not count: orders and reads are refused.',
    'bad Accounts refused for their time, and none accepted: 2.',
    'bad The audit log cannot be written: administrators change nothing.',
    'bad Records of the audit log are missing.',
    'warn Shifts of this clock since the start: 1.',
    'warn Damaged or lost, and gone on without: read model.',
    'warn 80 % used: accounts.',
    'warn The certificate ends 1970-01-14T00:01 UTC.',
  ]);
  assert.deepEqual(textsOf({ limits_counted: true, certificate_end: 100_000 + 15 * 86_400_000 }), []);
});

test('trading that stops is a problem, whatever refuses the orders', () => {
  const placing = (taken: number, busy: number) => ({ taken, turned_away: [{ code: 'ENGINE_BUSY', count: busy }] });
  const during = (taken: number, busy: number): string[] => {
    const reports = [
      sample(100_000, { placing: placing(100, 50) }),
      sample(130_000, { placing: placing(taken, busy) }),
    ];
    return problemsOf(reports, null, null).map(({ level, text }) => `${level} ${text}`);
  };
  assert.deepEqual(during(103, 54), ['bad More orders are turned away than taken: 4 in 30 s, ENGINE_BUSY.']);
  assert.deepEqual([during(104, 54), during(100, 52)], [[], []], 'fewer than are taken, and two alone');
});

test('a cluster says in words what it lacks, and a standby that follows is no problem', () => {
  const member = {
    address: 'http://a',
    version: '1',
    reads: [],
    disk_low: false,
    problem: null,
    applied_position: 1,
    behind_rows: 0,
    silent_seconds: 0.4,
  };
  const leader = { ...member, member: 'a', role: 'leader', behind_rows: null } as const;
  const standby = { ...member, member: 'b', role: 'standby' } as const;
  const database = (count: number) => {
    const server = { name: 's', state: 'streaming', sync_state: 'quorum', behind_bytes: 0 };
    return { server: 'db:5432', standbys: Array.from({ length: count }, () => server) };
  };
  const log = {
    first_position: 1,
    last_position: 9000,
    bytes: 100,
    problem: null,
    waiting_rows: 0,
    waiting_bytes: 0,
    oldest_wait_seconds: 0,
    append_seconds: 0.001,
  };
  const cluster: NonNullable<Operations['cluster']> = {
    member: 'a',
    role: 'leader',
    epoch: 3,
    stale_seconds: null,
    leader: { member: 'a', address: 'http://a', epoch: 3 },
    hand_over: null,
    log,
    formats: [],
    members: [leader, standby],
    database: database(2),
  };
  assert.deepEqual(textsOf({ cluster }), []);
  assert.deepEqual(textsOf({ status: 'standby', cluster: { ...cluster, role: 'standby' } }), []);
  const stalled = { ...log, oldest_wait_seconds: 4, problem: 'it is a standby' };
  assert.deepEqual(textsOf({ cluster: { ...cluster, leader: null, log: stalled, members: [leader] } }), [
    'bad No member leads: changes are refused.',
    'bad The log does not answer as it should: it is a standby.',
    'bad Rows wait for the log for 4 s.',
    'bad No standby answers that could take over.',
  ]);
  const late = { ...standby, version: '2', behind_rows: 7000 };
  const short = { ...standby, problem: 'the journal of shard 0 ends early' };
  assert.deepEqual(textsOf({ cluster: { ...cluster, members: [leader, short] } }), [
    'bad b does not agree with the log: the journal of shard 0 ends early.',
  ]);
  assert.deepEqual(textsOf({ cluster: { ...cluster, members: [leader, late], database: database(1) } }), [
    'bad The database has one standby alone: without it nothing is accepted.',
    'warn b is 7000 rows behind the log.',
    'warn Members run different versions.',
  ]);
  assert.deepEqual(textsOf({ status: 'standby', cluster: { ...cluster, role: 'standby', stale_seconds: 6 } }), [
    'bad This standby shows what was true 6 s ago.',
  ]);
  assert.deepEqual(textsOf({ cluster: { ...cluster, members: [leader, { ...standby, silent_seconds: 60 }] } }), [
    'bad No standby answers that could take over.',
  ]);
});

test('settlement says in words why it refuses orders, and what will stop it soon', () => {
  const settlement = {
    reason: null,
    problem: null,
    head_age_seconds: 1,
    behind_records: 0,
    work: { pending: 0, submitted: 1, mined: 2 },
    oldest_trade_seconds: 0,
    move: null,
    refused_payments: 0,
    foreign_nonces: 0,
    failed_trades: 0,
    differences: 0,
    at_most_fee: false,
    low_keys: [],
    decisions: {
      wanted: 0,
      proposed: 1,
      decided: 0,
      otherwise: 0,
      may_propose: true,
      delay_seconds: 3600,
      least_delay_seconds: 3600,
      foreign: [],
    },
    nodes: [{ node: 1, state: 'well' as const, reason: null, differences: 0 }],
  };
  assert.deepEqual(textsOf({ settlement }), []);
  const bad = { ...settlement, reason: 'ledger and chain differ', differences: 2, failed_trades: 1, at_most_fee: true };
  assert.deepEqual(textsOf({ settlement: { ...bad, problem: 'no answer', low_keys: ['OPERATOR', 'RELAYER'] } }), [
    'bad Settlement refuses orders: ledger and chain differ.',
    'bad The chain is not used: no answer.',
    'bad Ledger and chain differ in 2 balances.',
    'bad Trades that the contract refuses: 1. They have to be undone.',
    'bad A transaction waits for fees above MOST_FEE_GWEI.',
    'bad Keys with little left for gas: OPERATOR, RELAYER.',
  ]);
  const listed = { proposer: `0x${'2'.repeat(40)}`, payouts: [0, 1_000_000], due_at: '2026-11-29T13:00:00.000Z' };
  const foreign = [false, true].map((isDone) => {
    return { ...listed, market_id: 'm', proposal: isDone ? 8 : 7, is_carried_out: isDone };
  });
  const decisions = { ...settlement.decisions, may_propose: false, foreign };
  assert.deepEqual(textsOf({ settlement: { ...settlement, decisions } }), [
    'bad Not proposed by the exchange, and takes effect unless it is vetoed: ' +
      'proposal 7 pays 0 and 1000000 millionths in market m.',
    'bad The chain has decided otherwise than the exchange: proposal 8 pays 0 and 1000000 millionths in market m.',
    'warn RESOLVER_KEY may not propose: decisions of markets wait for another key.',
  ]);
  const move = { from: `0x${'1'.repeat(40)}`, state: 'moving', seconds: 90, left: 7 } as const;
  assert.deepEqual(textsOf({ settlement: { ...settlement, move } }), [
    'note Funds move to another contract (moving) for 90 s: 7 left.',
  ]);
  const refused = (payments: number) => textsOf({ settlement: { ...settlement, refused_payments: payments } });
  assert.deepEqual(refused(1), ['warn The chain refuses payments of 1 account.']);
  assert.deepEqual(textsOf({ settlement: { ...settlement, behind_records: 100_001 } }), [
    'warn Settlement has 100,001 records of the journals still to read.',
  ]);
  assert.deepEqual(refused(5), ['bad The chain refuses payments of 5 accounts.']);
  assert.deepEqual(textsOf({ settlement: { ...settlement, foreign_nonces: 1 } }), [
    "warn Nonces of the exchange's keys that another program has used since the start: 1.",
  ]);
  assert.match(textsOf({ settlement: { ...settlement, move: { ...move, seconds: 1801 } } })[0]!, /^bad Funds move/);
});

test('slow orders and commits, a late event loop and refused connections are problems of the last half minute', () => {
  const slow = { counts: [0, 0, 0, 9, 0], sum: 5 };
  const before = sample(1000);
  const after = sample(20_000, {
    routes: [{ method: 'POST', route: '/v1/orders', ...slow }],
    connections: { ...REPORT.connections, refused: 3 },
    shards: [{ ...SHARD, commit: slow }],
    event_loop: { delay: slow, active_seconds: 1, idle_seconds: 1 },
  });
  assert.deepEqual(
    problemsOf([before, after], null, null).map(({ text }) => text),
    [
      'The event loop is late by 991 ms (p99).',
      'Orders take 991 ms (p99).',
      'Connections refused in 30 s, for there are too many: 3.',
      'Commits take 991 ms (p99).',
    ],
  );
  const later = { ...after, report: { ...after.report!, time: 60_000 } };
  assert.deepEqual(problemsOf([after, later], null, null), []);
});
