/** Turns of a load that count as one (turns.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../bench/histogram.ts';
import { Turns } from '../../../bench/turns.ts';

function turn(durationsUs: readonly number[], usedSeconds: number, stolen: number) {
  const latency = new Histogram();
  for (const us of durationsUs) latency.record(us * 1000);
  return { latency, meter: { usedSeconds: () => usedSeconds, read: () => ({ stolen, others: 0 }) } };
}

test('turns count by what they have done, and their noise by how long they took', () => {
  const turns = new Turns();
  const first = turn([100, 200, 300], 0.001, 10);
  const second = turn([1000], 0.003, 2);
  turns.add(first.latency, 1, first.meter);
  turns.add(second.latency, 3, second.meter);
  const { perSecond, p50Us, p99Us, processorUs, noise } = turns.sum;
  assert.deepEqual([perSecond, processorUs, noise.stolen, noise.others], [1, 1000, 4, 0]);
  assert.ok(Math.abs(p50Us - 200) < 1, `${p50Us}`);
  assert.ok(Math.abs(p99Us - 1000) < 2, `${p99Us}`);
});
