/** Hourly rows become daily ones once they are old, and are the same for every division into batches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { HourRows } from '../../../../engine/projector/hourRows.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../../../shared/tables/buckets.ts';
import { POSITION_HOURS } from '../../../../shared/tables/positions.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(41);
const random = seededRandom(seed);
const START_MS = Date.UTC(2026, 0, 1);
const KEY = { account: 7, market: 3, outcome: 1 };

/** Hours over five hundred days, most of them a few hours after the previous one. */
const hours: number[] = [];
for (let hour = START_MS; hour < START_MS + 500 * DAY_MS; ) {
  hours.push(hour);
  hour += HOUR_MS * (1 + Math.floor(random() * (random() < 0.05 ? 400 : 9)));
}

function write(rowsOfBatch: number): number[] {
  const db = new Database(':memory:');
  db.exec(POSITION_HOURS.schema);
  const rows = new HourRows(db, POSITION_HOURS, ['account', 'market', 'outcome']);
  // Another key between them is left alone.
  rows.add({ ...KEY, market: 4, hour_ms: START_MS, quantity_atomic: 1n }, 0);
  for (const [index, hour_ms] of hours.entries()) {
    rows.add({ ...KEY, hour_ms, quantity_atomic: BigInt(index) }, hours[index - 1] ?? 0);
    if (index % rowsOfBatch === 0) rows.flush();
  }
  rows.flush();
  assert.equal(db.prepare('SELECT count(*) FROM position_hours WHERE market = 4').pluck().get(), 1);
  return db.prepare<[], number>('SELECT hour_ms FROM position_hours WHERE market = 3 ORDER BY 1').pluck().all();
}

test(`HOURROWS-1: a week is kept by the hour, a year by the first hour of each day (seed ${seed})`, () => {
  const thinnedAt = hours.findLastIndex((hour, i) => i > 0 && hours[i - 1]! < bucketOf(hour, 8 * DAY_MS));
  const lastDay = bucketOf(hours[thinnedAt]!, DAY_MS);
  const firstOfDays = new Set([...Map.groupBy(hours, (hour) => bucketOf(hour, DAY_MS)).values()].map(([hour]) => hour));
  const expected = hours.filter(
    (hour) => hour >= lastDay - 8 * DAY_MS || (hour >= lastDay - 366 * DAY_MS && firstOfDays.has(hour)),
  );
  assert.deepEqual(write(1), expected);
});

test(`HOURROWS-1: rows do not depend on the batches they were written in (seed ${seed})`, () => {
  const one = write(1);
  for (const rowsOfBatch of [3, 200, 10_000]) assert.deepEqual(write(rowsOfBatch), one);
});
