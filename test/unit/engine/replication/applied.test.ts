import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppliedPositions } from '../../../../engine/replication/applied.ts';

const MINUTE_MS = 60_000;
const MEGABYTE = 1 << 20;

test('APPLIED-1: of a standby, rows are durable that its gateway says are, and whose frames are numbered', () => {
  const applied = new AppliedPositions();
  applied.posted(10, 100);
  applied.apply(10, 4);
  assert.equal(applied.durable(0), 0);
  applied.numbered(3);
  assert.equal(applied.durable(0), 3);
  applied.numbered(10);
  assert.equal(applied.durable(10 * MINUTE_MS), 4);
  applied.apply(10, 2);
  assert.equal(applied.durable(0), 4);
});

test('APPLIED-1: of a leader, rows are durable that were held a minute before, and no later ones', () => {
  const applied = new AppliedPositions();
  applied.numbered(1000);
  for (let second = 1; second <= 120; second++) applied.held(second, second * 1000);
  assert.equal(applied.durable(MINUTE_MS), 0);
  assert.equal(applied.durable(MINUTE_MS + 10_001), 10);
  assert.equal(applied.durable(2 * MINUTE_MS), 59);
});

test('what a member has reached is what it has applied, or held as a leader a moment ago', () => {
  const applied = new AppliedPositions();
  applied.posted(10, 100);
  applied.apply(7, 4);
  assert.equal(applied.reached, 7);
  applied.held(12, 0);
  applied.held(13, 1);
  assert.deepEqual([applied.reached, applied.durable(1)], [13, 0]);
});

test('no more rows are posted while eight megabytes are not applied', () => {
  const applied = new AppliedPositions();
  for (let position = 1; position <= 8; position++) {
    assert.equal(applied.isFull, false);
    applied.posted(position, MEGABYTE);
  }
  assert.equal(applied.isFull, true);
  applied.apply(1, 0);
  assert.equal(applied.isFull, false);
});
