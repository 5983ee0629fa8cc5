/** Counts of requests that place, and of the parties at fault for refusals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_STATUS, RequestCounts } from '../../../../gateway/http/requestCounts.ts';
import type { RouteSpec } from '../../../../gateway/http/spec.ts';
import { ERRORS, type ErrorRow } from '../../../../shared/base/errors.ts';

const PLACE = { method: 'POST', path: '/v1/orders', risk: 'taken' } as RouteSpec;
const READ = { method: 'GET', path: '/v1/time' } as RouteSpec;

function countsOf(calls: readonly (readonly [RouteSpec | null, number, ErrorRow | null])[]) {
  const counts = new RequestCounts();
  for (const [route, status, refusedAs] of calls) counts.count(route, status, refusedAs);
  const turnedAway = [...counts.placed.turnedAway].filter(([, count]) => count > 0);
  return { taken: counts.placed.taken, turnedAway: Object.fromEntries(turnedAway) };
}

test('requests that place are taken, or turned away for a cause of the exchange, or neither', () => {
  const of = (row: ErrorRow) => [PLACE, row.status, row] as const;
  const counted = countsOf([
    [PLACE, 200, null],
    [PLACE, 200, null],
    [PLACE, NO_STATUS, null],
    of(ERRORS.ENGINE_BUSY),
    of(ERRORS.ENGINE_BUSY),
    of(ERRORS.RATE_LIMIT_DEPENDENCY_UNAVAILABLE),
    of(ERRORS.INTERNAL_ERROR),
    // Strangers, accounts without funds, and senders of too much.
    of(ERRORS.MISSING_API_KEY_HEADERS),
    of(ERRORS.INSUFFICIENT_BALANCE),
    of(ERRORS.RATE_LIMITED),
    // An operator, and a member that does not lead.
    of(ERRORS.PLATFORM_PAUSED),
    of(ERRORS.CANCEL_ONLY_PHASE),
    of(ERRORS.NOT_MATCHING_LEADER),
    [READ, 503, ERRORS.ENGINE_BUSY],
    [null, 503, ERRORS.ENGINE_BUSY],
  ]);
  assert.deepEqual(counted, {
    taken: 2,
    turnedAway: { RATE_LIMIT_DEPENDENCY_UNAVAILABLE: 1, ENGINE_BUSY: 2, INTERNAL_ERROR: 1 },
  });
});

test('a batch of which nothing was done is not one that was taken, whatever its status', () => {
  assert.deepEqual(countsOf([[PLACE, 200, ERRORS.ENGINE_BUSY]]), { taken: 0, turnedAway: { ENGINE_BUSY: 1 } });
  assert.deepEqual(countsOf([[PLACE, 200, ERRORS.INSUFFICIENT_BALANCE]]), { taken: 0, turnedAway: {} });
});

test('every cause of its own is there from the start, so that its first increase is one', () => {
  const { turnedAway } = new RequestCounts().placed;
  assert.deepEqual([...turnedAway.values()], Array(turnedAway.size).fill(0));
  assert.ok(turnedAway.size >= 6);
});
