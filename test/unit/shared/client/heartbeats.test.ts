/** The dead man's switch is beaten on time, says when it has lapsed, and stops when it is closed. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Heartbeats } from '../../../../shared/client/heartbeats.ts';
import { ApiError } from '../../../../shared/client/http.ts';

/** Timers and the clock of durations move together. */
function time(t: TestContext): { advance(ms: number): Promise<void> } {
  let nowMs = 1000;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => nowMs);
  return {
    async advance(ms) {
      nowMs += ms;
      t.mock.timers.tick(ms);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    },
  };
}

test('it beats every five seconds, each after the answer to the one before, until it is closed', async (t) => {
  const { advance } = time(t);
  let beats = 0;
  let answer: () => void = () => {};
  const heartbeats = await Heartbeats.start(() => {
    beats++;
    return beats === 3 ? new Promise<void>((resolve) => (answer = resolve)) : Promise.resolve();
  });
  assert.deepEqual([beats, heartbeats.isArmed], [1, true]);
  await advance(4999);
  assert.equal(beats, 1);
  await advance(1);
  await advance(5000);
  assert.equal(beats, 3);
  await advance(20_000);
  assert.equal(beats, 3, 'HEARTBEATS-1');
  answer();
  await advance(0);
  await advance(5000);
  assert.equal(beats, 4);
  heartbeats.close();
  await advance(60_000);
  assert.deepEqual([beats, heartbeats.isArmed], [4, false], 'HEARTBEATS-2');
});

test('a beat that fails is repeated each second, and after fifteen the lapse is said once', async (t) => {
  const { advance } = time(t);
  const lapses: unknown[] = [];
  const failure = new TypeError('fetch failed');
  let beats = 0;
  let isDown = false;
  const heartbeats = await Heartbeats.start(
    () => {
      beats++;
      return isDown ? Promise.reject(failure) : Promise.resolve();
    },
    { onLapse: (error, isOver) => lapses.push([error, isOver]) },
  );
  isDown = true;
  await advance(5000);
  for (let second = 0; second < 9; second++) await advance(1000);
  assert.deepEqual([beats, lapses, heartbeats.isArmed], [11, [], true]);
  for (let second = 0; second < 5; second++) await advance(1000);
  assert.deepEqual([lapses, heartbeats.isArmed], [[[failure, false]], false]);
  isDown = false;
  await advance(1000);
  assert.equal(heartbeats.isArmed, true, 'the next beat arms it again');
  heartbeats.close();
});

test('a refused key ends the heartbeats, and one that is refused at once never starts them', async (t) => {
  const { advance } = time(t);
  const refusal = new ApiError(401, 'API_KEY_UNAUTHORIZED', 'API key is revoked or expired', undefined, null);
  const lapses: unknown[] = [];
  let beats = 0;
  await Heartbeats.start(() => (++beats > 1 ? Promise.reject(refusal) : Promise.resolve()), {
    everyMs: 1000,
    onLapse: (error, isOver) => lapses.push([error, isOver]),
  });
  await advance(1000);
  await advance(60_000);
  assert.deepEqual([beats, lapses], [2, [[refusal, true]]]);
  await assert.rejects(
    Heartbeats.start(() => Promise.reject(refusal)),
    refusal,
  );
  for (const everyMs of [0, 999, 10_001, Number.NaN]) {
    await assert.rejects(
      Heartbeats.start(async () => {}, { everyMs }),
      RangeError,
    );
  }
});
