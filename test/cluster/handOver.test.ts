/** Handing the lead over in order, as `admin cluster promote` asks for it (engine/replication/handOver.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promote } from '../../engine/admin/cluster.ts';
import { AdminError } from '../../engine/admin/directory.ts';
import { startCluster } from '../support/cluster.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_124);
const inSoakOnly =
  skip || (timesOf({ suite: 0, soak: 1 }) === 0 && 'a cluster of processes takes long: only in the soak');

async function emptyLog(): Promise<string> {
  return (await sharedPostgres()).database();
}

test('the lead goes to the member that is named, with every row, and the leader ends', { skip }, async (t) => {
  const url = await emptyLog();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const [b, c] = [startMember(t, url, 'b'), startMember(t, url, 'c')];
  await Promise.all([b.becomes('standby'), c.becomes('standby')]);
  const promoting = promote({ JOURNAL_URL: url }, 'c', false);
  for (let sequence = 1; sequence <= 100; sequence++) a.put(newRow(0, sequence));
  assert.equal(await eventually('the leader is asked to end', async () => a.handedOver), 'c');
  for (let sequence = 101; sequence <= 150; sequence++) a.put(newRow(0, sequence));
  await a.stop();
  assert.deepEqual(await promoting, ['c leads in epoch 2, at http://c:8080']);
  assert.equal(c.rows.length, 150, 'what the leader has put in before its end is there');
  assert.deepEqual(await promote({ JOURNAL_URL: url }, 'c', false), ['c leads already, in epoch 2']);
  assert.equal(b.memory.state(), 'standby');
});

test('without a leader the lease waits for the member that is named', { skip }, async (t) => {
  const url = await emptyLog();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const [b, c] = [startMember(t, url, 'b'), startMember(t, url, 'c')];
  await Promise.all([b.becomes('standby'), c.becomes('standby')]);
  const log = await openLog(t, url, 'operator');
  await a.kill();
  assert.deepEqual(await promote({ JOURNAL_URL: url }, 'c', false), ['c leads in epoch 2, at http://c:8080']);
  await c.kill();
  // If that member is gone as well, any other leads once the lease has been over for long enough.
  await log.askHandOver({ epoch: 2, to: 'c', isForced: false });
  await b.becomes('leader');
});

test('a leader that does not hand over loses the lead to a member that takes it at once', { skip }, async (t) => {
  const url = await emptyLog();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  const log = await openLog(t, url, 'operator');
  await eventually('it reports', async () => (await log.facts()).members.length === 2);
  assert.deepEqual(await promote({ JOURNAL_URL: url }, null, true), ['b leads in epoch 2, at http://b:8080']);
  await a.becomes('lost');
  assert.equal(a.handedOver, undefined, 'it was not asked');
});

test('a hand-over is refused to a member that is unknown, silent or far behind, and changes nothing', {
  skip,
}, async (t) => {
  const url = await emptyLog();
  const env = { JOURNAL_URL: url };
  const a = await openLog(t, url, 'a');
  const { epoch } = (await a.take(false))!;
  await a.report(0);
  await assert.rejects(promote(env, 'x', false), new AdminError('there is no member x: the members are a'));
  await assert.rejects(promote(env, null, false), new AdminError('no standby answers that could lead'));

  const b = await openLog(t, url, 'b');
  /** It reports all the time, as members do. */
  const ofB = { position: 0, hasRoom: true };
  const report = () => b.report(ofB.position, { hasRoom: ofB.hasRoom });
  const reporting = setInterval(() => void report().catch(() => {}), 200);
  t.after(() => clearInterval(reporting));
  await report();
  const rows = Array.from({ length: 5001 }, (_, index) => newRow(0, index + 1, 1));
  await a.append(epoch, 0, rows);
  await assert.rejects(promote(env, 'b', false), new AdminError('b is 5001 rows behind the end of the log'));
  Object.assign(ofB, { position: 1, hasRoom: false });
  await report();
  await assert.rejects(promote(env, null, false), new AdminError('no standby has room on its disk'));
  await assert.rejects(promote(env, 'b', false), new AdminError('the disk of b is nearly full'));
  ofB.hasRoom = true;
  await report();
  clearInterval(reporting);
  // It reports and is asked, and the member's process does not answer.
  const unready = 'b is not ready to lead: it has not accepted, and nothing was changed';
  await assert.rejects(promote(env, 'b', false), new AdminError(unready));
  assert.equal((await a.facts()).handOver, null);
  await assert.rejects(promote(env, 'b', false), /^AdminError: b has not answered for \d+ s$/);
  assert.equal(await a.renew(epoch), true, 'a leads as before');
});

test('a hand-over that is underway is not turned to another member, and one of another lead is forgotten', {
  skip,
}, async (t) => {
  const url = await emptyLog();
  const [a, b, c] = [await openLog(t, url, 'a'), await openLog(t, url, 'b'), await openLog(t, url, 'c')];
  const { epoch } = (await a.take(false))!;
  const toB = { epoch, to: 'b', isForced: false };
  assert.equal(await a.askHandOver(toB), true);
  await c.acceptHandOver(epoch);
  assert.equal((await a.facts()).handOver?.isAccepted, false, 'only the member that is named accepts');
  await b.acceptHandOver(epoch);
  assert.equal(await a.askHandOver({ ...toB, to: 'c' }), false);
  assert.equal(await a.withdrawHandOver(toB), false, 'the leader may have ended by now');
  await a.release(epoch);
  assert.equal(await c.take(false), null, 'the lease waits for the other one');
  assert.equal((await b.take(false))!.epoch, 2);
  assert.equal((await a.facts()).handOver, null);
  assert.equal(await a.askHandOver({ epoch: 2, to: 'c', isForced: false }), true);
});

test(`a cluster under load hands its lead over and loses nothing (SEED=${SEED})`, { skip: inSoakOnly }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const witness = await Witness.create(cluster, SEED);
  const env = { JOURNAL_URL: cluster.leader.env['JOURNAL_URL']! };
  const former = cluster.leader;
  const [next] = cluster.standbys;
  const ended = former.expectEnd();
  let promoting: Promise<string[]> | undefined;
  await witness.trade({
    commands: 100,
    onAnswer: (answered) => {
      if (answered === 30) promoting = promote(env, 'b', false);
    },
  });
  assert.deepEqual(await promoting, [`b leads in epoch 2, at ${next!.baseUrl}`]);
  assert.equal(await ended, 75, 'npm start begins it anew as a standby');
  await cluster.awaitLeader([next!]);
  await witness.check();
  await cluster.rejoin(former);
});
