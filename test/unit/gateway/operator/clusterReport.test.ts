/** The cluster as one of its members shows it: to administrators, on the operations page, and as metrics. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answeringMembers,
  answeringStandbys,
  clusterState,
  syncedStandbys,
} from '../../../../gateway/operator/clusterReport.ts';
import type { ReplicationStatus } from '../../../../shared/wire/threads.ts';

const MEMBER = {
  version: '1.0.0',
  formats: 'control=23-24 journal=3-3',
  hasRoom: true,
  filesProblem: '',
  silentMs: 400,
};
const STATUS: ReplicationStatus = {
  leader: { holder: 'a', address: 'http://a', epoch: 4 },
  start: 7,
  end: 1000,
  logBytes: 5000,
  members: [
    { ...MEMBER, holder: 'a', address: 'http://a', position: 600 },
    { ...MEMBER, holder: 'b', address: 'http://b', position: 990 },
    { ...MEMBER, holder: 'c', address: 'http://c', position: 8, silentMs: 60_000 },
  ],
  handOver: { epoch: 4, to: 'b', isForced: false, isAccepted: true },
  place: null,
  database: {
    server: 'one:5432',
    standbys: [
      { name: 's1', state: 'streaming', syncState: 'quorum', behindBytes: 0 },
      { name: 's2', state: 'catchup', syncState: 'quorum', behindBytes: 9000 },
      { name: 'report', state: 'streaming', syncState: 'async', behindBytes: 1 },
    ],
  },
  formats: { formats: 'control=23 journal=3', raised: 'control=24' },
  waitingRows: 2,
  waitingBytes: 300,
  oldestWaitMs: 1500,
  appendMs: 2,
  problem: null,
  filesProblem: '',
};

test('a member shows who leads, and how far each standby is; a leader itself is never behind', () => {
  const state = clusterState('a', { name: 'leader', epoch: 4, staleMs: null, status: STATUS });
  assert.deepEqual([state.member, state.role, state.epoch, state.stale_seconds], ['a', 'leader', 4, null]);
  assert.deepEqual(state.leader, { member: 'a', address: 'http://a', epoch: 4 });
  assert.deepEqual(state.hand_over, { member: 'b', accepted: true });
  assert.deepEqual(
    state.members.map(({ member, role, behind_rows }) => [member, role, behind_rows]),
    [
      ['a', 'leader', null],
      ['b', 'standby', 10],
      ['c', 'standby', 992],
    ],
  );
  assert.deepEqual(state.formats, [
    { layout: 'control', written: 23, next: 24 },
    { layout: 'journal', written: 3, next: 3 },
  ]);
  assert.deepEqual(state.members[1]?.reads, [
    { layout: 'control', newest: 24 },
    { layout: 'journal', newest: 3 },
  ]);
  assert.deepEqual([state.log.oldest_wait_seconds, state.log.append_seconds], [1.5, 0.002]);
  assert.equal(state.database?.standbys[1]?.behind_bytes, 9000);
});

test('before the log was read a member shows that it knows nothing', () => {
  const state = clusterState('b', { name: 'standby', epoch: 0, staleMs: 250, status: null });
  assert.deepEqual([state.leader, state.database, state.hand_over, state.members], [null, null, null, []]);
  assert.deepEqual([state.stale_seconds, state.log.last_position], [0.25, 0]);
});

test('only members that answer count as standbys, and only servers that commits wait for', () => {
  assert.deepEqual(
    answeringMembers(STATUS).map(({ holder }) => holder),
    ['a', 'b'],
  );
  assert.equal(answeringStandbys(STATUS), 1);
  assert.equal(answeringStandbys({ ...STATUS, leader: null }), 2);
  assert.equal(syncedStandbys(STATUS), 1);
});

test('of a database whose servers may not be seen their number is not known', () => {
  const hidden = { name: 's1', state: null, syncState: null, behindBytes: null };
  assert.equal(syncedStandbys({ ...STATUS, database: { server: 'one:5432', standbys: [hidden] } }), null);
  assert.equal(syncedStandbys({ ...STATUS, database: { server: 'one:5432', standbys: [] } }), 0);
  assert.equal(syncedStandbys({ ...STATUS, database: null }), null);
});
