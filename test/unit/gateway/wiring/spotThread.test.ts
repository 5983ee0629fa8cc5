/** The gateway's side of the spot checks: findings of the thread are logged, and it ends on request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Logger } from '../../../../gateway/base/log.ts';
import { SpotThread } from '../../../../gateway/wiring/spotThread.ts';
import {
  createSpotMemory,
  SPOT_QUEUE,
  SPOT_SLOT,
  SpotCounts,
  spotSlotByte,
} from '../../../../shared/wire/spotLayout.ts';
import { eventually } from '../../../support/eventually.ts';

/** Accepted checks of signatures that are no signatures. */
function memoryWithDifferences(count = 1): SharedArrayBuffer {
  const memory = createSpotMemory(1);
  const words = new Int32Array(memory);
  for (let index = 0; index < count; index++) words[(spotSlotByte(0, index) + SPOT_SLOT.isAccepted) / 4] = 1;
  words[SPOT_QUEUE.written] = count;
  return memory;
}

type Line = { readonly fields: { difference: { accepted: boolean; shard: number } }; readonly text: string };

/** A log that has errors alone: nothing else is loud enough. */
function errorsTo(lines: Line[]): Logger {
  return { error: (fields: Line['fields'], text: string) => lines.push({ fields, text }) } as unknown as Logger;
}

test('a disagreement with the reference is logged as an error, with the order and the meaning', async () => {
  const lines: Line[] = [];
  const spotMemory = memoryWithDifferences();
  const thread = new SpotThread({ spotMemory, shards: 1 }, errorsTo(lines), 0);
  await eventually('a difference in the log', async () => lines.length === 1);
  const { shard, accepted } = lines[0].fields.difference;
  assert.deepEqual([shard, accepted], [0, true]);
  assert.match(lines[0].text, /^SIGNATURE CHECKS DIFFER.*reference decides/);
  assert.equal(new SpotCounts(spotMemory).differences(0), 1);
  await thread.terminate();
  assert.equal(lines.length, 1, 'an end that was asked for is not logged');
});

test('of many differences the log has the first twenty, and the metric all', async () => {
  const lines: Line[] = [];
  const spotMemory = memoryWithDifferences(25);
  const thread = new SpotThread({ spotMemory, shards: 1 }, errorsTo(lines), 0);
  const counts = new SpotCounts(spotMemory);
  await eventually('all questions asked again', async () => counts.checked(0) === 25 && lines.length >= 20);
  await thread.terminate();
  assert.equal(lines.length, 20);
  assert.equal(counts.differences(0), 25);
});

test('a thread that was not started yet is not started after the end', async () => {
  const thread = new SpotThread({ spotMemory: memoryWithDifferences(), shards: 1 }, errorsTo([]), 1_000_000);
  await thread.terminate();
});
