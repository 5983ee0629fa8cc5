/** The replicated log on a real PostgreSQL with two synchronous standbys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotAMemberError } from '../../engine/replication/log.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';

const MEGABYTE = 1 << 20;

test('rows of all streams are in one order, and found by position, stream and sequence', { skip }, async (t) => {
  const log = await openLog(t, await (await sharedPostgres()).database(), 'a');
  const { epoch, end } = (await log.take(false))!;
  assert.deepEqual([epoch, end], [1, 0]);
  const rows = [newRow(0, 3), newRow(STREAM.CONTROL, 1, 70_000), newRow(1, 9, 0), newRow(0, 5)];
  assert.equal(await log.append(epoch, 0, rows), true);
  assert.equal(await log.append(epoch, 4, [newRow(0, 6)]), true);
  const { rows: read } = await log.readAfter(0, MEGABYTE);
  const { lead } = (await log.nameAt(1))!;
  const expected = [...rows, newRow(0, 6)].map((row, index) => ({ ...row, position: index + 1, epoch, lead }));
  assert.deepEqual(read, expected);
  assert.deepEqual(
    (await log.readAfter(1, 1)).rows.map(({ position }) => position),
    [2],
  );
  assert.deepEqual(await log.rowOf(1, 9), expected[2]);
  assert.equal(await log.rowOf(1, 8), null);
  assert.equal((await log.firstAfter(0, 3))!.sequence, 5);
  assert.equal((await log.nameAt(2))!.stream, STREAM.CONTROL);
  const ends = await log.ends();
  assert.deepEqual(
    ends.map(({ stream, sequence, position }) => [stream, sequence, position]),
    [
      [0, 6, 5],
      [1, 9, 3],
      [STREAM.CONTROL, 1, 2],
    ],
  );
});

test('CLUSTERLOG-3: rows are added behind the row they follow, or not at all', { skip }, async (t) => {
  const log = await openLog(t, await (await sharedPostgres()).database(), 'a');
  const { epoch } = (await log.take(false))!;
  // The first fails, so the others, which were sent already, must add nothing.
  const twice = [newRow(0, 1), newRow(0, 1)];
  const outcomes = await Promise.allSettled([
    log.append(epoch, 0, twice),
    log.append(epoch, 2, [newRow(0, 3)]),
    log.append(epoch, 3, [newRow(0, 4)]),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'unknown')),
    ['unknown', false, false],
  );
  assert.deepEqual(await log.resolve(epoch, 0), { isLeader: true, hasLastHeld: true, rows: [] });
  assert.equal(await log.append(epoch, 0, [newRow(0, 1)]), true);
  await assert.rejects(log.append(epoch, 0, [newRow(0, 2)]), /duplicate key/);
  assert.equal((await log.resolve(epoch, 7)).hasLastHeld, false);
});

test('the lease has one holder, until it ends or another forces it', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  assert.equal((await a.take(false))!.epoch, 1);
  assert.equal(await b.take(false), null);
  const { holder, address, epoch, expiresInMs } = await b.lease();
  assert.deepEqual([holder, address, epoch, expiresInMs > 0], ['a', 'http://a:8080', 1, true]);
  assert.equal(await a.renew(1), true);
  await a.release(1);
  assert.equal((await b.lease()).expiresInMs <= 0, true);
  assert.equal((await b.take(false))!.epoch, 2);
  assert.equal(await a.renew(1), false);
  assert.equal((await a.take(true))!.epoch, 3);
  await b.fence();
  assert.equal(await a.renew(3), false);
  assert.deepEqual((await a.lease()).holder, '');
  assert.equal((await b.take(false))!.epoch, 5);
});

test('a process with other facts is no member', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  await openLog(t, url, 'a');
  await assert.rejects(openLog(t, url, 'b', { facts: { shards: '3' } }), NotAMemberError);
  await openLog(t, url, 'b', { cluster: 'another', facts: { shards: '3' } });
});

test('rows that every member has are trimmed, but for the last of each stream', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { epoch } = (await a.take(false))!;
  await a.append(epoch, 0, [newRow(1, 1), ...[1, 2, 3, 4].map((sequence) => newRow(0, sequence))]);
  assert.equal(await a.trim(), 0);
  await a.report(5);
  await b.report(3);
  assert.equal(await a.trim(), 2);
  assert.deepEqual(
    (await b.readAfter(0, MEGABYTE)).rows.map(({ position }) => position),
    [1, 4, 5],
  );
  await b.report(5);
  assert.equal(await b.trim(), 1);
  assert.equal(await b.trim(), 0);
  const { start, end, logBytes, members } = await b.facts();
  assert.deepEqual([start, end, logBytes > 0], [1, 5, true]);
  assert.deepEqual(
    members.map(({ holder, position }) => [holder, position]),
    [
      ['a', 5],
      ['b', 5],
    ],
  );
  assert.equal(await a.append(epoch, 5, [newRow(1, 2)]), true);
});
