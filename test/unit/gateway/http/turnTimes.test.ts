/** The times for which requests blocked the gateway thread, as `/metrics` shows them. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RouteSpec } from '../../../../gateway/http/spec.ts';
import { TURN_BOUNDS_MS, TurnTimes } from '../../../../gateway/http/turnTimes.ts';
import { microsecondsOf } from '../../../../shared/base/stopwatch.ts';

const MINUTE_MS = 60_000;
const START_MS = 1_000_000;
const [BOOK, TRADES] = ['/book', '/trades'].map((path) => ({ path }) as RouteSpec);

/** Turns on a clock of the test. */
function turnsOf(t: TestContext) {
  let nowMs = START_MS;
  t.mock.method(performance, 'now', () => nowMs);
  const turns = new TurnTimes();
  return {
    turns,
    take(route: RouteSpec | null, tookMs: number): void {
      turns.end(route, microsecondsOf(nowMs - tookMs));
    },
    pass(ms: number): void {
      nowMs += ms;
    },
    worst(): unknown[] {
      const found: unknown[] = [];
      turns.forEachWorst((route, tookMs) => found.push([route?.path ?? null, tookMs]));
      return found.sort();
    },
  };
}

test('a turn is counted in the first bucket whose bound it does not pass, one above all bounds in the last', (t) => {
  const { turns, take } = turnsOf(t);
  for (const tookMs of [0, 0.25, 0.312, 2, 2.062, 1000, 1001]) take(BOOK, tookMs);
  const counted = [...turns.counts].map((count, bucket) => [TURN_BOUNDS_MS[bucket] ?? 'above', count]);
  assert.deepEqual(
    counted.filter(([, count]) => count !== 0),
    [
      [0.05, 1],
      [0.25, 1],
      [0.5, 1],
      [2, 1],
      [5, 1],
      [1000, 1],
      ['above', 1],
    ],
  );
  assert.equal(turns.totalMs.toFixed(3), (0 + 0.25 + 0.312 + 2 + 2.062 + 1000 + 1001).toFixed(3));
});

test('the longest turn of each route is shown for at least a minute and at most two', (t) => {
  const { take, pass, worst } = turnsOf(t);
  take(BOOK, 3);
  take(BOOK, 7);
  take(BOOK, 5);
  take(TRADES, 2);
  take(null, 1);
  const all = [
    [null, 1],
    ['/book', 7],
    ['/trades', 2],
  ].sort();
  assert.deepEqual(worst(), all);
  pass(MINUTE_MS);
  take(TRADES, 1);
  assert.deepEqual(worst(), all, 'also those of the window before');
  pass(MINUTE_MS - 1);
  assert.deepEqual(worst(), all);
  pass(1);
  assert.deepEqual(worst(), [['/trades', 1]]);
  pass(2 * MINUTE_MS);
  assert.deepEqual(worst(), []);
});
