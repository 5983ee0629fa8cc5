/** Counting without allocating: histograms and the clock of measurements. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../../shared/base/histogram.ts';
import { nowUs, secondsBetween } from '../../../../shared/base/stopwatch.ts';
import { createShardMeters, ShardMeters } from '../../../../shared/wire/shardMeters.ts';

test('a value counts in the first bucket whose bound it does not exceed', () => {
  const histogram = new Histogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 100]) histogram.observe(value);
  assert.deepEqual([...histogram.counts], [2, 2, 1, 2]);
  assert.deepEqual([histogram.sum, histogram.count], [114.6, 7]);
});

test('HISTOGRAM-2: a time below zero, of a clock that was set back, takes nothing from the sum', () => {
  const histogram = new Histogram([1]);
  histogram.observe(0.5);
  histogram.observe(-3600);
  assert.deepEqual([histogram.sum, histogram.count], [0.5, 2]);
});

test('a duration is right when the microseconds wrap in between', () => {
  const nearEnd = 0x7fffff00 | 0;
  assert.equal(secondsBetween(nearEnd, (nearEnd + 1_500_000) | 0), 1.5);
  const startUs = nowUs();
  assert.ok(Number.isInteger(startUs) && secondsBetween(startUs, nowUs()) >= 0);
});

test('each shard has a part of its own of the meters, and another reader sees what it wrote', () => {
  const memory = createShardMeters(3);
  const [first, second, third] = [0, 1, 2].map((shard) => new ShardMeters(memory, shard));
  second!.histograms.commitSec.observe(0.25);
  second!.add('keptOutOfBatches', 7);
  const reader = new ShardMeters(memory, 1);
  assert.deepEqual([reader.histograms.commitSec.sum, reader.count('keptOutOfBatches')], [0.25, 7]);
  for (const other of [first!, third!]) {
    assert.deepEqual([other.histograms.commitSec.count, other.count('keptOutOfBatches')], [0, 0]);
  }
  assert.throws(() => new ShardMeters(memory, 3));
});
