/** Reads that take a while at a standby say how new the state is in which they began (RULES.md 18.4, ROLE-2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import { PastAge } from '../../../../gateway/base/pastAge.ts';
import type { Call } from '../../../../gateway/http/call.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_MS = 1_790_000_000_000;
const PATH = '/orders/1';

test('what a standby has read is no newer because the standby, or its role, is before the answer leaves', async (t) => {
  const memory = new Replication(Replication.create(1));
  const clock = new ManualClock(START_MS);
  const role = new MemberRole(memory, clock, clock);
  /** Reads whose rows are still to come. */
  const waiting: Call[] = [];
  const handler = (call: Call): void => void waiting.push(call);
  const read: Route = {
    method: 'GET',
    path: PATH,
    summary: '',
    access: 'public',
    limit: 'unlimited',
    answers: {},
    handler,
  };
  const { send } = await startEdge(t, [read], [], { role, clock });
  const begin = async (): Promise<{ answer: ReturnType<typeof send> }> => {
    const answer = send('GET', PATH);
    await eventually('the read', async () => waiting.length === 1);
    return { answer };
  };
  const end = async ({ answer }: { answer: ReturnType<typeof send> }): Promise<readonly unknown[]> => {
    ok(waiting.shift()!, {});
    const { headers } = await answer;
    return [headers['x-svc-role'], headers['x-svc-stale-ms']];
  };

  role.asOfMs = START_MS - 3000;
  const early = await begin();
  clock.advance(20);
  role.asOfMs = START_MS + 15;
  assert.deepEqual(await end(early), ['standby', '3020'], 'it has caught up meanwhile');

  const last = await begin();
  clock.advance(50);
  memory.setState('leader');
  memory.setRenewed(clock.nowMs());
  role.lead();
  assert.deepEqual(await end(last), ['standby', '55'], 'it leads meanwhile');
  assert.deepEqual(await end(await begin()), ['leader', undefined]);
});

test('an answer from read.db says how new that is, and one of an unknown age says nothing', async (t) => {
  const clock = new ManualClock(START_MS);
  const role = new MemberRole(new Replication(Replication.create(1)), clock, clock);
  const handler = (call: Call): void => {
    call.readsPast();
    ok(call, {});
  };
  const access = 'public' as const;
  const read: Route = { method: 'GET', path: PATH, summary: '', access, limit: 'unlimited', answers: {}, handler };
  const { send } = await startEdge(t, [read], [], { role, clock });
  const staleMs = async (): Promise<unknown> => (await send('GET', PATH)).headers['x-svc-stale-ms'];

  const progress = new Progress(Progress.create(1));
  let sequence = 3;
  role.past = new PastAge(progress, { shownSequence: () => sequence }, { revisions: { current: 0 } });
  role.asOfMs = START_MS - 900;
  assert.equal(await staleMs(), undefined, 'the projector is still behind');
  progress.setProjected(0, 3);
  assert.equal(await staleMs(), '900');
  sequence = 4;
  role.asOfMs = START_MS - 10;
  assert.equal(await staleMs(), '900', 'the views are newer');
  progress.setProjected(0, 4);
  assert.equal(await staleMs(), '10');
});
