/** Every gateway thread of a member says the same of its role (RULES.md 18.4, 18.5). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { MOST_ADDRESS_BYTES } from '../../../../gateway/base/clusterSettings.ts';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import { ShownRole } from '../../../../gateway/base/shownRole.ts';
import { systemClock } from '../../../../shared/base/clock.ts';
import { STRIPPED_BEFORE } from '../../../../shared/base/stripTypes.ts';
import { LEASE_MS, Replication } from '../../../../shared/wire/replication.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import type { RoleThreadOptions } from '../../../support/roleThread.ts';

const START_MS = 1_790_000_000_000;
const LONGEST = `https://${'l'.repeat(MOST_ADDRESS_BYTES - 'https://'.length)}`;
const ADDRESSES = ['http://192.0.2.1:8080', LONGEST, 'http://[2001:db8::1]'];
const WRITES = 20_000;

function rig() {
  const memory = new Replication(Replication.create(1));
  const clock = new ManualClock(START_MS);
  const role = new MemberRole(memory, clock, clock);
  const elsewhere = new ShownRole(role.buffers.role, new Replication(role.buffers.replication), clock);
  return { memory, clock, role, elsewhere };
}

test('another thread says what the main one says, whatever becomes of the member', () => {
  const { memory, clock, role, elsewhere } = rig();
  const assertSame = (expected: string): void => {
    assert.deepEqual([role.lines(role.asOfMs), elsewhere.lines(elsewhere.asOfMs)], [expected, expected]);
    assert.deepEqual([elsewhere.staleMs, elsewhere.isLeading], [role.staleMs, role.isLeading]);
  };
  assertSame('standby');
  for (const address of ADDRESSES) {
    role.leader = { holder: 'b', address, epoch: 3 };
    assertSame(`standby\r\nX-SVC-Leader: ${address}`);
  }
  role.asOfMs = START_MS;
  clock.advance(40);
  assertSame(`standby\r\nX-SVC-Stale-Ms: 40\r\nX-SVC-Leader: ${ADDRESSES.at(-1)}`);
  role.leader = null;
  assertSame('standby\r\nX-SVC-Stale-Ms: 40');
  memory.setState('leader');
  memory.setRenewed(clock.nowMs());
  role.lead();
  assertSame('leader');
  clock.advance(LEASE_MS + 7);
  assertSame(`leader\r\nX-SVC-Stale-Ms: ${LEASE_MS + 7}`);
});

test('SHOWNROLE-1: an address that is replaced while it is read is read as one or the other', async (t) => {
  const { role } = rig();
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const workerData: RoleThreadOptions = { ...role.buffers, ended };
  const url = new URL('../../../support/roleThread.ts', import.meta.url);
  const thread = new Worker(url, { workerData, execArgv: STRIPPED_BEFORE });
  t.after(() => thread.terminate());
  await once(thread, 'message');
  for (let write = 0; write < WRITES; write++) {
    const address = ADDRESSES[write % ADDRESSES.length]!;
    role.leader = { holder: 'b', address, epoch: write };
  }
  const answer = once(thread, 'message');
  Atomics.store(ended, 0, 1);
  const [seen] = (await answer) as [(string | null)[]];
  for (const address of seen) assert.ok(address === null || ADDRESSES.includes(address), String(address));
  assert.equal(new ShownRole(role.buffers.role, { renewedMs: () => 0 }, systemClock).leaderAddress, ADDRESSES[1]);
});
