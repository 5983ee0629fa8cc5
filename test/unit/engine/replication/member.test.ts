/** Members of a cluster over a database in memory, whose time, standbys and answers the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogRow, type NewRow, STREAM } from '../../../../shared/wire/replication.ts';
import { Cluster, type Rig } from '../../../support/memberRig.ts';
import { newRow } from '../../../support/replicatedLog.ts';

const LEASE_MS = 2000;
const sequences = (rows: readonly (LogRow | NewRow)[]): readonly number[] => rows.map(({ sequence }) => sequence);
const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

async function leaderAndStandby(): Promise<{ cluster: Cluster; a: Rig; b: Rig }> {
  const cluster = new Cluster();
  const a = cluster.add('a');
  await cluster.pass(300);
  const b = cluster.add('b');
  await cluster.pass(300);
  assert.deepEqual([a.memory.state(), b.memory.state()], ['leader', 'standby']);
  return { cluster, a, b };
}

test('MEMBER-1: every row was posted before a member is to lead, and it ships nothing before it may', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  b.isConnected = false;
  for (let sequence = 1; sequence <= 20; sequence++) a.put(newRow(0, sequence, 200_000));
  await cluster.pass(200);
  cluster.kill(a);
  await cluster.pass(LEASE_MS);
  b.mayLead = false;
  b.isConnected = true;
  b.put(newRow(0, 21));
  await cluster.pass(LEASE_MS * 2);
  const place = b.messages.findIndex((message) => 'role' in message && message.role === 'leader');
  const before = b.messages.slice(0, place).flatMap((message) => ('rows' in message ? message.rows : []));
  assert.deepEqual(sequences(before), upTo(20));
  assert.deepEqual([b.memory.state(), cluster.database.end], ['standby', 20]);
  b.member.receive({ mayLead: true });
  await cluster.pass(100);
  assert.deepEqual([b.memory.state(), b.memory.epoch(), b.memory.held(0)], ['leader', 2, 21]);
});

test('HELDSTREAMS-1: a row counts as held when a standby of the database has it, and not before', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  cluster.standbys = [];
  a.put(newRow(0, 1));
  await cluster.pass(500);
  assert.deepEqual([a.memory.held(0), b.memory.held(0), b.rows.length], [0, 0, 0]);
  cluster.standbys = [1];
  await cluster.pass(100);
  assert.deepEqual([a.memory.held(0), b.memory.held(0), b.rows.length], [1, 1, 1]);
});

test('a leader whose rows wait is stalled, and leads on when they are held', async () => {
  const { cluster, a } = await leaderAndStandby();
  // The lease was renewed just now.
  await cluster.pass(100);
  cluster.standbys = [];
  a.put(newRow(0, 1));
  await cluster.pass(1600);
  assert.equal(a.memory.state(), 'stalled');
  cluster.standbys = [0];
  await cluster.pass(600);
  assert.deepEqual([a.memory.state(), a.memory.epoch(), a.lost], ['leader', 1, []]);
});

test('MEMBER-2: a leader that stood still holds and posts nothing any more, and stops in order', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  a.isConnected = false;
  a.put(newRow(0, 1));
  await cluster.pass(LEASE_MS * 2);
  assert.equal(b.memory.state(), 'leader');
  a.isConnected = true;
  await cluster.pass(600);
  assert.match(a.lost.join(), /another process leads since epoch 1/);
  const { length } = a.messages;
  a.put(newRow(0, 2));
  a.member.receive({ handOver: { id: 1, to: null } });
  await cluster.pass(LEASE_MS);
  assert.deepEqual([a.memory.state(), a.memory.held(0), a.messages.length], ['lost', 0, length]);
  await a.member.stop();
  assert.equal(cluster.database.end, 0);
});

test('no clock of a member ends a lease: its holder leads as long as the database says so', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  for (let turns = 0; turns < 40; turns++) {
    await b.turn(LEASE_MS);
    // A member that waits for the database would show nothing.
    for (const standby of cluster.standbys) cluster.database.replicate(standby);
  }
  assert.deepEqual([b.memory.state(), cluster.database.epoch], ['standby', 1]);
  a.put(newRow(0, 1));
  await cluster.pass(100);
  assert.equal(a.memory.held(0), 1);
});

test('an idle leader renews its lease, and a standby takes the lease of a leader that is gone', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  await cluster.pass(LEASE_MS * 5);
  assert.deepEqual([a.memory.state(), cluster.database.epoch], ['leader', 1]);
  cluster.kill(a);
  await cluster.pass(LEASE_MS + 400);
  assert.deepEqual([b.memory.state(), cluster.database.epoch], ['leader', 2]);
});

test('LOGTAIL-1: a member posts each row once, in order, after those that it has', async () => {
  const { cluster, a } = await leaderAndStandby();
  let c: Rig | null = null;
  for (let sequence = 1; sequence <= 5; sequence++) {
    a.put(newRow(0, sequence));
    a.put(newRow(1, sequence));
    await cluster.pass(50);
    if (sequence === 2) c = cluster.add('c', [{ stream: 0, sequence: 2 }]);
  }
  // To a member that starts later, the rows of the other shard come from the beginning.
  const d = cluster.add('d', [{ stream: 0, sequence: 4 }]);
  await cluster.pass(200);
  const of = (rig: Rig, stream: number) => sequences(rig.rows.filter((row) => row.stream === stream));
  assert.deepEqual([of(c!, 0), of(c!, 1)], [[3, 4, 5], upTo(5)]);
  assert.deepEqual([of(d, 0), of(d, 1)], [[5], upTo(5)]);
});

test('a standby says how new its state is where it has read the log to its end, and not before (ROLE-2)', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  b.isConnected = false;
  for (let sequence = 1; sequence <= 2500; sequence++) a.put(newRow(0, sequence));
  await cluster.pass(200);
  const { length } = b.messages;
  b.isConnected = true;
  await cluster.pass(300);
  const ends = b.messages.slice(length).flatMap((message) => ('rows' in message ? [message] : []));
  assert.deepEqual(sequences(b.rows), upTo(2500));
  for (const { end, asOfMs } of ends) assert.equal(asOfMs !== null, end === 2500, `of the first ${end} rows`);
});

test('LOGTAIL-2: a standby is as new as the last commit that the standbys of the database have for it', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  const asOf = () => b.messages.flatMap((message) => ('rows' in message ? [message.asOfMs] : []));
  a.put(newRow(0, 1));
  await cluster.pass(300);
  const before = b.nowMs;
  assert.ok(asOf().at(-1)! >= before - 300, 'it goes on while commits do');
  // Reads are answered, like those of a server that was cut off from its standbys.
  cluster.standbys = [];
  await cluster.pass(3000);
  assert.ok(asOf().at(-1)! <= before, 'nothing that was asked for since is confirmed');
  // Another server is confirmed while the rows are read from the one before, and then the other way round.
  cluster.database.failOver();
  cluster.standbys = [0, 1];
  const { length } = asOf();
  await cluster.pass(20);
  assert.deepEqual(asOf().slice(length), [], 'what the new server was asked for before it was confirmed has no age');
  await cluster.pass(1000);
  assert.ok(asOf().at(-1)! > b.nowMs - 500);
});

test('LOGTAIL-2: a member whose clock is set back says no less of its age, nor of that of its lease', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  await cluster.pass(1000);
  const renewedMs = a.memory.renewedMs();
  const asOf = () => b.messages.flatMap((message) => ('rows' in message ? [message.asOfMs] : []));
  const beforeMs = asOf().at(-1)!;
  for (const member of [a, b]) member.setClock(-3_600_000);
  await cluster.pass(1000);
  assert.ok(a.memory.renewedMs() >= renewedMs + 500, 'its renewals are as old as they are');
  assert.ok(asOf().at(-1)! >= beforeMs + 500, 'it goes on while commits do');
  cluster.standbys = [];
  await cluster.pass(3000);
  assert.ok(b.nowMs - asOf().at(-1)! >= 3000, 'nothing is confirmed any more');
  assert.ok(a.nowMs - a.memory.renewedMs() >= 3000, 'nor renewed');
});

test('LOGTAIL-1: a member stops where rows that it lacks were trimmed', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  b.isConnected = false;
  for (let sequence = 1; sequence <= 5; sequence++) a.put(newRow(0, sequence));
  await cluster.pass(200);
  for (const name of ['a', 'b'])
    cluster.database.report(name, { position: 5, formats: '', hasRoom: true, filesProblem: '' });
  assert.equal(cluster.database.trim(), 4);
  b.isConnected = true;
  await cluster.pass(300);
  assert.match(b.lost.join(), /LOGTAIL-1: the log goes on at 5 after 0: .* trimmed/);
  assert.equal(b.rows.length, 0);
});

/** The standbys of the database differ by the last rows, and the one takes over that lacks them. */
async function lossOf(cluster: Cluster, a: Rig, last: number): Promise<void> {
  cluster.standbys = [0];
  a.put(newRow(0, last));
  await cluster.pass(100);
  assert.equal(a.memory.held(0), last);
  cluster.database.failOver('other');
}

test('LASTROW-1: a leader and a standby stop when the database has lost rows which they have', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  a.put(newRow(0, 1));
  await cluster.pass(100);
  await lossOf(cluster, a, 2);
  await cluster.pass(1000);
  assert.match(a.lost.join(), /has lost the row at position 2, which it held/);
  assert.match(b.lost.join(), /has lost the row at position 2, which this member has applied/);
});

/** Another member takes the lead in the database that there is. */
function takeAt({ database }: Cluster, name: string): ReturnType<typeof database.take> {
  return database.take({}, name, '', true, { formats: '', raised: '', run: database.run });
}

test('LASTROW-1: a standby does not go on with the rows of another lead in the place of those it has', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  await lossOf(cluster, a, 1);
  cluster.kill(a);
  // Before its next look at the lease, another leader is further than it.
  const taken = takeAt(cluster, 'c');
  cluster.database.replicate(0);
  assert.ok(typeof taken === 'object');
  cluster.database.append({}, taken.answer!, 0, [newRow(1, 1), newRow(1, 2), newRow(1, 3)]);
  cluster.database.replicate(0);
  await cluster.pass(400);
  assert.match(b.lost.join(), /has lost the row at position 1/);
  assert.deepEqual(
    b.rows.map(({ stream, sequence }) => [stream, sequence]),
    [[0, 1]],
  );
});

test('CLUSTERLOG-2: a leader whose lead the database has lost does not share its epoch with the next one', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  const c = cluster.add('c');
  a.put(newRow(1, 1));
  await cluster.pass(300);
  cluster.standbys = [0];
  // The clock of the database decides which of the two has the lease.
  c.isConnected = false;
  cluster.kill(a);
  await cluster.pass(LEASE_MS * 2);
  assert.deepEqual([b.memory.state(), b.memory.epoch()], ['leader', 2]);
  b.isConnected = false;
  cluster.database.failOver('other');
  assert.equal(cluster.database.epoch, 1, 'the server that takes over does not know of it');
  // Neither has answered there (MAYTAKE-1): an operator gives both up.
  for (const name of ['a', 'b']) cluster.database.leave(name);
  c.isConnected = true;
  await cluster.pass(LEASE_MS * 2);
  assert.deepEqual([c.memory.state(), c.memory.epoch()], ['leader', 2]);
  b.put(newRow(0, 1));
  b.isConnected = true;
  await cluster.pass(500);
  assert.match(b.lost.join(), /another process leads since epoch 2/);
  assert.deepEqual([b.memory.held(0), cluster.database.end], [0, 1]);
  c.put(newRow(0, 1));
  await cluster.pass(200);
  assert.deepEqual([c.memory.state(), c.memory.held(0)], ['leader', 1]);
});

test('a member gives no copy of its files where the log has lost rows that it has', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  a.put(newRow(0, 1));
  await cluster.pass(200);
  cluster.standbys = [0];
  a.put(newRow(0, 2));
  await cluster.pass(1500);
  const before = b.agrees();
  await cluster.pass(50);
  assert.equal(await before, true);
  cluster.database.failOver('other');
  const after = assert.rejects(b.agrees());
  await cluster.pass(50);
  await after;
});

test('LASTROW-1: a standby does not take rows of another lead of the same epoch for those it has', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  cluster.standbys = [0];
  cluster.kill(a);
  await cluster.pass(LEASE_MS * 2);
  const c = cluster.add('c');
  await cluster.pass(200);
  await lossOf(cluster, b, 1);
  await cluster.pass(0);
  assert.deepEqual(sequences(c.rows), [1]);
  cluster.kill(b);
  const taken = takeAt(cluster, 'd');
  cluster.database.replicate(0);
  assert.ok(typeof taken === 'object');
  assert.equal(taken.answer!.epoch, c.rows[0]!.epoch);
  cluster.database.append({}, taken.answer!, 0, [newRow(0, 1)]);
  cluster.database.replicate(0);
  await cluster.pass(400);
  assert.match(c.lost.join(), /has lost the row at position 1/);
});

test('LASTROW-1: a member that starts stops when the log has less than its files', async () => {
  const { cluster, a } = await leaderAndStandby();
  for (const sequence of [1, 2]) a.put(newRow(0, sequence));
  await cluster.pass(100);
  const c = cluster.add('c', [{ stream: 0, sequence: 3 }]);
  await cluster.pass(100);
  assert.match(c.lost.join(), /the log has lost the rows of stream 0 from 3 to 3/);
});

test('LASTROW-1: a member stops where a row is lost that its files got after it had opened the log', async () => {
  const { cluster, a } = await leaderAndStandby();
  a.put(newRow(0, 1));
  await cluster.pass(100);
  const c = cluster.add('c');
  c.isReady = false;
  await cluster.pass(100);
  // In the meantime its files arrive, with that row.
  cluster.standbys = [0];
  a.put(newRow(0, 2));
  await cluster.pass(100);
  c.member.receive({ follow: [{ stream: 0, sequence: 2 }] });
  await cluster.pass(300);
  assert.deepEqual(c.lost, []);
  cluster.database.failOver('other');
  await cluster.pass(1000);
  assert.match(c.lost.join(), /has lost the row at position 2, which this member has applied/);
});

test('rows that come while a member starts are read, also the first ones of a stream', async () => {
  const { cluster, a } = await leaderAndStandby();
  a.put(newRow(0, 1));
  await cluster.pass(100);
  const c = cluster.add('c', [{ stream: 0, sequence: 1 }]);
  // Each answer of its start comes after more rows.
  for (let step = 0; step < 40; step++) {
    c.log.serve('read');
    c.log.deliver('read');
    c.isConnected = false;
    if (step % 4 === 0) {
      a.put(newRow(step % 8 === 0 ? STREAM.CONTROL : 0, Math.floor(step / 8) + (step % 8 === 0 ? 1 : 2)));
    }
    await cluster.pass(10);
  }
  c.isConnected = true;
  await cluster.pass(300);
  assert.deepEqual(sequences(c.rows.filter(({ stream }) => stream === STREAM.CONTROL)), upTo(5));
  assert.deepEqual(sequences(c.rows.filter(({ stream }) => stream === 0)), [2, 3, 4, 5, 6]);
});

test('a planned end ships the remaining rows and gives the lease back', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  for (let sequence = 1; sequence <= 5; sequence++) a.put(newRow(0, sequence));
  const stopping = a.member.stop();
  await cluster.pass(500);
  await stopping;
  assert.deepEqual([b.memory.state(), sequences(b.rows)], ['leader', upTo(5)]);
});

test('a planned end does not wait for a copy that is being given', async () => {
  const { cluster, a, b } = await leaderAndStandby();
  let endCopy = (): void => {};
  a.filesStopped = new Promise((resolve) => {
    endCopy = resolve;
  });
  a.put(newRow(0, 1));
  const stopping = a.member.stop();
  await cluster.pass(500);
  assert.deepEqual([b.memory.state(), sequences(b.rows)], ['leader', upTo(1)]);
  endCopy();
  await stopping;
});

test('a member whose copy is newer than the log that it has opened leads with all of it held', async () => {
  const cluster = new Cluster();
  const leader = cluster.add('a');
  await cluster.pass(300);
  leader.put(newRow(0, 1));
  leader.put(newRow(1, 1));
  const joining = cluster.add('b');
  joining.isReady = false;
  await cluster.pass(300);
  assert.deepEqual([joining.memory.held(0), joining.memory.held(1)], [1, 1]);
  // Its files come while the other goes on, and nothing comes after them.
  leader.put(newRow(0, 2));
  await cluster.pass(300);
  joining.member.receive({
    follow: [
      { stream: 0, sequence: 2 },
      { stream: 1, sequence: 1 },
    ],
  });
  await cluster.pass(300);
  cluster.kill(leader);
  await cluster.pass(LEASE_MS * 2);
  assert.equal(joining.memory.state(), 'leader');
  assert.deepEqual([joining.memory.held(0), joining.memory.held(1), joining.rows.length], [2, 1, 0]);
});

test('a member whose disk is nearly full says so with its first report', async (t) => {
  const { cluster } = await leaderAndStandby();
  const { mock } = t.mock.method(cluster.database, 'report');
  const c = cluster.add('c');
  c.isReady = false;
  await cluster.pass(100);
  c.member.receive({ hasRoom: false });
  c.member.receive({ follow: [] });
  await cluster.pass(100);
  const { members } = cluster.database.facts();
  assert.deepEqual(
    members.map(({ holder, hasRoom }) => [holder, hasRoom]),
    [
      ['a', true],
      ['b', true],
      ['c', false],
    ],
  );
  const ofC = mock.calls.flatMap(({ arguments: [holder, { hasRoom }] }) => (holder === 'c' ? [hasRoom] : []));
  assert.ok(ofC.length > 0 && !ofC.includes(true), ofC.join());
});
