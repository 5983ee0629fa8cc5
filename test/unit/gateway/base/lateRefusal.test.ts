/** A leader whose lease may have ended still sends some answers (RULES.md 18.14). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import type { Call } from '../../../../gateway/http/call.ts';
import { ok, refuse } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { LEASE_MS, Replication } from '../../../../shared/wire/replication.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_MS = 1_790_000_000_000;
const LATE_MS = 70;
const PATH = '/orders';

test('a refusal that was on its way when the lease ended leaves, and says how stale it may be', async (t) => {
  const memory = new Replication(Replication.create(1));
  const clock = new ManualClock(START_MS);
  const role = new MemberRole(memory, clock, clock);
  memory.setState('leader');
  memory.setRenewed(START_MS);
  role.lead();
  /** Requests that have reached the shard. */
  const sent: Call[] = [];
  const handler = (call: Call): void => void sent.push(call);
  const place: Route = {
    method: 'POST',
    path: PATH,
    summary: '',
    access: 'public',
    limit: 'unlimited',
    answers: {},
    handler,
  };
  const { send } = await startEdge(t, [place], [], { role, clock });

  const waiting = [send('POST', PATH), send('POST', PATH)];
  await eventually('both requests', async () => sent.length === 2);
  ok(sent[0]!, {});
  const answered = await Promise.race(waiting);
  assert.deepEqual([answered.headers['x-svc-role'], answered.headers['x-svc-stale-ms']], ['leader', undefined]);

  clock.advance(LEASE_MS + LATE_MS);
  refuse(sent[1]!, { row: ERRORS.INSUFFICIENT_BALANCE });
  const [, refused] = (await Promise.all(waiting)).toSorted((a, b) => a.status - b.status);
  assert.deepEqual([refused!.status, refused!.body.code], [400, 'INSUFFICIENT_BALANCE']);
  assert.deepEqual(
    [refused!.headers['x-svc-role'], refused!.headers['x-svc-stale-ms']],
    ['leader', String(LEASE_MS + LATE_MS)],
    'a successor might have decided otherwise',
  );
  const next = await send('POST', PATH);
  assert.deepEqual([next.status, next.body.code, sent.length], [503, 'ENGINE_BUSY', 2], 'nothing else reaches a shard');
});
