/** Requests that the state of the exchange refuses, and requests that come twice, over a real socket (RULES.md 6). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { ok, refuse } from '../../gateway/http/respond.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { answers, nextWaiting, TransportRig, waiting } from '../support/transportRig.ts';

const UUID = '0b6b3a52-6b0c-4c8e-9a55-0a1d2c3e4f50';

describe('transport', () => {
  const rig = new TransportRig();

  describe('admission and idempotency', () => {
    const body = '{"side":"BUY"}';
    const place = (headers: Record<string, string> = {}, payload = body) =>
      rig.call('POST', '/v1/orders', payload, { ...rig.sign('POST', '/v1/orders', payload), ...headers });

    it('refuses to place while paused, before it looks at the body, and nothing else', async () => {
      rig.server.isPaused = true;
      const { status, headers, json } = await place({}, '{');
      rig.server.isPaused = false;
      assert.equal(status, 503);
      assert.deepEqual(json, { error: 'platform is paused', code: 'PLATFORM_PAUSED' });
      assert.equal(headers.get('retry-after'), '1');
      assert.equal((await place({}, '{')).status, 400);
    });

    it('takes nothing new while the disk is nearly full, and everything else', async () => {
      rig.server.isDiskLow = true;
      const refused = await place({}, '{');
      assert.deepEqual([refused.status, refused.json.code], [503, 'ENGINE_BUSY']);
      assert.equal(refused.headers.get('retry-after'), '1');
      assert.equal((await rig.call('GET', '/v1/time')).status, 200);
      rig.server.isDiskLow = false;
      assert.equal((await place({}, '{')).status, 400);
    });

    it('refuses everything but probes until it is ready', async () => {
      rig.server.isReady = false;
      const refused = await rig.call('GET', '/v1/time');
      assert.equal(refused.status, 503);
      assert.equal(refused.headers.get('retry-after'), '1');
      assert.ok(await rig.isHealthy());
      rig.server.isReady = true;
      assert.equal((await rig.call('GET', '/v1/time')).status, 200);
    });

    it('refuses an idempotency key that is no UUID', async () => {
      const { status, json } = await place({ 'idempotency-key': 'again' });
      assert.equal(status, 400);
      assert.equal(json.code, 'IDEMPOTENCY_KEY_MALFORMED');
    });

    it('lets one request hold an idempotency key, and replays its answer', async () => {
      const arrived = nextWaiting();
      const first = place({ 'idempotency-key': UUID });
      const held = await arrived;
      const again = await place({ 'idempotency-key': UUID.toUpperCase() });
      assert.deepEqual([again.status, again.json.code], [409, 'IDEMPOTENCY_KEY_IN_PROGRESS']);
      const other = await place({ 'idempotency-key': UUID }, '{"side":"SELL"}');
      assert.deepEqual([other.status, other.json.code], [409, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH']);
      assert.equal(waiting.length, 1, 'neither reached the handler');
      ok(held, { done: 1 }, 201);
      assert.equal((await first).status, 201);

      const later = await place({ 'idempotency-key': UUID });
      assert.deepEqual([later.status, later.json], [201, { done: 1 }]);
      assert.equal(later.headers.get('idempotency-replayed'), 'true');
      assert.equal((await place({ 'idempotency-key': UUID }, '{"side":"SELL"}')).status, 409);
    });

    it('sends a keyed answer once it is durable, and OUTCOME_UNKNOWN if that is unknown', async () => {
      for (const isKept of [true, false]) {
        answers.isPrompt = false;
        const arrived = nextWaiting();
        let isAnswered = false;
        const answer = place({ 'idempotency-key': randomUUID() }).finally(() => {
          isAnswered = true;
        });
        ok(await arrived, { done: 3 });
        // A round trip of its own: anything sent earlier would have come before it.
        await rig.call('GET', '/v1/time');
        assert.equal(isAnswered, false);
        answers.waiting.pop()!.whenKept(isKept);
        answers.isPrompt = true;
        const { status, json } = await answer;
        assert.deepEqual([status, json.code], isKept ? [200, undefined] : [503, 'OUTCOME_UNKNOWN']);
      }
    });

    it('lets no key in while its answers cannot be looked up', async () => {
      answers.isOpen = false;
      const refused = await place({ 'idempotency-key': randomUUID() });
      answers.isOpen = true;
      assert.deepEqual([refused.status, refused.json.code], [503, 'ENGINE_BUSY']);
    });

    it('keeps no refusal that promises a retry', async () => {
      const refusals = [
        ERRORS.PLATFORM_PAUSED,
        ERRORS.NOT_MATCHING_LEADER,
        ERRORS.SETTLEMENT_UNHEALTHY,
        ERRORS.ENGINE_BUSY,
        ERRORS.OUTCOME_UNKNOWN,
        ERRORS.POST_ONLY_PHASE,
      ];
      const key = randomUUID();
      for (const row of refusals) {
        const arrived = nextWaiting();
        const answer = place({ 'idempotency-key': key });
        refuse(await arrived, { row: row });
        assert.deepEqual([(await answer).status, (await answer).json.code], [row.status, row.code]);
      }
      const arrived = nextWaiting();
      const last = place({ 'idempotency-key': key });
      refuse(await arrived, { row: ERRORS.INTERNAL_ERROR });
      assert.equal((await last).status, 500);
      assert.equal((await place({ 'idempotency-key': key })).status, 500);
    });

    it('answers a call once, whatever its handler tries', async () => {
      const arrived = nextWaiting();
      const answer = place();
      const held = await arrived;
      refuse(held, { row: ERRORS.DUPLICATE_ORDER });
      ok(held, { second: true });
      assert.deepEqual((await answer).json, { error: 'duplicate order', code: 'ORDER_PLACEMENT_FAILED' });
    });
  });
});
