/** The replication threads of members of a cluster, on a real PostgreSQL with two synchronous standbys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogRow, type NewRow, STREAM } from '../../shared/wire/replication.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip, startPostgres } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';

function names(rows: readonly (LogRow | NewRow)[]): readonly (readonly [number, number])[] {
  return rows.map(({ stream, sequence }) => [stream, sequence]);
}

test('a leader ships rows, a standby gets them in order, and takes over', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  for (let sequence = 1; sequence <= 200; sequence++) a.put(newRow(sequence % 2, sequence, 2000));
  await a.holds(0, 200);
  await a.holds(1, 199);
  await eventually('the standby has all rows', async () => b.rows.length === 200);
  for (const stream of [0, 1]) {
    const sequences = b.rows.filter((row) => row.stream === stream).map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      sequences.toSorted((x, y) => x - y),
    );
  }
  assert.deepEqual(
    b.rows.map(({ position }) => position),
    Array.from({ length: 200 }, (_, index) => index + 1),
  );
  await a.kill();
  await b.becomes('leader');
  assert.equal(b.memory.epoch(), 2);
  b.put(newRow(STREAM.CONTROL, 1));
  await b.holds(STREAM.CONTROL, 1);
});

test('OUTBOXES-1: a change of the gateway comes before the commands that follow from it', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  const last = 300;
  for (let sequence = 1; sequence <= last; sequence++) {
    a.put(newRow(STREAM.CONTROL, sequence));
    a.put(newRow(sequence % 2, sequence));
  }
  await eventually('the standby has all rows', async () => {
    // On a machine that is busy for longer than a lease the other one leads, and nothing of this comes.
    assert.equal(a.lost, undefined);
    return b.rows.length === 2 * last;
  });
  let control = 0;
  for (const { stream, sequence } of b.rows) {
    if (stream === STREAM.CONTROL) control = sequence;
    else assert.ok(sequence <= control, `command ${sequence} follows from a change that is after ${control}`);
  }
});

test('leader and standby name the rows in the order of the log, once (LOGORDER-1, 2)', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  for (let sequence = 1; sequence <= 60; sequence++) {
    a.put(newRow(sequence % 2, sequence));
    if (sequence % 3 === 0) a.put(newRow(STREAM.CONTROL, sequence));
  }
  const ofLeader = await a.names(80);
  const isNext = ({ position }: { readonly position: number }, at: number): boolean => position === at + 1;
  assert.ok(ofLeader.every(isNext));
  assert.deepEqual(await b.names(80), ofLeader);
  await eventually('the standby has all rows', async () => b.rows.length === 80);
  assert.deepEqual(
    names(b.rows),
    ofLeader.map(({ stream, sequence }) => [stream, sequence]),
  );
  // A start with every row, some of whose frames are not numbered: those are named again, and none is applied.
  const here = [
    { stream: 0, sequence: 60, doneThrough: 40 },
    { stream: 1, sequence: 59, doneThrough: 59 },
    { stream: STREAM.CONTROL, sequence: 60 },
  ];
  const again = startMember(t, url, 'c', here);
  const from = ofLeader.findIndex(({ stream, sequence }) => stream === 0 && sequence > 40);
  assert.deepEqual(await again.names(80 - from), ofLeader.slice(from));
  assert.deepEqual(again.rows, []);
});

test('a member that stops hands its lease back, after its last rows', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  for (let sequence = 1; sequence <= 50; sequence++) a.put(newRow(0, sequence));
  await a.stop();
  await b.becomes('leader');
  assert.deepEqual(
    names(b.rows),
    Array.from({ length: 50 }, (_, index) => [0, index + 1]),
  );
});

test('a leader whose lease was taken is lost, and holds nothing more', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  await (await openLog(t, url, 'operator')).askHandOver({ epoch: 1, to: 'b', isForced: true });
  await b.becomes('leader');
  a.put(newRow(0, 1));
  await a.becomes('lost');
  assert.match((await eventually('its reason', async () => a.lost))!, /another process leads/);
  assert.equal(a.memory.held(0), 0);
});

test('a primary is killed under load: every row is held, once and in order', { skip }, async (t) => {
  const cluster = await startPostgres(t);
  const url = await cluster.database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  const last = 600;
  const promoted = eventually('some rows', async () => a.memory.held(0) > 50).then(() => cluster.promote());
  for (let sequence = 1; sequence <= last; sequence++) {
    a.put(newRow(0, sequence, 3000));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await promoted;
  // A promotion that takes longer than a lease lets the other one lead, with every row that is held.
  await eventually(
    'every row is held, or another one leads',
    async () => a.memory.held(0) === last || b.memory.state() === 'leader',
  );
  await eventually('the other one has what is held', async () => b.rows.length >= a.memory.held(0));
  assert.deepEqual(
    names(b.rows),
    Array.from({ length: b.rows.length }, (_, index) => [0, index + 1]),
  );
});

test('rows that the log knows nothing of are not taken for those of it', { skip }, async (t) => {
  const a = startMember(t, await (await sharedPostgres()).database(), 'a', [{ stream: 0, sequence: 40 }]);
  await a.becomes('lost');
  assert.equal(a.lost, 'the log has lost the rows of stream 0 from 1 to 40');
});
