/** The gateway's side of the spot checks: what the thread finds is logged, and it ends when it is asked to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Logger } from '../../../../gateway/process/log.ts';
import { SpotThread } from '../../../../gateway/wiring/spotThread.ts';
import {
  createSpotMemory,
  SPOT_QUEUE,
  SPOT_SLOT,
  SpotCounts,
  spotSlotByte,
} from '../../../../shared/wire/spotLayout.ts';
import { eventually } from '../../../support/eventually.ts';

/** One accepted check of a signature that is no signature. */
function memoryWithDifference(): SharedArrayBuffer {
  const memory = createSpotMemory(1);
  const words = new Int32Array(memory);
  words[(spotSlotByte(0, 0) + SPOT_SLOT.isAccepted) / 4] = 1;
  words[SPOT_QUEUE.written] = 1;
  return memory;
}

function logTo(lines: unknown[]): Logger {
  return { error: (fields: unknown) => lines.push(fields) } as unknown as Logger;
}

test('what the reference judges otherwise is logged with the order', async () => {
  const lines: { difference?: { accepted: boolean; shard: number; digest: string } }[] = [];
  const spotMemory = memoryWithDifference();
  const thread = new SpotThread({ spotMemory, shards: 1 }, logTo(lines), 0);
  await eventually('a difference in the log', async () => lines.length === 1);
  assert.deepEqual([lines[0].difference?.shard, lines[0].difference?.accepted], [0, true]);
  assert.equal(new SpotCounts(spotMemory).differences(0), 1);
  await thread.terminate();
  assert.equal(lines.length, 1, 'an end that was asked for is not logged');
});

test('a thread that was not started yet is not started after the end', async () => {
  const thread = new SpotThread({ spotMemory: memoryWithDifference(), shards: 1 }, logTo([]), 1_000_000);
  await thread.terminate();
});
