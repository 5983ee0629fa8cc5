/** No answer about a session is sent before the change that it reports is durable (RULES.md 15.4, 15.6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sessionRoutes } from '../../../../gateway/account/sessionsRoutes.ts';
import type { AuthDeps } from '../../../../gateway/account/signInDeps.ts';
import { TestCall } from '../../../support/calls.ts';
import { SessionRig } from '../../../support/sessionRig.ts';

/** A disk whose sync ends when the test says so. */
class SlowDisk {
  #waiting: (() => void)[] = [];

  durable(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  sync(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function open() {
  const disk = new SlowDisk();
  const rig = new SessionRig({ isDurable: false, write: (change) => change(), durable: () => disk.durable() });
  const states = { of: () => 0 };
  const deps = { ...rig, accounts: rig.accounts, accountStates: states, pages: { isOwn: () => true }, limiter: null };
  const routes = sessionRoutes({ ...(deps as unknown as AuthDeps), sessionKeys: rig.keys });
  const run = (method: string, path: string, more: { body?: object; id?: string; account?: number } = {}): TestCall => {
    const sent = new TestCall({ method, path, body: more.body ?? {}, account: more.account ?? 1 });
    sent.call.params = { id: more.id };
    const route = routes.find((each) => each.method === method && each.path === path)!;
    void route.handler(sent.call);
    return sent;
  };
  return { rig, disk, run };
}

test('15.4, 15.6: the change of a refresh or an end is durable before its client gets the answer', async () => {
  const { rig, disk, run } = open();
  const [first, second, third, fourth] = [rig.open(), rig.open(), rig.open(), rig.open(rig.users[1])];
  const { principal } = fourth.session;
  const requests: [TestCall, number][] = [
    [run('POST', '/v1/auth/refresh', { body: { refresh_token: first.refreshToken } }), 200],
    [run('POST', '/v1/auth/revoke', { body: { refresh_token: second.refreshToken } }), 200],
    [run('DELETE', '/v1/auth/sessions/:id', { id: third.session.principal.sessionId }), 200],
    [run('POST', '/v1/auth/revoke-all', { account: 2 }), 200],
  ];
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  for (const [{ call }] of requests) assert.ok(!call.answered, `${call.path} before the sync`);
  assert.equal(rig.sessions.find(principal.sessionId, rig.nowMs), null, 'in this process it has ended at once');
  disk.sync();
  for (const [sent, status] of requests) {
    await sent.answered;
    assert.equal(sent.status, status, sent.text);
  }
});

test('15.4: a token that two have used ends the session durably before either is refused', async () => {
  const { rig, disk, run } = open();
  const { refreshToken } = rig.open();
  rig.refresh(refreshToken);
  rig.clock.advance(30_000);
  const thief = run('POST', '/v1/auth/refresh', { body: { refresh_token: refreshToken } });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.ok(!thief.call.answered);
  disk.sync();
  await thief.answered;
  assert.deepEqual([thief.status, thief.json.error], [401, 'session has ended']);
  assert.equal(rig.database.prepare('SELECT count(*) FROM sessions').pluck().get(), 0);
  assert.equal(rig.database.prepare('SELECT count(*) FROM used_refresh_tokens').pluck().get(), 0);
});
