/** The stages after the identity, for a call that a front thread has read (gateway/front/readByFront.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Authenticator } from '../../../../gateway/access/authenticator.ts';
import { NonceMemory } from '../../../../gateway/access/nonces.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import type { Passage, ReadByFront } from '../../../../gateway/http/call.ts';
import { RequestHeaders } from '../../../../gateway/http/headers.ts';
import { RequestMeters } from '../../../../gateway/http/requestMeters.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import { type Route, route } from '../../../../gateway/http/route.ts';
import { Stages, toRow } from '../../../../gateway/http/stages.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const BODY = '{"n":1}';
const NONE_AHEAD = { aheadBeforeStart: () => 0, acceptedAhead: () => undefined };
const SPEC = {
  method: 'POST',
  path: '/place',
  summary: '',
  access: 'trade:orders',
  limit: 'placeOrder',
  body: { type: 'object', properties: {} },
  answers: {},
} as const;

const stages = new Stages(
  {
    config: { trustProxy: null },
    authenticator: new Authenticator({ find: () => undefined }, new NonceMemory(0, NONE_AHEAD)),
    administrators: { identify: () => null },
    limiter: null,
    clock: new ManualClock(0),
    idempotency: { isDiskFull: false, tryHold: () => 'held', release: () => {} },
    isPaused: () => false,
    placingRefusal: () => null,
    isDiskLow: () => false,
    timeoutEndMs: () => 0,
  },
  new RequestMeters(0, createLogger('silent')),
);

/** A call that a front has read, in the memory of a ring, and the body that its route gets. */
function callReadByFront(scanned: object | null) {
  const given: { body: string; ahead: object | null }[] = [];
  const placing: Route = route(
    SPEC,
    (call) => ok(call, {}),
    (body, ahead) => {
      given.push({ body: body.toString(), ahead });
      return {};
    },
  );
  const memory = Buffer.from(BODY);
  const asked = new TestCall({ method: 'POST', path: '/place' });
  const byFront: ReadByFront = { kind: 'front', headers: new RequestHeaders(), body: memory, verifiedWith: 1, scanned };
  asked.call.bodyBytes = memory;
  asked.call.ahead = byFront;
  const proceedIf = (passage: Passage): void => stages.proceedIf(passage, asked.call, toRow(placing, false));
  return { asked, memory, given, proceedIf };
}

test('a call that passes at once is given what the front thread has read', async () => {
  const scanned = {};
  const { asked, given, proceedIf } = callReadByFront(scanned);
  proceedIf(true);
  await asked.answered;
  assert.equal(asked.status, 200);
  assert.deepEqual(given, [{ body: BODY, ahead: scanned }]);
  assert.equal(given[0]!.ahead, scanned);
});

test('a body that the front thread could not scan is not scanned again', async () => {
  const { asked, given, proceedIf } = callReadByFront(null);
  proceedIf(true);
  await asked.answered;
  assert.equal(asked.status, 200);
  assert.deepEqual(given, []);
});

test('a call that has waited for a shared counter keeps a copy of its body, and nothing else', async () => {
  const { asked, memory, given, proceedIf } = callReadByFront({});
  const counted = Promise.withResolvers<boolean>();
  proceedIf(counted.promise);
  memory.fill(0);
  counted.resolve(true);
  await asked.answered;
  assert.equal(asked.status, 200, asked.text);
  assert.deepEqual(given, [{ body: BODY, ahead: null }]);
});

test('an order that a socket has read waits for a shared counter in memory of its own', async () => {
  const { asked, given, proceedIf } = callReadByFront(null);
  const kept = { kept: () => assert.fail('it is kept once') };
  asked.call.ahead = { kind: 'message', value: {}, deadline: '', scanned: { kept: () => kept } };
  const counted = Promise.withResolvers<boolean>();
  proceedIf(counted.promise);
  counted.resolve(true);
  await asked.answered;
  assert.equal(asked.status, 200, asked.text);
  assert.deepEqual(given, [{ body: BODY, ahead: kept }]);
  assert.equal(given[0]!.ahead, kept);
});
