/** A lead in a database that was set back is not taken before the other members have answered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serversNeeded } from '../../../../engine/replication/serverStarts.ts';
import { Cluster, type Rig } from '../../../support/memberRig.ts';
import { newRow } from '../../../support/replicatedLog.ts';

const LEASE_MS = 2000;
/** A standby reports each second. */
const REPORTED_MS = 1500;
const PATIENCE_MS = 20_000;

async function threeMembers(): Promise<{ cluster: Cluster; a: Rig; b: Rig; c: Rig }> {
  const cluster = new Cluster();
  const a = cluster.add('a');
  await cluster.pass(300);
  const [b, c] = [cluster.add('b'), cluster.add('c')];
  await cluster.pass(REPORTED_MS);
  assert.equal(a.memory.state(), 'leader');
  return { cluster, a, b, c };
}

function problemOf({ messages }: Rig): string {
  return messages.flatMap((message) => ('status' in message ? [message.status.problem ?? ''] : [])).at(-1) ?? '';
}

test('MAYTAKE-1: a member that has seen nothing of the lost rows waits while another one is silent', async () => {
  const { cluster, a, b, c } = await threeMembers();
  a.put(newRow(1, 1));
  await cluster.pass(200);
  c.isConnected = false;
  cluster.standbys = [0];
  a.put(newRow(0, 1));
  await cluster.pass(200);
  assert.deepEqual([a.memory.held(0), b.memory.held(0), c.memory.held(0)], [1, 1, 0]);
  cluster.kill(a);
  b.isConnected = false;
  cluster.database.failOver('other');
  cluster.standbys = [0, 1];
  c.isConnected = true;
  await cluster.pass(PATIENCE_MS);
  assert.deepEqual([c.memory.state(), cluster.database.epoch], ['standby', 1]);
  assert.match(problemOf(c), /waits with the lead: .*; b has not said whether this log has all that it has seen/);
  b.isConnected = true;
  await cluster.pass(PATIENCE_MS);
  assert.match(b.lost.join(), /the log has lost the row at position 2/);
  assert.deepEqual([c.memory.state(), cluster.database.epoch], ['standby', 1], 'who has seen more has not answered');
  // The next start of b is refused.
  cluster.database.refuse('b', true);
  await cluster.pass(PATIENCE_MS);
  assert.match(problemOf(c), /b is refused here, and may have what this log lacks/);
  for (const name of ['a', 'b']) cluster.database.leave(name);
  await cluster.pass(LEASE_MS);
  assert.equal(c.memory.state(), 'leader', 'an operator has given both up');
  assert.equal(problemOf(c), '');
});

test('MAYTAKE-1: a log that was set back to before its first row is led by no one, whoever has answered', async () => {
  const { cluster, a, b, c } = await threeMembers();
  c.isConnected = false;
  cluster.standbys = [0];
  a.put(newRow(0, 1));
  await cluster.pass(200);
  for (const rig of [a, b]) {
    cluster.kill(rig);
    cluster.database.leave(rig === a ? 'a' : 'b');
  }
  cluster.database.failOver('other');
  c.isConnected = true;
  await cluster.pass(PATIENCE_MS);
  assert.deepEqual([c.memory.state(), cluster.database.end], ['standby', 0]);
  assert.match(problemOf(c), /the log has no row, and the database was started.*found --new` once more/);
});

test('MAYTAKE-2: a leader that had a successor unknowingly does not go on in a database without it', async () => {
  const { cluster, a, b, c } = await threeMembers();
  a.put(newRow(0, 1));
  await cluster.pass(200);
  a.isConnected = false;
  cluster.standbys = [0];
  await cluster.pass(LEASE_MS * 2);
  const [next] = [b, c].filter(({ memory }) => memory.state() === 'leader');
  next!.put(newRow(0, 2));
  await cluster.pass(200);
  assert.equal(next!.memory.held(0), 2);
  b.isConnected = false;
  c.isConnected = false;
  cluster.database.failOver('other');
  cluster.standbys = [0, 1];
  assert.deepEqual([cluster.database.epoch, cluster.database.end], [1, 1]);
  a.put(newRow(0, 2));
  a.isConnected = true;
  await cluster.pass(PATIENCE_MS);
  assert.deepEqual([a.memory.held(0), cluster.database.end], [1, 1]);
  assert.match(a.lost.join(), /the database may have been set back/);
});

test('MAYTAKE-2: a leader goes on where the standby of the database with the most was promoted', async () => {
  const { cluster, a } = await threeMembers();
  a.put(newRow(0, 1));
  await cluster.pass(200);
  cluster.database.failOver();
  a.put(newRow(0, 2));
  await cluster.pass(LEASE_MS);
  assert.deepEqual([a.memory.state(), a.memory.epoch(), a.memory.held(0)], ['leader', 1, 2]);
});

test('MAYTAKE-1: the lead is taken when every other member has found what it has seen', async () => {
  const { cluster, a, c } = await threeMembers();
  a.put(newRow(0, 1));
  await cluster.pass(200);
  cluster.kill(a);
  cluster.database.failOver('other');
  await cluster.pass(PATIENCE_MS);
  assert.deepEqual(
    cluster.members.map(({ memory }) => memory.state()),
    ['standby', 'standby'],
  );
  assert.match(problemOf(c), /a has not said/);
  const again = cluster.add('a', [{ stream: 0, sequence: 1 }]);
  await cluster.pass(LEASE_MS);
  assert.equal(cluster.members.filter(({ memory }) => memory.state() === 'leader').length, 1);
  assert.deepEqual(again.lost, []);
});

test('the standby of the database with the most takes over: a lead is taken at once, whoever is silent', async () => {
  const { cluster, a, b } = await threeMembers();
  a.put(newRow(0, 1));
  await cluster.pass(200);
  cluster.kill(a);
  cluster.members.pop();
  cluster.database.failOver();
  await cluster.pass(LEASE_MS + 400);
  assert.deepEqual([b.memory.state(), cluster.database.epoch], ['leader', 2]);
});

test('a leader does not note that it leads on a run of the database that lacks what it holds', async () => {
  const { cluster, a } = await threeMembers();
  cluster.standbys = [0];
  a.put(newRow(0, 1));
  await cluster.pass(200);
  cluster.database.failOver('other');
  cluster.standbys = [0, 1];
  await cluster.pass(LEASE_MS);
  assert.match(a.lost.join(), /the log has lost the row at position 1/);
  const { run, ledOn } = cluster.database.runs('c', []);
  assert.notEqual(ledOn, run);
});

test('so many servers have each commit between them, whichever standbys it waited for', () => {
  assert.equal(serversNeeded('ANY 1 (s1, s2)', 3), 2);
  assert.equal(serversNeeded('ANY 1 (db1, db2, db3)', 3), 2, 'the primary does not wait for itself');
  assert.equal(serversNeeded('ANY 2 (db1, db2, db3)', 3), 1);
  assert.equal(serversNeeded('FIRST 1 (s1, s2)', 3), 2);
  assert.equal(serversNeeded('2 (a, b, c, d)', 5), 3);
  assert.equal(serversNeeded('s1, s2', 3), 2);
  assert.equal(serversNeeded('ANY 1 (*)', 3), 2);
  assert.equal(serversNeeded('*', 2), 1);
  assert.equal(serversNeeded('', 1), 1, 'a server alone');
});
