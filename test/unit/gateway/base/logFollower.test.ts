/** The order in which a standby hands rows on, and how far it says it is (LOGFOLLOWER-1 and 2, ROLE-2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogFollower } from '../../../../gateway/base/logFollower.ts';
import { type LogRow, STREAM } from '../../../../shared/wire/replication.ts';

const row = (position: number, stream: number, sequence: number): LogRow => {
  return { position, epoch: 1, lead: 1, stream, sequence, bytes: new Uint8Array([position]) };
};

function rig() {
  const shown = [0, 0];
  const durable = new Map<number, number>();
  const handedOn: string[] = [];
  const follower = new LogFollower(2, {
    postRows: (shard, rows) => handedOn.push(`shard ${shard}: ${rows.map(({ position }) => position)}`),
    shown: (shard) => shown[shard]!,
    applyRow: ({ position }) => handedOn.push(`store: ${position}`),
    durable: (stream) => durable.get(stream) ?? 0,
  });
  return { shown, durable, handedOn, follower };
}

test('changes of stores are applied before the rows of shards that come after them', () => {
  const { handedOn, follower } = rig();
  follower.receive([row(1, STREAM.CONTROL, 1), row(2, 0, 5), row(3, STREAM.CONTROL, 2), row(4, 0, 9)], 4, 100);
  follower.receive([row(5, 1, 3)], 5, 200);
  assert.deepEqual(handedOn, ['store: 1', 'store: 3', 'shard 0: 2,4', 'shard 1: 5']);
  assert.throws(() => follower.receive([row(5, 1, 4)], 6, 300), /LOGFOLLOWER-1/);
});

test('it is as far as the slowest shard, and as fresh as the last end that is applied', () => {
  const { shown, follower } = rig();
  assert.deepEqual([follower.applied, follower.asOfMs, follower.isIdle], [0, null, true]);
  follower.receive([row(11, 0, 5), row(12, 1, 7), row(13, STREAM.CONTROL, 1), row(14, 0, 8)], 14, 100);
  assert.deepEqual([follower.applied, follower.asOfMs, follower.isIdle], [10, null, false]);
  shown[0] = 8;
  assert.equal(follower.applied, 11, 'the row of shard 1 is not durable yet');
  follower.receive([], 14, 200);
  shown[1] = 7;
  assert.deepEqual([follower.applied, follower.asOfMs, follower.isIdle], [14, 200, true]);
  follower.receive([row(15, 0, 9)], 15, null);
  shown[0] = 9;
  assert.equal(follower.asOfMs, 200, 'while more rows are to be read it is stale');
  follower.receive([], 16, 300);
  assert.deepEqual([follower.applied, follower.asOfMs], [16, 300], 'a row that was here already');
});

test('rows that are here already are as good as applied', () => {
  const { shown, follower } = rig();
  shown[0] = 50;
  follower.receive([row(3, 0, 40), row(4, 0, 50)], 4, 100);
  assert.deepEqual([follower.applied, follower.asOfMs], [4, 100]);
});

test('LOGFOLLOWER-2: a row of the stores that is applied and not synced is not durable', () => {
  const { shown, durable, follower } = rig();
  const { CONTROL, AUDIT } = STREAM;
  follower.receive([row(1, CONTROL, 1), row(2, 0, 5), row(3, AUDIT, 7), row(4, CONTROL, 2)], 4, 100);
  shown[0] = 5;
  assert.deepEqual([follower.applied, follower.durable], [4, 0]);
  durable.set(AUDIT, 7);
  assert.equal(follower.durable, 0, 'control.db is behind');
  durable.set(CONTROL, 1);
  assert.equal(follower.durable, 3, 'its second row is not synced');
  shown[0] = 5;
  follower.receive([row(5, 0, 9)], 5, 200);
  durable.set(CONTROL, 2);
  assert.deepEqual([follower.applied, follower.durable], [4, 4], 'and the shard is behind');
  shown[0] = 9;
  assert.deepEqual([follower.applied, follower.durable], [5, 5]);
});

test('rows of settlement.db count as applied once its thread has them, durably', () => {
  const { durable, handedOn, follower } = rig();
  durable.set(STREAM.SETTLEMENT, 0);
  follower.receive([row(1, STREAM.SETTLEMENT, 1), row(2, STREAM.SETTLEMENT, 2)], 2, 100);
  assert.deepEqual(handedOn, ['store: 1', 'store: 2']);
  assert.deepEqual([follower.applied, follower.durable, follower.asOfMs, follower.isIdle], [0, 0, null, false]);
  durable.set(STREAM.SETTLEMENT, 1);
  assert.deepEqual([follower.applied, follower.durable], [1, 1]);
  durable.set(STREAM.SETTLEMENT, 2);
  assert.deepEqual([follower.applied, follower.asOfMs, follower.isIdle], [2, 100, true]);
});
