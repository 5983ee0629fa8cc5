/** The log of slow requests (RULES.md 10.24). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../../../gateway/http/call.ts';
import { SlowRequests } from '../../../../gateway/http/slowRequests.ts';

const CALL = {
  id: '0123456789abcdef',
  method: 'POST',
  path: '/v1/orders/secret-in-the-path',
  rawQuery: 'token=secret',
  route: { method: 'POST', path: '/v1/orders/:hash' },
  status: 200,
  principal: { kind: 'apiKey', accountIndex: 7, userId: 'user-7', keyId: 'key-secret' },
  aborted: false,
  moments: { arrivedUs: 1000, completeUs: 1250, identifiedUs: 1300, handledUs: 1400, answeredUs: 2_001_400 },
} as unknown as Call;

function rig(thresholdMs: number) {
  const lines: Record<string, unknown>[] = [];
  const clock = { nowMs: 5000 };
  const warn = ((facts: Record<string, unknown>) => lines.push(facts)) as never;
  const slow = new SlowRequests(thresholdMs, { warn }, () => clock.nowMs);
  return { slow, lines, clock };
}

test('a request over the threshold is logged with its stages, and with nothing that it sent', () => {
  const { slow, lines } = rig(500);
  slow.ended(CALL, 0.4999);
  assert.deepEqual(lines, []);
  slow.ended(CALL, 2.0005);
  assert.deepEqual(lines, [
    {
      request_id: '0123456789abcdef',
      method: 'POST',
      route: '/v1/orders/:hash',
      status: 200,
      user: 'user-7',
      took_ms: 2000.5,
      stages_ms: { receive: 0.25, identify: 0.05, validate: 0.1, handle: 2000, answer: 0.1 },
    },
  ]);
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
});

test('a threshold of 0 logs nothing; a request that came to no answer has the stages until then', () => {
  const never = rig(0);
  never.slow.ended(CALL, 1e6);
  assert.deepEqual(never.lines, []);
  const { slow, lines } = rig(1);
  const gone = { ...CALL, id: 'x', aborted: true, status: 0, route: null, principal: { kind: 'anonymous' } };
  const moments = { ...CALL.moments, identifiedUs: 0, handledUs: 0, answeredUs: 0 };
  slow.ended({ ...gone, moments } as unknown as Call, 3);
  assert.deepEqual(lines, [
    {
      request_id: 'x',
      method: 'none',
      route: null,
      status: 0,
      aborted: true,
      took_ms: 3000,
      stages_ms: { receive: 0.25, answer: 2999.75 },
    },
  ]);
});

test('SLOW-1: ten lines a second at most, and the next line says how many were left out', () => {
  const { slow, lines, clock } = rig(1);
  for (let index = 0; index < 25; index++) slow.ended(CALL, 1);
  assert.equal(lines.length, 10);
  clock.nowMs += 1000;
  slow.ended(CALL, 1);
  slow.ended(CALL, 1);
  assert.deepEqual(
    lines.slice(10).map(({ left_out }) => left_out),
    [15, undefined],
  );
});
