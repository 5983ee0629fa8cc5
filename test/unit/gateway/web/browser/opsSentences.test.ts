/** The sentences of /ops about the parts of the exchange and about its actions, with the numbers that they concern. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALERTS } from '../../../../../gateway/web/browser/ops/alerts.ts';
import { entryOf, newestRecord } from '../../../../../gateway/web/browser/ops/audited.ts';
import * as consequences from '../../../../../gateway/web/browser/ops/consequences.ts';
import { age } from '../../../../../gateway/web/browser/ops/numbers.ts';
import { boundOf } from '../../../../../gateway/web/browser/ops/problem.ts';
import { problemsOf } from '../../../../../gateway/web/browser/ops/problems.ts';
import { statesOf } from '../../../../../gateway/web/browser/ops/states.ts';
import { UNSEEN_ALERTS } from '../../../../../gateway/web/browser/ops/unseenAlerts.ts';
import type {
  AuditPage,
  AuditQuery,
  AuditRecord,
  BackupReport,
  Operations,
  ProfileWithBalance,
} from '../../../../../shared/client/types.ts';
import { REPORT, SHARD } from '../../../../support/operationsReport.ts';

const NOW_MS = Date.parse('2026-11-30T03:00:00Z');
const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(NOW_MS - hours * HOUR_MS).toISOString();
const BACKUPS: BackupReport = {
  folder: '/backups',
  state: 'none',
  started_at: null,
  ended_at: null,
  read_bytes: 0,
  directory_bytes: 0,
  lines: [],
  backed_up_at: ago(1),
  failed_at: null,
  restored_at: ago(48),
  drill_failed_at: null,
};

function report(more: Partial<Operations> = {}): Operations {
  return { ...REPORT, time: NOW_MS, ...more };
}

function backupProblems(more: Partial<BackupReport>): string[] {
  const samples = [{ atMs: NOW_MS, report: report() }];
  return problemsOf(samples, null, { ...BACKUPS, ...more }).map(({ level, text }) => `${level} ${text}`);
}

/** The sentence of one part, with its level. */
function stateOf(part: string, more: Partial<Operations>, backups: BackupReport | null = BACKUPS): string {
  const last = report(more);
  const problems = problemsOf([{ atMs: NOW_MS, report: last }], null, backups);
  const { level, text } = statesOf(last, backups, problems).find(({ name }) => name === part)!;
  return `${level ?? 'well'}: ${text}`;
}

test('every alert is looked for in the report, or named with the reason why it cannot be seen', () => {
  const code = ['problems', 'problemsBeyond'].map((name) => {
    return readFileSync(new URL(`../../../../../gateway/web/browser/ops/${name}.ts`, import.meta.url), 'utf8');
  });
  const unseen = Object.keys(ALERTS).filter((name) => !code.some((text) => text.includes(`'${name}'`)));
  assert.deepEqual(unseen.sort(), Object.keys(UNSEEN_ALERTS).sort());
});

test('a reserve that is half used, damaged rows and a clock that was set back need a hand', () => {
  const found = problemsOf([{ atMs: NOW_MS, report: report() }], null, null);
  const worse = report({
    control_rows_damaged: 2,
    control_reserve_bytes: 49,
    shards: [
      { ...SHARD, reserve_bytes: 50 },
      { ...SHARD, shard: 1, reserve_bytes: 49 },
    ],
    clock: { ...REPORT.clock, set_back: true },
  });
  const more = problemsOf([{ atMs: NOW_MS, report: worse }], null, null).slice(0, 4);
  assert.deepEqual(
    found.filter(({ level }) => level === 'bad'),
    [],
  );
  assert.deepEqual(
    more.map(({ level, text }) => `${level} ${text}`),
    [
      'bad Rows of control.db with a wrong checksum: 2.',
      'bad control.db has less than half of the space that it keeps for a full disk.',
      'bad The journal of shard 1 has less than half of the space that it keeps for a full disk.',
      'bad The clock was set back: signed requests are refused until it has caught up.',
    ],
  );
});

test('an exchange that was started three times within the kept reports is one that starts again and again', () => {
  const started = (times: number[]) => times.map((at) => ({ atMs: NOW_MS, report: report({ started: at }) }));
  const found = (times: number[]) => problemsOf(started(times), null, null).filter(({ text }) => /^Starts/.test(text));
  assert.deepEqual(found([1, 1, 2, 3]), []);
  assert.deepEqual(
    found([1, 2, 3, 3, 4]).map(({ level, text }) => `${level} ${text}`),
    ['bad Starts of the exchange in 15 minutes: 3.'],
  );
});

test('a problem is as urgent as the alert that rings for it, and has its runbook', () => {
  const away = report({ shards: [{ ...SHARD, ready: false }], paused: true, drills: ['ENGINE_BUSY'] as never });
  const found = problemsOf([{ atMs: NOW_MS, report: away }], null, null);
  assert.deepEqual(
    found.map(({ level, runbook }) => [level, runbook]),
    [
      ['bad', ALERTS.ShardAway.runbook],
      ['warn', ALERTS.PausedLong.runbook],
      ['note', 'trading-has-stopped'],
    ],
  );
  assert.throws(() => boundOf('DiskFilling'), /compares with no number/);
});

test('backups are late after three hours, need a hand after a day, and are proved by drills', () => {
  assert.deepEqual(backupProblems({}), []);
  assert.deepEqual(backupProblems({ backed_up_at: ago(2.9) }), []);
  assert.deepEqual(backupProblems({ backed_up_at: ago(4) }), [
    'warn The last whole backup is 4 hours old: a disaster takes all that came after it.',
  ]);
  assert.match(backupProblems({ backed_up_at: ago(25) })[0]!, /^bad The last whole backup is 1 day old/);
  assert.deepEqual(backupProblems({ failed_at: ago(0), restored_at: null, drill_failed_at: ago(1) }), [
    'bad The last drill has restored a backup that is not sound.',
    'warn The last backup has failed.',
    'warn No drill has restored a backup yet.',
  ]);
  assert.deepEqual(backupProblems({ backed_up_at: null, restored_at: null }), [
    'warn No backup was ever made of this directory.',
  ]);
  assert.match(backupProblems({ restored_at: ago(241) })[0]!, /^warn No drill has restored a backup for 10 days\.$/);
});

test('each part says in a sentence how it stands', () => {
  assert.equal(stateOf('Trading', {}), 'well: Open. Markets: 2 open, 0 post-only, 0 cancel-only.');
  assert.match(
    stateOf('Trading', { stage: 'post_only' }),
    /^warn: Step 2 of 3: orders that do not cross\. Next: open\./,
  );
  assert.match(stateOf('Trading', { paused: true, stage: 'cancel_only' }), /^warn: Paused: .* It ends in cancel-only,/);
  assert.equal(stateOf('Shards', {}), 'well: 1 of 1 shard accepts commands, with 3 open orders.');
  const running = { ...BACKUPS, state: 'running', read_bytes: 30, directory_bytes: 90 } as const;
  assert.equal(
    stateOf('Backups', {}, running),
    'well: The last whole one is 1 hour old. In drills one was restored 2 days ago. One is under way: 33 % is read.',
  );
  assert.equal(stateOf('Backups', {}, null), 'well: Not known yet.');
  assert.equal(stateOf('Members', {}), 'well: One machine: nothing takes over from it.');
  const member = { address: 'http://a', version: '1', reads: [], disk_low: false, problem: null, applied_position: 1 };
  const cluster = {
    ...{ leader: { member: 'a', address: 'http://a', epoch: 3 }, hand_over: { member: 'b', accepted: true } },
    ...{
      role: 'leader',
      stale_seconds: null,
      log: { problem: null, oldest_wait_seconds: 0, bytes: 1 },
      database: null,
    },
    members: [
      { ...member, member: 'a', role: 'leader', behind_rows: null, silent_seconds: 0.1 },
      { ...member, member: 'b', role: 'standby', behind_rows: 1, silent_seconds: 0.4 },
      { ...member, member: 'c', role: 'standby', behind_rows: 20, silent_seconds: 130 },
    ],
  } as unknown as Operations['cluster'];
  assert.equal(
    stateOf('Members', { cluster }),
    'well: a leads; b is 1 row behind, seen just now; c is 20 rows behind, last seen 2 minutes ago. ' +
      'The lead goes to b.',
  );
  assert.equal(stateOf('Chain', {}), 'well: None: the ledger of this exchange is final.');
  assert.match(stateOf('Surroundings', { audit_written: false }), /^bad: The audit log is not written\./);
});

test('the disk says what a day takes and when it is full', () => {
  const disk = (growth: number | null) => {
    return stateOf('Disk', {
      disk: { ...REPORT.disk, free_bytes: 120e9, reserve_bytes: 20e9, growth_bytes_per_day: growth },
    });
  };
  const free = '120 GB free; at 20 GB orders are refused.';
  assert.equal(disk(null), `well: ${free} How fast it fills is known half an hour after the start.`);
  assert.equal(disk(2e9), `well: ${free} 2 GB a day: full in 50 days.`);
  assert.equal(disk(2e11), `warn: ${free} 200 GB a day: full in 12 hours.`);
  assert.equal(disk(1), `well: ${free} 1 B a day: full in more than ten years.`);
  assert.equal(disk(-5), `well: ${free} It does not fill.`);
  assert.deepEqual([age(59), age(60), age(7199), age(86_400)], ['59 seconds', '1 minute', '1 hour', '1 day']);
});

const MARKET = { outcomes: ['Yes', 'No'] };
const level = (num_orders: number, notional: string) => {
  return { price: '0.5', num_orders, token_quantity_atomic: '1', notional_usdc_micro: notional, size: '1' };
};
const WITHIN = {
  book: { bids: [level(2, '1500000')], asks: [level(3, '2000000')] },
  ticker: { open_interest_atomic: '40000000' },
  holders: { accounts: 3 },
} as unknown as NonNullable<consequences.InMarket>;

test('an action says before how many orders, markets and how much money it concerns', () => {
  const many = report({ stages: { open: 7, post_only: 2, cancel_only: 0 }, shards: [{ ...SHARD, open_orders: 1200 }] });
  assert.equal(
    consequences.pausing(many),
    'New orders are refused in all 9 markets. Open orders: 1,200; they stay, and can be cancelled. ' +
      'Claims and reads go on. A restart does not end the pause.',
  );
  assert.equal(
    consequences.resuming(many),
    'The pause ends: 7 of 9 markets trade again, the others stay in their stage.',
  );
  assert.equal(consequences.resuming(report()), 'Orders are accepted again in all 2 markets.');
  assert.equal(
    consequences.deciding(MARKET, 1_000_000, WITHIN),
    'Each token of Yes pays 1.00 USDC, of No pays nothing. Accounts with tokens of it: 3; they get 40.00 ' +
      'USDC in all. Open orders: 5, worth 3.50 USDC; they are cancelled. This cannot be undone. A second operator ' +
      'approves it, if there is one.',
  );
  assert.match(
    consequences.deciding(MARKET, 500_000, null),
    /^Each token of Yes pays 0\.50 USDC, of No pays 0\.50 USDC\./,
  );
  const full = { ...WITHIN, book: { ...WITHIN.book, bids: Array.from({ length: 100 }, () => level(1, '1000000')) } };
  assert.match(
    consequences.pausingMarket(full),
    / Open orders: at least 103, worth 102\.00 USDC; they stay, and can be cancelled\./,
  );
  assert.equal(
    consequences.settling(WITHIN),
    'Every holder who has not claimed is paid, 40.00 USDC at most. Accounts with tokens of it: 3.',
  );
  const user = { usdc: { available: '5000000', reserved: '2500000' } } as ProfileWithBalance;
  assert.equal(
    consequences.restricting('frozen', user),
    'The account may do nothing, and all its open orders are cancelled. Its 2.50 USDC in orders and 5.00 USDC ' +
      'besides stay its own.',
  );
  assert.match(consequences.backingUp(BACKUPS, many), / are copied into \/backups, 40 MB a second at most\./);
});

test('the entry of a change is the first one after those that were there before it', async () => {
  const record = (sequence: number) => ({ sequence }) as AuditRecord;
  const asked: AuditQuery[] = [];
  const client = {
    audit: async (query: AuditQuery = {}) => {
      asked.push(query);
      return {
        records: [14, 12, 9].map(record),
        head: { sequence: 10, hash: '' },
        next_cursor: null,
      } as unknown as AuditPage;
    },
  };
  const change = { operator: 'ada', path: '/admin/platform/' };
  assert.equal(await newestRecord(client), 10);
  assert.equal((await entryOf(client, { ...change, after: 10 }))?.sequence, 12, 'not the older 9');
  assert.equal(await entryOf(client, { ...change, after: 14 }), null);
  assert.equal(await entryOf(client, { ...change, after: null }), null, 'what was there before is not known');
  assert.deepEqual(asked[1], { ...change, event: 'result', limit: 5 });
  const broken = { audit: () => Promise.reject(new Error('away')) };
  assert.deepEqual([await newestRecord(broken), await entryOf(broken, { ...change, after: 1 })], [null, null]);
});
