/** The administrator's routes of a cluster: a real member and, as the other one, a replication thread alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdminClient } from '../../shared/client/admin.ts';
import type { ClusterState } from '../../shared/client/types.ts';
import { startCluster } from '../support/cluster.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const SHARDS = { SHARDS: '2' };

async function operatorOf(server: TestServer, role: 'viewer' | 'treasury'): Promise<AdminClient> {
  const { token } = await server.admin.createOperator({ name: role, roles: [role] });
  return new AdminClient({ baseUrl: server.baseUrl, token, retry: false });
}

test('an exchange on one machine has no cluster to show, and no lead to hand over', async (t) => {
  const server = await startServer(t, SHARDS);
  const message = 'this exchange is no member of a cluster';
  for (const [method, path] of [
    ['GET', '/admin/cluster'],
    ['POST', '/admin/cluster/promote'],
  ] as const) {
    const { status, body } = await server.adminRequest(method, path, method === 'POST' ? {} : undefined);
    assert.deepEqual([status, body.code, body.error], [404, 'NOT_FOUND', message]);
  }
  assert.equal((await server.admin.operations()).cluster, null);
});

test('a leader shows the cluster to viewers, and hands over for a superuser alone', { skip }, async (t) => {
  const cluster = await startCluster(t, ['a']);
  const { leader } = cluster;
  const url = leader.env['JOURNAL_URL']!;
  const alone = await eventually('a state with the database', async () => {
    const state = await leader.admin.cluster();
    return state.database !== null && state.members.length === 1 && state;
  });
  assert.deepEqual([alone.member, alone.role, alone.leader?.address], ['a', 'leader', leader.baseUrl]);
  assert.deepEqual(
    alone.database?.standbys.map(({ name, state, sync_state }) => [name, state, sync_state]),
    [
      ['s1', 'streaming', 'quorum'],
      ['s2', 'streaming', 'quorum'],
    ],
  );
  const promote = (body: unknown) => leader.adminRequest('POST', '/admin/cluster/promote', body);
  const refusals: [unknown, number, string, RegExp][] = [
    [{}, 409, 'CONFLICT', /^no standby answers that could lead$/],
    [{ member: 'x' }, 409, 'CONFLICT', /^there is no member x: the members are a$/],
    [{ member: 7 }, 400, 'VALIDATION_ERROR', /member/],
    [{ member: 'y'.repeat(64) }, 400, 'VALIDATION_ERROR', /member/],
  ];
  for (const [body, status, code, text] of refusals) {
    const answer = await promote(body);
    assert.deepEqual([answer.status, answer.body.code], [status, code]);
    assert.match(answer.body.error, text);
  }
  const viewer = await operatorOf(leader, 'viewer');
  assert.equal((await viewer.cluster()).epoch, alone.epoch);
  await assert.rejects(viewer.promote('a'), { status: 403 });
  await assert.rejects((await operatorOf(leader, 'treasury')).promote('a'), { status: 403 });
  assert.deepEqual(await leader.admin.promote('a'), { member: 'a', leads: true });

  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  const both: ClusterState = await eventually('a standby that has reported', async () => {
    const state = await leader.admin.cluster();
    return state.members.length === 2 && state;
  });
  assert.deepEqual(
    both.members.map(({ member, role }) => [member, role]),
    [
      ['a', 'leader'],
      ['b', 'standby'],
    ],
  );
  const headers = { authorization: `Bearer ${leader.adminToken}` };
  const metrics = await (await fetch(`${leader.baseUrl}/metrics`, { headers })).text();
  assert.match(metrics, /exchange_cluster_member_info\{member="b",version="1\.0\.0"\} 1/);
  const ended = leader.expectEnd();
  assert.deepEqual(await leader.admin.promote(), { member: 'b', leads: false });
  assert.equal(await ended, 75);
  await b.becomes('leader');
});
