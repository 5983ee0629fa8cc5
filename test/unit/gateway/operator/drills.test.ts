/** Drills (RULES.md 9.9), and the exchange in the administrators' feed (9.11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drills } from '../../../../gateway/operator/drills.ts';
import { statsOf } from '../../../../gateway/operator/stats.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { ManualClock } from '../../../support/manualClock.ts';

test('a drill refuses until it is ended; of two the first of the error table', () => {
  const drills = new Drills();
  const [LEADER, SETTLEMENT] = ['NOT_MATCHING_LEADER', 'SETTLEMENT_UNHEALTHY'] as const;
  assert.deepEqual([drills.active, drills.refusal], [[], null]);
  drills.set(SETTLEMENT, true);
  assert.deepEqual([drills.active, drills.refusal], [[SETTLEMENT], ERRORS.SETTLEMENT_UNHEALTHY]);
  drills.set(LEADER, true);
  assert.deepEqual([drills.active, drills.refusal], [[LEADER, SETTLEMENT], ERRORS.NOT_MATCHING_LEADER]);
  drills.set(LEADER, false);
  drills.set(LEADER, false);
  assert.equal(drills.refusal, ERRORS.SETTLEMENT_UNHEALTHY);
});

test('the state of the exchange has the numbers of each shard and their sums', () => {
  const progress = new Progress(Progress.create(2));
  progress.setCommitted(0, 100);
  progress.setProjected(0, 70);
  const load = (shard: number) => ({
    commandBytes: 10 + shard,
    commandCapacity: 20 + shard,
    eventBytes: 30 + shard,
    unanswered: 40 + shard,
  });
  const stats = statsOf({
    link: { isReady: (shard: number) => shard === 0, load },
    views: { orders: [{ count: 3 }, { count: 4 }] },
    progress,
    clock: new ManualClock(5000),
    connections: () => 9,
  } as never);
  assert.deepEqual([stats.time, stats.open_orders, stats.connections], [5000, 7, 9]);
  assert.deepEqual(stats.shards[0], {
    shard: 0,
    ready: true,
    open_orders: 3,
    journal_sequence: 100,
    journal_lag_commands: 40,
    projector_lag_records: 30,
    command_ring_bytes: 10,
    command_ring_capacity_bytes: 20,
    event_ring_bytes: 30,
  });
  const { ready, journal_sequence, projector_lag_records } = stats.shards[1];
  assert.deepEqual([ready, journal_sequence, projector_lag_records], [false, 0, 0], 'a shard that is still recovering');
});
