/** A former leader against the fence, in every order of its append and a take-over, and unknown outcomes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { SQL } from '../../engine/replication/statements.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip, startPostgres } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';

type Query = (sql: string) => Promise<Record<string, unknown>[]>;
const APPEND = [[0], [1], [1], [4], Buffer.from([1, 2, 3, 4])];

async function twoMembers(t: { after(cleanUp: () => void | Promise<void>): void }) {
  const cluster = await sharedPostgres();
  const url = await cluster.database();
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  assert.equal((await a.take(false))!.epoch, 1);
  const name = url.slice(url.lastIndexOf('/') + 1);
  const client = new Client({ connectionString: cluster.urlOf(name, [cluster.primary]) });
  client.on('error', () => {});
  await client.connect();
  // Runs even after a failure: otherwise the file would not end.
  t.after(() => client.end());
  const waits = (): Promise<unknown> =>
    eventually('a statement that waits for the other', async () => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND wait_event_type = 'Lock'`;
      return (await cluster.primary.query(sql)).length > 0;
    });
  const [leader] = await cluster.primary.query('SELECT lead FROM exchange_leader', name);
  return { a, b, client, waits, lead: leader!['lead'], query: (sql: string) => cluster.primary.query(sql, name) };
}

for (const end of ['COMMIT', 'ROLLBACK'] as const) {
  test(`CLUSTERLOG-2: the lease waits for an append that is underway: ${end}`, { skip }, async (t) => {
    const { a, b, client, waits, lead } = await twoMembers(t);
    await client.query('BEGIN');
    await client.query(SQL.append.text, ['exchange', 1, 0, ...APPEND, lead]);
    const taking = b.take(true);
    await waits();
    await client.query(end);
    const taken = (await taking)!;
    assert.deepEqual([taken.epoch, taken.end], [2, end === 'COMMIT' ? 1 : 0]);
    assert.notEqual(taken.lead, lead, 'a lead has a name of its own');
    assert.equal(await a.append(1, end === 'COMMIT' ? 1 : 0, [newRow(0, 2)]), false);
  });

  test(`CLUSTERLOG-2: an append waits for a lease that is being taken: ${end}`, { skip }, async (t) => {
    const { a, b, client, waits } = await twoMembers(t);
    await client.query('BEGIN');
    await client.query(SQL.take.text, ['exchange', 'c', 'http://c:8080', 2000, true, 0, 7, null, null, null, null]);
    const appending = a.append(1, 0, [newRow(0, 1)]);
    await waits();
    await client.query(end);
    assert.equal(await appending, end === 'ROLLBACK');
    assert.equal((await b.readAfter(0, 1000)).rows.length, end === 'ROLLBACK' ? 1 : 0);
    assert.equal((await a.resolve(1, 0)).isLeader, end === 'ROLLBACK');
  });
}

test('CLUSTERLOG-2: of two leads with one epoch, after a failover that has lost the first, one can write', {
  skip,
}, async (t) => {
  const { a, b, query } = await twoMembers(t);
  const [before] = await query('SELECT epoch, lead, holder, address FROM exchange_leader');
  const { epoch } = (await b.take(true))!;
  assert.equal(await b.append(epoch, 0, [newRow(0, 1)]), true);
  // The state of a promoted server that lacks the rows of b.
  await query('DELETE FROM exchange_log');
  await query(`UPDATE exchange_leader SET epoch = ${before!['epoch']}, lead = ${before!['lead']}, holder = 'a'`);
  const taken = (await a.take(true))!;
  assert.deepEqual([taken.epoch, taken.end], [epoch, 0]);
  assert.equal(await b.append(epoch, 0, [newRow(0, 1)]), false);
  assert.equal(await b.renew(epoch), false);
  assert.equal((await b.resolve(epoch, 0)).isLeader, false);
  await b.release(epoch);
  assert.ok((await a.lease()).expiresInMs > 0, 'the lease of the other one goes on');
  assert.equal(await a.append(epoch, 0, [newRow(0, 1, 8)]), true);
  assert.notEqual((await a.nameAt(1))!.lead, 0, 'its rows can be told from those of the other');
});

test('a renewal never waits for an append', { skip }, async (t) => {
  const { a, client, lead } = await twoMembers(t);
  await client.query('BEGIN');
  await client.query(SQL.append.text, ['exchange', 1, 0, ...APPEND, lead]);
  assert.equal(await a.renew(1), true);
  await client.query('COMMIT');
});

async function waitingBackend(query: Query): Promise<number> {
  return eventually('a commit that waits for the standbys', async () => {
    const [row] = await query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    return row === undefined ? false : (row.pid as number);
  });
}

test('a commit that did not wait for the standbys is not held until a later one did', { skip }, async (t) => {
  const cluster = await startPostgres(t);
  const a = startMember(t, await cluster.database(), 'a');
  await a.becomes('leader');
  const query: Query = (sql) => cluster.primary.query(sql);
  let sequence = 0;
  for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) {
    for (const standby of cluster.standbys) standby.hang();
    a.put(newRow(0, ++sequence));
    const pid = await waitingBackend(query);
    await query(`SELECT ${end}(${pid})`);
    await eventually('another commit waits', async () => {
      const [row] = await query("SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      return row!.waiting === 1 && a.memory.held(0) < sequence;
    });
    assert.equal(a.memory.held(0), sequence - 1);
    for (const standby of cluster.standbys) standby.goOn();
    await a.holds(0, sequence);
  }
  assert.equal(a.memory.epoch(), 1);
});

test('while no standby answers the leader stalls, and goes on when one is back', { skip }, async (t) => {
  const cluster = await startPostgres(t);
  const a = startMember(t, await cluster.database(), 'a');
  await a.becomes('leader');
  for (const standby of cluster.standbys) standby.hang();
  a.put(newRow(0, 1));
  await eventually('it is stalled', async () => a.memory.state() === 'stalled');
  assert.equal(a.memory.held(0), 0);
  cluster.standbys[0]!.goOn();
  await a.holds(0, 1);
  await a.becomes('leader');
  cluster.standbys[1]!.goOn();
});

test('a server that takes what is sent and never answers is given up for the promoted one', { skip }, async (t) => {
  const cluster = await startPostgres(t);
  const a = startMember(t, await cluster.database(), 'a');
  await a.becomes('leader');
  a.put(newRow(0, 1));
  await a.holds(0, 1);
  const former = cluster.primary;
  former.hang();
  a.put(newRow(0, 2));
  await cluster.promote(false);
  await a.holds(0, 2);
  assert.notEqual(cluster.primary, former);
});
