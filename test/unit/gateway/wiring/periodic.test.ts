/** The tasks that are repeated while requests are accepted, on a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { PeriodicTasks } from '../../../../gateway/wiring/periodic.ts';

test('each task is repeated at its interval, until the stop, and one that fails goes on', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const counts: Record<string, number> = {};
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const stats = () => ({});
  const tasks = new PeriodicTasks({
    ticking: [{ tick: () => count('tick') }, { tick: () => count('other tick') }],
    volumes: {
      refresh: () => {
        count('volumes');
        return Promise.reject(new Error('no read model'));
      },
      refresh24h: () => {
        count('volumes of 24 hours');
        return Promise.reject(new Error('no read model'));
      },
    },
    feed: {
      report: (kind: string, made: unknown) => {
        assert.equal(made, stats);
        count(kind);
      },
    },
    stats,
    answers: { tick: () => count('answers') },
    control: { changes: { checkpoint: () => count('checkpoint') }, reserve: { refill: () => count('refill') } },
    journalHeads: {
      save: () => {
        count('heads');
        throw new Error('full');
      },
    },
    noteOnline: () => {
      count('online');
      throw new Error('full');
    },
    log: createLogger('silent'),
  } as never);
  t.mock.timers.tick(60_000);
  assert.deepEqual(counts, {}, 'not before the start');
  tasks.start();
  t.mock.timers.tick(60_000);
  const expected = {
    tick: 240,
    'other tick': 240,
    volumes: 150,
    stats: 60,
    answers: 6,
    checkpoint: 12,
    refill: 12,
    heads: 2,
    'volumes of 24 hours': 7,
    online: 1,
  };
  assert.deepEqual(counts, expected);
  tasks.stop();
  t.mock.timers.tick(60_000);
  assert.deepEqual(counts, expected);
});
