/** Sessions, and keys of open connections: in force, with their scopes, within their limits (RULES.md 4 and 15). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Count, CounterStore } from '../../../../gateway/access/counterStore.ts';
import { Limiter } from '../../../../gateway/access/limiter.ts';
import type { AccountPrincipal, ApiKey, SessionPrincipal } from '../../../../gateway/base/principal.ts';
import { SCOPE } from '../../../../gateway/base/scopes.ts';
import type { SessionTokens } from '../../../../gateway/base/sessionTokens.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import type { ServerOptions } from '../../../../gateway/http/server.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from '../../../support/apiKeys.ts';
import { TestCall } from '../../../support/calls.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';

const PRINCIPAL: SessionPrincipal = {
  kind: 'session',
  sessionId: 's',
  accountIndex: 2,
  userId: 'ann',
  scopes: SCOPE['read:account'],
  selfTradePrevention: 0,
  authenticatedAtMs: 0,
};
const TOKEN = { authorization: 'Bearer token' };
/** `createOfframp`: five a minute. */
const LIMITED = 'createOfframp';
const REQUESTS = 5;

const QUERY = { type: 'object', properties: { n: { type: 'integer' } } } as const;

function route(method: Route['method'], path: string, more: Partial<Route> = {}): Route {
  const handler: Route['handler'] = (call) => ok(call, {});
  return { method, path, summary: '', access: 'read:account', limit: 'unlimited', answers: {}, handler, ...more };
}

const ROUTES = [
  route('GET', '/mine'),
  route('POST', '/trade', { access: 'trade:orders' }),
  route('GET', '/limited', { limit: LIMITED }),
  route('DELETE', '/limited', { limit: LIMITED }),
  route('GET', '/own', { limit: LIMITED, countsItself: true }),
  route('GET', '/public', { access: 'public', limit: LIMITED, query: QUERY }),
  route('GET', '/public/own', { access: 'public', limit: LIMITED, countsItself: true, query: QUERY }),
];

/** A session, as its store says of it. */
function sessionOf() {
  const state = { isInForce: true, isVerified: true, isGenuine: true };
  const sessions: SessionTokens = {
    admit: () => ({ principal: PRINCIPAL, isVerified: state.isVerified }),
    verify: async () => state.isGenuine,
    isInForce: () => state.isInForce,
  };
  return { state, sessions };
}

async function rig(t: TestContext, options: Partial<ServerOptions> = {}, keys: readonly ApiKey[] = []) {
  const signed: number[] = [];
  const { state, sessions } = sessionOf();
  const onSigned = (account: number): void => void signed.push(account);
  const edge = await startEdge(t, ROUTES, keys, { sessions, onSigned, ...options });
  const answer = async (method: string, path: string): Promise<string> => {
    const { status, body } = await edge.send(method, path, { headers: TOKEN });
    return status === 200 ? 'ok' : String(body.error);
  };
  return { edge, state, signed, answer };
}

test('a session acts while it is in force, and not with a token whose signature is wrong (15.2, 15.5)', async (t) => {
  const { state, signed, answer } = await rig(t);
  for (const isVerified of [true, false]) {
    Object.assign(state, { isInForce: true, isVerified, isGenuine: true });
    assert.equal(await answer('GET', '/mine'), 'ok');
    state.isInForce = false;
    assert.equal(await answer('GET', '/mine'), ERRORS.SESSION_ENDED.message);
  }
  Object.assign(state, { isInForce: true, isVerified: false, isGenuine: false });
  assert.equal(await answer('GET', '/mine'), ERRORS.INVALID_ACCESS_TOKEN.message);
  assert.deepEqual(signed, [2, 2], 'the account is seen by what it did itself');
});

test('a request with both a key and a token is anonymous (15.3)', async (t) => {
  const key = apiKey(1, { scopes: SCOPE['read:account'] });
  const { edge } = await rig(t, {}, [key]);
  const signer = new RequestSigner(credentialsOf(key), edge.clock);
  const headers = { ...signer.headers('GET', '/mine', ''), ...TOKEN };
  const { status, body } = await edge.send('GET', '/mine', { headers });
  assert.deepEqual([status, body.error], [ERRORS.TWO_CREDENTIALS.status, ERRORS.TWO_CREDENTIALS.message]);
});

test('a session does nothing that it has no scope for (15.3)', async (t) => {
  const { answer } = await rig(t);
  assert.equal(await answer('POST', '/trade'), 'sessions lack the required scope');
});

test('the sessions of an account have the limit of each endpoint together, by method (4.6)', async (t) => {
  const { answer } = await rig(t);
  const several = async (method: string, path: string, count: number): Promise<string[]> => {
    const answers = [];
    for (let request = 0; request < count; request++) answers.push(await answer(method, path));
    return answers;
  };
  const most = new Array(REQUESTS).fill('ok');
  assert.deepEqual(await several('GET', '/limited', REQUESTS + 1), [...most, ERRORS.RATE_LIMITED.message]);
  assert.deepEqual(await several('DELETE', '/limited', 1), ['ok']);
  assert.deepEqual(await several('GET', '/own', REQUESTS + 1), [...most, 'ok'], 'its handler counts');
});

test('a route that counts its requests itself is left to it, but for those it never sees (4.6)', async (t) => {
  const { edge } = await rig(t);
  const statuses = async (path: string): Promise<number[]> => {
    const found = [];
    for (let request = 0; request <= REQUESTS; request++) found.push((await edge.send('GET', path)).status);
    return found;
  };
  const most = new Array(REQUESTS);
  assert.deepEqual(await statuses('/public'), [...most.fill(200), 429]);
  assert.deepEqual(await statuses('/public/own'), [...most.fill(200), 200]);
  assert.deepEqual(await statuses('/public/own?n=x'), [...most.fill(400), 429], 'its handler does not see these');
});

test('a session that ends while its shared counter is asked does nothing more', async (t) => {
  const asked: ((count: Count) => void)[] = [];
  const late: CounterStore = {
    count: () => new Promise((resolve) => asked.push(resolve)),
    peek: () => 'unavailable',
  };
  const { state, answer } = await rig(t, { limiter: Limiter.in(late) });
  for (const isInForce of [true, false]) {
    state.isInForce = true;
    const answered = answer('GET', '/limited');
    await eventually('the counter is asked', async () => asked.length === 1);
    state.isInForce = isInForce;
    asked.pop()!({ allowed: true, remaining: 1, resetMs: 0, retryMs: 0 });
    assert.equal(await answered, isInForce ? 'ok' : ERRORS.SESSION_ENDED.message);
  }
});

test('a key that opened a connection acts on it while it is in force and not expired (8.13)', async (t) => {
  const keys = [null, 1, 0].map((expiresAtMs, index) => {
    return apiKey(index + 1, { scopes: SCOPE['read:account'], expiresAtMs });
  });
  const { edge } = await rig(t, { limiter: null }, keys);
  const { calls } = edge.server;
  const answer = async (principal: AccountPrincipal, path = '/mine'): Promise<string> => {
    // It comes in the millisecond 0.
    const method = path === '/mine' ? 'GET' : 'POST';
    const asked = new TestCall({ method, path });
    calls.runLoggedIn(asked.call, calls.rowOf(method, path), principal);
    await asked.answered;
    return asked.status === 200 ? 'ok' : (JSON.parse(asked.text) as { error: string }).error;
  };
  const [lasting, expiring, expired] = keys as [ApiKey, ApiKey, ApiKey];
  assert.deepEqual([await answer(lasting), await answer(expiring)], ['ok', 'ok']);
  for (const key of [expired, { ...lasting }, { ...lasting, revoked: true }, apiKey(9)]) {
    assert.equal(await answer(key), ERRORS.API_KEY_REVOKED.message);
  }
  assert.equal(await answer(lasting, '/trade'), ERRORS.INSUFFICIENT_SCOPE.message);
  void calls.drain(0);
  assert.equal(await answer(lasting), ERRORS.ENGINE_BUSY.message, 'nothing new begins during a stop');
});
