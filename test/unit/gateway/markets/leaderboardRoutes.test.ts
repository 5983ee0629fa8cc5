/** A leaderboard that takes long is shared for long (RULES.md 13.1). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SharedAnswers } from '../../../../gateway/http/sharedAnswers.ts';
import { leaderboardRoutes, sharedMs } from '../../../../gateway/markets/statisticsLeaderboardRoutes.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const SECOND_MS = 1000;

/** A leaderboard of two parts, each of which takes this time. */
function open(t: TestContext, partMs: number) {
  const clock = new ManualClock(1_790_000_000_000);
  let preciseMs = 5;
  let parts = 0;
  t.mock.method(performance, 'now', () => preciseMs);
  const ofPublic = async (_: unknown, __: unknown, { after }: { readonly after: number }) => {
    parts++;
    preciseMs += partMs;
    const traders = [{ account: after + 1, pnlMicro: 5, basisMicro: 10, trades: 1 }];
    return { ok: true, value: { traders, next: after === 0 ? 1 : null } };
  };
  const [route] = leaderboardRoutes({
    queries: { ofPublic } as never,
    views: { markets: { count: 0 } } as never,
    profiles: { shown: (account) => ({ handle: `a${account}`, userId: null, avatarUrl: null }) },
    sharedAnswers: new SharedAnswers(clock),
    clock,
  });
  return {
    clock,
    parts: () => parts,
    show: async (limit: number): Promise<void> => {
      const asked = new TestCall({ method: 'GET', path: route!.path });
      asked.call.query = { window: '24h', limit };
      await route!.handler(asked.call);
      assert.equal(asked.status, 200);
      assert.equal(asked.json.traders.length, Math.min(limit, 2));
    },
  };
}

test('13.1: an answer that took more than 3 seconds is shared for ten times as long as it took', () => {
  assert.deepEqual(
    [0, 100, 3000, 3001, 60_000].map((tookMs) => [sharedMs(1000, tookMs), sharedMs(30_000, tookMs)]),
    [
      [1000, 30_000],
      [1000, 30_000],
      [1000, 30_000],
      [30_010, 30_010],
      [600_000, 600_000],
    ],
  );
});

test('13.1: a leaderboard that takes a minute is computed once in ten, in whatever form it is asked for', async (t) => {
  const { clock, parts, show } = open(t, 30 * SECOND_MS);
  for (let passed = 0; passed < 599; passed += 31) {
    for (const limit of [10, 1, 100]) await show(limit);
    assert.equal(parts(), 2, `after ${passed} s`);
    clock.advance(31 * SECOND_MS);
  }
  await show(10);
  assert.equal(parts(), 4);
});

test('13.1: one that takes a moment is 30 seconds old at most, and a second in its other forms', async (t) => {
  const { clock, parts, show } = open(t, 5);
  await show(10);
  clock.advance(29 * SECOND_MS);
  await show(10);
  assert.equal(parts(), 2);
  await show(1);
  assert.equal(parts(), 4);
  clock.advance(SECOND_MS);
  await show(10);
  assert.equal(parts(), 6);
});
