import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outboxes } from '../../../../engine/replication/outboxes.ts';
import { type NewRow, OutboxProducer, STREAM } from '../../../../shared/wire/replication.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { newRow } from '../../../support/replicatedLog.ts';

function outboxesOf(shards: number) {
  const buffers = Array.from({ length: shards + 1 }, () => createRingBuffer(1 << 14));
  const producers = buffers.map((buffer) => new OutboxProducer(buffer));
  return { outboxes: new Outboxes(buffers), shards: producers.slice(0, -1), gateway: producers.at(-1)! };
}

const names = (rows: readonly NewRow[]) => rows.map(({ stream, sequence }) => [stream, sequence]);

test('OUTBOXES-1: changes of the gateway come before the rows of shards, in whatever order they were put', () => {
  const { outboxes, shards, gateway } = outboxesOf(2);
  gateway.put(newRow(STREAM.CONTROL, 1));
  shards[1]!.put(newRow(1, 1));
  shards[0]!.put(newRow(0, 1));
  gateway.put(newRow(STREAM.ANSWERS, 1));
  assert.deepEqual(names(outboxes.take(1 << 20)), [
    [STREAM.CONTROL, 1],
    [STREAM.ANSWERS, 1],
    [0, 1],
    [1, 1],
  ]);
  assert.equal(outboxes.isEmpty(), true);
});

test('OUTBOXES-1: a change that is put while the rows of shards are taken comes before them', () => {
  const { outboxes, shards, gateway } = outboxesOf(1);
  shards[0]!.put(newRow(0, 1));
  // The shard runs a command that rests on the change after its outbox was read.
  const rows = outboxes.take(1 << 20);
  gateway.put(newRow(STREAM.CONTROL, 1));
  shards[0]!.put(newRow(0, 2));
  assert.deepEqual(names([...rows, ...outboxes.take(1 << 20)]), [
    [0, 1],
    [STREAM.CONTROL, 1],
    [0, 2],
  ]);
});

test('rows of shards are left when enough wait, and those of the gateway never', () => {
  const { outboxes, shards, gateway } = outboxesOf(2);
  for (let sequence = 1; sequence <= 3; sequence++) {
    shards[0]!.put(newRow(0, sequence, 100));
    shards[1]!.put(newRow(1, sequence, 100));
    gateway.put(newRow(STREAM.CONTROL, sequence, 100));
  }
  assert.deepEqual(names(outboxes.take(0)), [
    [STREAM.CONTROL, 1],
    [STREAM.CONTROL, 2],
    [STREAM.CONTROL, 3],
  ]);
  assert.deepEqual(names(outboxes.take(150)), [
    [0, 1],
    [0, 2],
  ]);
  assert.equal(outboxes.isEmpty(), false);
  assert.deepEqual(names(outboxes.take(1 << 20)), [
    [0, 3],
    [1, 1],
    [1, 2],
    [1, 3],
  ]);
});

test('watchers are called when a row was put, and not after the end', async () => {
  const { outboxes, shards } = outboxesOf(1);
  const seen: (readonly NewRow[])[] = [];
  await new Promise<void>((resolve) => {
    outboxes.watch(() => {
      seen.push(outboxes.take(1 << 20));
      resolve();
    });
    shards[0]!.put(newRow(0, 1));
  });
  outboxes.end();
  assert.deepEqual(seen.map(names), [[[0, 1]]]);
});
