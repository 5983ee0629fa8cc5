/** The lag of the read model, in time (RULES.md 10.20). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectorLag } from '../../../../gateway/operator/projectorLag.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { ManualClock } from '../../../support/manualClock.ts';

test('the lag is the age of the oldest record that is not projected, also after a quiet hour', () => {
  const progress = new Progress(Progress.create(2));
  const clock = new ManualClock(1000);
  const lag = new ProjectorLag(progress, clock);
  const passes = (ms: number): void => {
    clock.advance(ms);
    lag.tick();
  };
  lag.tick();
  assert.deepEqual(
    [0, 1].map((shard) => lag.milliseconds(shard)),
    [0, 0],
    'nothing has recovered',
  );
  progress.setCommitted(0, 10);
  progress.setProjected(0, 10);
  passes(3_600_000);
  progress.setCommitted(0, 11);
  passes(250);
  assert.equal(lag.milliseconds(0), 0, 'it has been seen just now');
  progress.setCommitted(0, 20);
  passes(250);
  passes(250);
  assert.equal(lag.milliseconds(0), 500);
  progress.setProjected(0, 11);
  assert.equal(lag.milliseconds(0), 250, 'the next record came later');
  progress.setProjected(0, 20);
  assert.equal(lag.milliseconds(0), 0);
});

test('a long lag is known to a twentieth of itself', () => {
  const progress = new Progress(Progress.create(1));
  const clock = new ManualClock(0);
  const lag = new ProjectorLag(progress, clock);
  progress.setProjected(0, 0);
  for (let record = 1; record <= 5000; record++) {
    progress.setCommitted(0, record);
    clock.advance(250);
    lag.tick();
  }
  const total = 5000 * 250;
  assert.equal(lag.milliseconds(0), total - 250);
  for (const projected of [1000, 2500, 4000]) {
    progress.setProjected(0, projected);
    const age = (5000 - projected) * 250;
    assert.ok(Math.abs(lag.milliseconds(0) - age) < total / 20, `${lag.milliseconds(0)} of ${age}`);
  }
});
