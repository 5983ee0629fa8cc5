/** Two short months of the bench of growth: every kind of past is in them, and everything is counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../bench/years.bench.ts';

const MONTHS = 2;
/** Rounded up to the least that a day has: in two rounds four makers quote 30 orders each, and a taker trades. */
const LEAST_ORDERS = MONTHS * 30 * 2 * 4 * 30;

test('years: two months of a venue are played, with restarts, a kill, archives and public days', async () => {
  const { rows, goals, charts } = await run({ months: MONTHS, orders: 1 });
  const months = rows.filter(({ month }) => typeof month === 'number');
  assert.equal(months.length, MONTHS);
  const orders = Number(months.at(-1)!['orders so far']);
  assert.ok(orders > LEAST_ORDERS && orders < LEAST_ORDERS * 1.2, `${orders} orders`);
  const last = (name: string): number =>
    Number(rows.find(({ month }) => month === name)?.[`after ${orders} orders`] ?? 0);
  // Five accounts of the venue, one of the first day, and one of each day.
  assert.equal(last('count accounts, after it'), 5 + 1 + MONTHS * 30);
  assert.ok(last('count orders in memory of shard 0, after it') < LEAST_ORDERS / 10, 'the shard forgets');
  assert.ok(last('files archive') > 30, 'days are archived');
  assert.ok(last('files history (public)') > 100, 'days are published');
  assert.ok(last('disk backups, MB') > 0, 'backups are made');
  assert.deepEqual([goals.length, goals[0]!.isBinding, charts?.length], [1, true, 2]);
});
