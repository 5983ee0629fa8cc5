/** Problems of /ops by how long they have lasted: what the page makes of them before their alert rings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALERTS } from '../../../../../gateway/web/browser/ops/alerts.ts';
import { lasting, type Seen } from '../../../../../gateway/web/browser/ops/lasting.ts';
import { noted, type Problem, ringing } from '../../../../../gateway/web/browser/ops/problem.ts';
import { alertRules } from '../../../../support/alertRules.ts';

const SECOND_MS = 1000;
const START_MS = 100_000;
const away = (shard: number): Problem => ringing('ShardAway', 'Shards', `Shard ${shard} is away.`, shard);
const low = ringing('DiskLow', 'Disk', 'The disk is nearly full.');
const paused = ringing('PausedLong', 'Trading', 'Placing is paused.');
const drill = noted('Trading', 'A drill refuses orders.', 'trading-has-stopped');

/** The levels of the problems that each report has, one a second. */
function levelsOf(reports: readonly (readonly Problem[])[], first: Seen | null): string[][] {
  let seen = first;
  return reports.map((problems, second) => {
    const lasted = lasting(seen, problems, START_MS + second * SECOND_MS);
    seen = lasted.seen;
    return lasted.problems.map(({ level }) => level);
  });
}

test('the page knows for how long the condition of each alert has to hold', () => {
  const known = Object.entries(ALERTS).map(([name, { lastsSec }]) => `${name} ${lastsSec}`);
  const rules = alertRules().filter(({ severity }) => severity !== 'none');
  assert.deepEqual(
    known,
    rules.map(({ name, forSec }) => `${name} ${forSec}`),
  );
  assert.deepEqual([ALERTS.ShardAway.lastsSec, ALERTS.DiskLow.lastsSec, ALERTS.PausedLong.lastsSec], [30, 0, 3600]);
});

test('a problem is red when it has lasted for as long as its alert waits, one without a wait at once', () => {
  const reports = Array.from({ length: 32 }, () => [away(0), low, paused, drill]);
  const levels = levelsOf(reports, new Map());
  assert.deepEqual(levels[0], ['bad', 'soon', 'soon', 'note']);
  assert.deepEqual(levels[29], ['bad', 'soon', 'soon', 'note']);
  assert.deepEqual(levels[30], ['bad', 'bad', 'soon', 'note']);
  const { problems } = lasting(new Map([[away(0).key, START_MS]]), [away(0)], START_MS + 10 * SECOND_MS);
  assert.equal(problems[0].leftMs, 20 * SECOND_MS);
});

test('LASTING-1: a problem of the first report of the tab counts as old', () => {
  assert.deepEqual(levelsOf([[away(0), paused], [away(0)]], null), [['bad', 'warn'], ['bad']]);
});

test('LASTING-2: a problem that was away begins anew, and one of another shard has its own time', () => {
  const both = Array.from({ length: 31 }, (_, second) => (second < 20 ? [away(0)] : [away(0), away(1)]));
  assert.deepEqual(levelsOf(both, new Map())[30], ['bad', 'soon']);
  const again = Array.from({ length: 31 }, (_, second) => (second === 20 ? [] : [away(0)]));
  assert.deepEqual(levelsOf(again, new Map())[30], ['soon']);
});
