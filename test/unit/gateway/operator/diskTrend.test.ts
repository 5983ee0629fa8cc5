import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiskTrend } from '../../../../gateway/operator/diskTrend.ts';

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1440;

/** Notes a value each quarter of a minute. */
function trendOf(minutes: number, freeAt: (minute: number) => number): DiskTrend {
  const trend = new DiskTrend();
  for (let quarter = 0; quarter <= minutes * 4; quarter++) {
    trend.note(freeAt(quarter / 4), quarter * (MINUTE_MS / 4));
  }
  return trend;
}

test('growth is known after half an hour, is that of a day, and less than 0 where the free space grows', () => {
  assert.equal(trendOf(29, (minute) => 1e9 - 1000 * minute).growthPerDay(), null);
  assert.equal(trendOf(30, (minute) => 1e9 - 1000 * minute).growthPerDay(), 1000 * MINUTES_A_DAY);
  assert.equal(trendOf(300, (minute) => 1e9 + 1000 * minute).growthPerDay(), -1000 * MINUTES_A_DAY);
  assert.equal(new DiskTrend().growthPerDay(), null);
});

test('the last six hours count alone, and a file that comes and goes does not bend the line much', () => {
  const calmed = trendOf(24 * 60, (minute) => 1e12 - 1e6 * Math.min(minute, 900));
  assert.equal(calmed.growthPerDay(), 0);
  const brief = trendOf(360, (minute) => 1e12 - 1000 * minute - (minute > 150 && minute < 160 ? 1e6 : 0));
  const growth = brief.growthPerDay()!;
  assert.ok(Math.abs(growth / MINUTES_A_DAY - 1000) < 200, `${growth}`);
});
