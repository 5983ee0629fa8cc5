/** A member of a cluster carries out changes or names who does (RULES.md 18.4 to 18.6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_MS = 1_790_000_000_000;

function rig() {
  const memory = new Replication(Replication.create(1));
  const clock = new ManualClock(START_MS);
  return { memory, clock, role: new MemberRole(memory, clock, clock) };
}

test('a standby refuses changes, names the leader it knows, and says how stale it is', () => {
  const { memory, clock, role } = rig();
  memory.setState('standby');
  assert.deepEqual(role.changeRefusal(), { row: ERRORS.NOT_MATCHING_LEADER, details: { leader: null } });
  assert.equal(role.lines(null), 'standby');
  assert.equal(role.staleMs, null, 'nothing is known before it has caught up');
  role.leader = { holder: 'b', address: 'http://192.0.2.2', epoch: 3 };
  role.asOfMs = START_MS;
  clock.advance(40);
  assert.equal(role.lines(START_MS), 'standby\r\nX-SVC-Stale-Ms: 40\r\nX-SVC-Leader: http://192.0.2.2');
  assert.deepEqual(role.changeRefusal()!.details, { leader: 'http://192.0.2.2' });
  assert.deepEqual([role.name, role.isLeading], ['standby', false]);
});

test('a leader carries changes out while the log takes rows (ROLE-1)', () => {
  const { memory, role } = rig();
  memory.setState('leader');
  memory.setRenewed(START_MS);
  assert.notEqual(role.changeRefusal(), null, 'the lease alone does not make it the leader');
  role.lead();
  assert.deepEqual(
    [role.changeRefusal(), role.lines(null), role.staleMs, role.isStalled],
    [null, 'leader', null, false],
  );
  memory.setState('stalled');
  assert.deepEqual([role.changeRefusal(), role.isStalled], [{ row: ERRORS.ENGINE_BUSY }, true]);
  memory.setState('leader');
  assert.equal(role.changeRefusal(), null);
  memory.setState('lost');
  assert.deepEqual(role.changeRefusal(), { row: ERRORS.ENGINE_BUSY }, 'until its process has ended');
});

test('what another member has carried out was signed before its last row came, clocks apart or not (ROLE-3)', () => {
  const { clock, role } = rig();
  role.noteChange();
  clock.advance(10_000);
  role.noteChange();
  const lastRowMs = clock.nowMs();
  clock.advance(1900);
  assert.equal(role.signedUntilMs, lastRowMs + 500);
  assert.ok(Math.floor(role.signedUntilMs / 1000) < Math.floor(clock.nowMs() / 1000), 'no takeover waits for it');
  role.noteFormerLead(lastRowMs - 300);
  assert.equal(role.signedUntilMs, lastRowMs + 500);
  role.noteFormerLead(lastRowMs + 300);
  assert.equal(role.signedUntilMs, lastRowMs + 800, 'it has led on, and may have accepted what changed nothing');
});

test('a clock that is set back makes neither a leader nor a standby newer than it is (ROLE-2, ROLE-4)', () => {
  const memory = new Replication(Replication.create(1));
  const times = { timeMs: () => clock.nowMs(), nowMs: () => steadyMs };
  const clock = new ManualClock(START_MS);
  let steadyMs = 0;
  const role = new MemberRole(memory, clock, memory.ages(times));
  role.asOfMs = memory.ages(times).nowMs();
  clock.advance(-3_600_000);
  steadyMs += 12_000;
  assert.deepEqual([role.staleMs, role.problem], [12_000, 'the replicated log is not confirmed to be up to date']);
  memory.setState('leader');
  memory.setRenewed(memory.ages(times).nowMs());
  role.lead();
  clock.advance(-3_600_000);
  steadyMs += 2500;
  assert.deepEqual([role.staleMs, role.changeRefusal()], [2500, { row: ERRORS.ENGINE_BUSY }]);
});

test('a leader whose lease may have ended carries out nothing, and is as stale as its last renewal (ROLE-4)', () => {
  const { memory, clock, role } = rig();
  memory.setState('leader');
  memory.setRenewed(START_MS);
  role.lead();
  clock.advance(2000);
  assert.deepEqual([role.changeRefusal(), role.lines(null), role.isStalled], [null, 'leader', false]);
  clock.advance(70);
  assert.deepEqual(role.changeRefusal(), { row: ERRORS.ENGINE_BUSY });
  assert.deepEqual([role.lines(null), role.isStalled], ['leader\r\nX-SVC-Stale-Ms: 2070', true]);
  assert.deepEqual(role.fields, { role: 'leader', stale_ms: 2070 });
  memory.setRenewed(START_MS + 2000);
  assert.deepEqual([role.changeRefusal(), role.lines(null), role.isStalled], [null, 'leader', false]);
});
