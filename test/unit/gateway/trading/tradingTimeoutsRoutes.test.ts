/** Reminders and trading timeouts (RULES.md 11): the bodies that are taken, and what each refusal names. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { tradingTimeoutRoutes } from '../../../../gateway/trading/tradingTimeoutsRoutes.ts';
import { TradingTimeouts } from '../../../../gateway/trading/tradingTimeoutsStore.ts';
import { TestCall } from '../../../support/calls.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = Date.parse('2030-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;

function rig(t: TestContext) {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const user = { wallet: null, displayName: null, email: null, role: 'user', referralCode: null };
  new Accounts(database).signUp(user, NOW_MS);
  const clock = new ManualClock(NOW_MS);
  const routes = tradingTimeoutRoutes({ tradingTimeouts: new TradingTimeouts(database), clock });
  const ask = async (method: string, path: string, body?: object) => {
    const route = routes.find((each) => each.method === method && each.path === `/v1/user/rg/${path}`)!;
    const asked = new TestCall({ method, path, body });
    await route.handler(asked.call);
    return { status: asked.status, json: asked.json };
  };
  return { ask, clock };
}

test('a preference is one of its values or none, and one that is left out stays', async (t) => {
  const { ask } = rig(t);
  const put = (body: object) => ask('PUT', 'preferences', body);
  const [check, session] = ['reality_check_interval_minutes', 'session_timeout_minutes'];
  for (const minutes of [15, 30, 60, 120]) assert.equal((await put({ [check]: minutes })).json[check], minutes);
  for (const minutes of [60, 120, 240, 480]) {
    assert.deepEqual((await put({ [session]: minutes })).json, { [check]: 120, [session]: minutes });
  }
  assert.deepEqual((await put({ [check]: null })).json, { [check]: null, [session]: 480 });
  assert.deepEqual((await put({})).json, { [check]: null, [session]: 480 });
  for (const [field, value] of [
    [check, 16],
    [check, 240],
    [check, '15'],
    [session, 15],
    [session, 0],
  ]) {
    const { status, json } = await put({ [field]: value });
    assert.deepEqual(
      [status, json.code, json.error, json.details],
      [400, 'INVALID_INPUT', `invalid ${field}`, { field, rule: 'range', value }],
    );
  }
  const unknown = await put({ [check]: 15, more: 1 });
  assert.deepEqual(unknown.json.details, { field: 'more', rule: 'additionalProperties' });
  assert.deepEqual((await ask('GET', 'preferences')).json, { [check]: null, [session]: 480 }, 'nothing was changed');
});

test('a timeout lasts as long as its label or its hours say', async (t) => {
  const { ask, clock } = rig(t);
  const start = (body: object) => ask('POST', 'timeout', body);
  for (const [body, hours] of [
    [{ duration_label: '24h' }, 24],
    [{ duration_label: '7d' }, 7 * 24],
    [{ duration_label: '30d', custom_hours: null }, 30 * 24],
    [{ duration_label: 'custom', custom_hours: 1 }, 1],
    [{ duration_label: 'custom', custom_hours: 8760 }, 8760],
  ] as const) {
    const startedMs = clock.nowMs();
    const { status, json } = await start(body);
    assert.equal(status, 201);
    assert.equal(json.duration_label, body.duration_label);
    assert.equal(json.started_at, new Date(startedMs).toISOString());
    assert.equal(json.ends_at, new Date(startedMs + hours * HOUR_MS).toISOString());
    assert.deepEqual((await ask('GET', 'timeout')).json, json);
    assert.equal((await start(body)).json.code, 'TIMEOUT_ALREADY_ACTIVE');
    clock.advance(hours * HOUR_MS - 1);
    assert.equal((await start(body)).status, 409);
    clock.advance(1);
    assert.equal((await ask('GET', 'timeout')).json, null);
  }
});

test('a timeout that is cancelled is over, and there is nothing to cancel twice', async (t) => {
  const { ask, clock } = rig(t);
  const { json } = await ask('POST', 'timeout', { duration_label: '24h' });
  clock.advance(1000);
  const cancelled = await ask('POST', 'timeout/cancel');
  assert.deepEqual([cancelled.status, cancelled.json], [200, { ...json, cancelled_at: '2030-01-01T00:00:01.000Z' }]);
  assert.equal((await ask('GET', 'timeout')).json, null);
  assert.equal((await ask('POST', 'timeout/cancel')).json.code, 'NO_ACTIVE_TIMEOUT');
});

test('a timeout without a length, or with two, is refused by its field', async (t) => {
  const { ask } = rig(t);
  for (const [body, field, rule] of [
    [{}, 'duration_label', 'required'],
    [{ duration_label: '1h' }, 'duration_label', 'range'],
    [{ duration_label: 24 }, 'duration_label', 'range'],
    [{ duration_label: 'toString' }, 'duration_label', 'range'],
    [{ duration_label: 'custom' }, 'custom_hours', 'required'],
    [{ duration_label: 'custom', custom_hours: 0 }, 'custom_hours', 'range'],
    [{ duration_label: 'custom', custom_hours: 8761 }, 'custom_hours', 'range'],
    [{ duration_label: 'custom', custom_hours: 1.5 }, 'custom_hours', 'range'],
    [{ duration_label: '24h', custom_hours: 24 }, 'custom_hours', 'range'],
    [{ duration_label: '24h', more: 1 }, 'more', 'additionalProperties'],
  ] as const) {
    const { status, json } = await ask('POST', 'timeout', body);
    assert.deepEqual([status, json.details.field, json.details.rule], [400, field, rule], JSON.stringify(body));
  }
  assert.equal((await ask('GET', 'timeout')).json, null);
});
