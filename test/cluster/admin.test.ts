/** The commands of an operator that ask the log itself, whether a member answers or not (data/docs/cluster.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterStatus, fenceCluster, foundEmpty, leave } from '../../engine/admin/cluster.ts';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { foundLog } from '../../engine/admin/clusterFound.ts';
import { AdminError } from '../../engine/admin/directory.ts';
import { NotAMemberError } from '../../engine/replication/log.ts';
import { PostgresLog } from '../../engine/replication/postgresLog.ts';
import { SQL } from '../../engine/replication/statements.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';

test('cluster status shows the members, and cluster fence ends a lead', { skip: NO_POSTGRES }, async () => {
  const url = await (await sharedPostgres()).database();
  const env = { JOURNAL_URL: url, CLUSTER_NAME: 'c' };
  const noLog = 'the log of the cluster cannot be opened: the database has no log';
  await assert.rejects(clusterStatus(env), new AdminError(noLog));
  const asMember = (holder: string) => {
    const address = `http://${holder}`;
    return PostgresLog.open({
      url,
      cluster: 'c',
      holder,
      address,
      version: '1',
      isUnreplicatedAllowed: false,
      isUnsyncedAllowed: true,
      facts: {},
      formats: FORMATS,
    });
  };
  const [a, b] = [await asMember('a'), await asMember('b')];
  try {
    const noCluster = 'the log of the cluster cannot be opened: the database has no cluster d';
    await assert.rejects(fenceCluster({ ...env, CLUSTER_NAME: 'd' }), new AdminError(noCluster));
    const [nothing, empty] = await clusterStatus(env);
    assert.equal(nothing, 'no member leads since epoch 0');
    assert.match(empty!, /^the log has the rows 0 to 0, \d+ bytes$/);
    const lead = await a.take(false);
    await a.append(lead!.epoch, 0, [{ stream: 0, sequence: 3, bytes: new Uint8Array(10) }]);
    await a.report(1);
    await b.report(0);
    const [head, ofA, ofB, leads, kept, server, s1, s2] = await clusterStatus(env);
    assert.match(head!, /^member +address +role +applied +behind +version +silent for/);
    assert.match(ofA!, /^a +http:\/\/a +leader +1 +1 /);
    assert.match(ofB!, /^b +http:\/\/b +standby +0 +1 +1 /);
    assert.equal(leads, 'a leads in epoch 1');
    assert.match(kept!, /^the log has the rows 1 to 1, \d+ bytes$/);
    assert.match(server!, /^the database is written at 127\.0\.0\.1:\d+$/);
    assert.match(s1!, /^its standby s1: streaming, quorum, \d+ bytes behind$/);
    assert.match(s2!, /^its standby s2: streaming, quorum, \d+ bytes behind$/);
    assert.deepEqual(await fenceCluster(env), ['a does not lead any more: epoch 1 has ended']);
    assert.equal(await a.renew(1), false);
    assert.equal((await clusterStatus(env))[3], 'no member leads since epoch 2');
    assert.notEqual(await b.take(false), null, 'another one may lead at once');
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
});

test('a leader, and a former one, is shown with the rows that it has, although rows are kept for it for a minute', {
  skip: NO_POSTGRES,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  const member = startMember(t, url, 'a');
  await member.becomes('leader');
  for (let sequence = 1; sequence <= 20; sequence++) member.put(newRow(0, sequence));
  await member.holds(0, 20);
  const shown = (): Promise<string[]> => clusterStatus({ JOURNAL_URL: url });
  const isWhole = async () => / leader +20 +/.test((await shown())[1]!);
  await eventually('what the leader has applied', isWhole);
  await member.kill();
  await eventually('the end of its lease', async () => / standby +20 +0 +/.test((await shown())[1]!));
  const watch = await openLog(t, url, 'watch');
  assert.equal(await watch.trim(), 0, 'they may not be on its disk yet');
});

test('cluster found --new makes a log without anything, once, and none beside files', {
  skip: NO_POSTGRES,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  const env = { JOURNAL_URL: url };
  assert.deepEqual(await foundEmpty(env), ['the cluster exchange has a log, without a row: start its members']);
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { id, end } = await a.history();
  assert.match(id!, /^[0-9a-f-]{36}$/);
  assert.equal(end, 0);
  assert.deepEqual([await a.beginner(), await b.beginner()], ['a', 'a'], 'one of them begins it');
  await assert.rejects(foundEmpty(env), new AdminError('there is a log already'));
  const { epoch } = (await a.take(false))!;
  await a.append(epoch, 0, [newRow(0, 1)]);
  await a.release(epoch);
  await a.replaceFact('founded on', (await a.history()).foundedOn, 'another run');
  await assert.rejects(foundEmpty(env), new AdminError('there is a log already'), 'someone has begun it');
  const other = { ...env, CLUSTER_NAME: 'other' };
  await a.read(SQL.reportHead, ['other', 'c', '', 'refused', '{}', '', '{}']);
  await assert.rejects(
    foundEmpty(other),
    new AdminError('there are files of an earlier log: name one of these members: c'),
  );
});

test('a cluster that goes on under another name is led no more under the former one', {
  skip: NO_POSTGRES,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  await foundEmpty({ JOURNAL_URL: url });
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { id } = await a.history();
  const { epoch } = (await a.take(false))!;
  await a.append(epoch, 0, [newRow(0, 1)]);
  const renamed = await openLog(t, url, 'a', { cluster: 'renamed' });
  const mark = { log: id, isLeader: true, own: null, last: null, leads: [], members: ['a'] };
  const heads = { mark, streams: { 0: { sequence: 1, head: '1:2', known: 1 } }, lacks: [] };
  await renamed.read(SQL.reportHead, ['renamed', 'a', id, 'refused', JSON.stringify(heads), 'digest', '{}']);
  const found = () =>
    foundLog(renamed, { cluster: 'renamed', founder: 'a', without: [], isRefill: false }).catch((error) => error);
  assert.deepEqual(await found(), new AdminError('a still leads this log as the cluster exchange: stop it first'));
  await a.release(epoch);
  assert.match((await found())[0], /the log goes on from what a has: shard 0 after record 1/);
  assert.equal(await b.take(false), null);
  assert.equal(await b.take(true), null, 'not by force either');
  assert.equal(await a.append(epoch, 1, [newRow(0, 2)]), false);
  const line = 'the cluster exchange goes on as renamed: this member needs CLUSTER_NAME=renamed';
  await assert.rejects(openLog(t, url, 'c'), new NotAMemberError(line));
  const status = await clusterStatus({ JOURNAL_URL: url });
  assert.ok(status.includes('the cluster goes on as renamed: no member leads under this name any more'));
  const { lines, isWell } = await examine({ JOURNAL_URL: url, JOURNAL_UNSYNCED: 'on' }, systemClock);
  assert.ok(lines.includes('wrong  the cluster exchange goes on as renamed: no member leads under this name'));
  assert.equal(isWell, false);
  assert.equal((await renamed.take(false))?.end, 0, 'the other one is led');
});

test('a member that leaves no longer keeps rows in the log, once it is gone', { skip: NO_POSTGRES }, async (t) => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const env = { JOURNAL_URL: url };
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { epoch } = (await a.take(false))!;
  await a.append(epoch, 0, [newRow(0, 1), newRow(0, 2), newRow(0, 3)]);
  await a.report(3);
  await b.report(1);
  await assert.rejects(leave(env, 'b'), new AdminError('b is there: stop it, and wait 10 s'));
  await assert.rejects(leave(env, 'c'), new AdminError('the cluster has no member c'));
  await postgres.primary.query(
    "UPDATE exchange_member SET seen_at = seen_at - interval '1 minute' WHERE holder = 'b'",
    url.slice(url.lastIndexOf('/') + 1),
  );
  assert.equal(await a.trim(), 1, 'the second row is kept for it');
  assert.deepEqual(await leave(env, 'b'), ['b keeps no rows in the log any more; should it come back, it joins anew']);
  assert.equal(await a.trim(), 1);
  assert.deepEqual(
    (await a.readAfter(0, 1000)).rows.map(({ sequence }) => sequence),
    [3],
    'the last row of a stream stays',
  );
  assert.deepEqual(
    (await a.facts()).members.map(({ holder }) => holder),
    ['a'],
  );
});

test('without the address of a log, or with one where there is none, the commands say so', async () => {
  await assert.rejects(clusterStatus({}), new AdminError('JOURNAL_URL: set it to the database of the log'));
  const nowhere = { JOURNAL_URL: 'postgres://exchange@127.0.0.1:1/log' };
  assert.throws(() => leave(nowhere, ''), new AdminError('cluster leave: name the member that will not come back'));
  await assert.rejects(fenceCluster(nowhere), /^AdminError: the log of the cluster cannot be opened: /);
});
