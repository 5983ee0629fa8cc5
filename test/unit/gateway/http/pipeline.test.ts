/** The stages of a request in the test's own thread (RULES.md 6.5): the refusals of each, and their side effects. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Administrators } from '../../../../gateway/access/administrators.ts';
import { AdminToken } from '../../../../gateway/access/adminToken.ts';
import { Limiter } from '../../../../gateway/access/limiter.ts';
import { tryParseNetworks } from '../../../../gateway/base/networks.ts';
import type { Administrator, ApiKey } from '../../../../gateway/base/principal.ts';
import { SCOPE } from '../../../../gateway/base/scopes.ts';
import type { Call } from '../../../../gateway/http/call.ts';
import { Cors } from '../../../../gateway/http/cors.ts';
import { ok, okArray, okPage, refuse } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import type { ServerOptions } from '../../../../gateway/http/server.ts';
import { ERRORS, type ErrorRow } from '../../../../shared/base/errors.ts';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from '../../../support/apiKeys.ts';
import { EDGE_START_MS, startEdge } from '../../../support/edgeRig.ts';
import { eventually, within } from '../../../support/eventually.ts';

const KEY = apiKey(1, { scopes: SCOPE['trade:orders'] });
const OBJECT = { type: 'object', additionalProperties: false, properties: { n: { type: 'integer' } } } as const;
const UUID = '5f0c8e86-2d07-4d0c-9d6a-0a86e6f7d7e1';

/** The ids of the calls that have come to their handler. */
const handled = new Set<string>();

type Handle = (call: Call) => void | Promise<void>;

function row(method: Route['method'], path: string, access: Route['access'], more: Partial<Route> = {}): Route {
  const handler: Handle = (call) => {
    handled.add(call.id);
    ok(call, { path: call.path, principal: call.principal.kind });
  };
  return { method, path, summary: '', access, limit: 'unlimited', answers: {}, handler, ...more };
}

const ROUTES: Route[] = [
  row('GET', '/open', 'public'),
  row('POST', '/open', 'public', { body: OBJECT, maxBodyBytes: 100 }),
  row('GET', '/probe', 'public', { probe: true }),
  row('GET', '/limited', 'public', { limit: 'heartbeat' }),
  row('GET', '/strict', 'public', { strictKey: true }),
  row('POST', '/place', 'trade:orders', { risk: 'taken', idempotency: 1, bodyOptional: true }),
  row('POST', '/merge', 'trade:orders', { risk: 'reduced', bodyOptional: true }),
  row('POST', '/store', 'trade:orders', { storing: true, bodyOptional: true }),
  row('DELETE', '/cancel', 'trade:orders', { bodyOptional: true }),
  row('GET', '/mine', 'trade:orders', { limit: 'placeOrder' }),
  row('GET', '/bulk', 'trade:bulk'),
  row('GET', '/metrics', 'operator'),
  row('GET', '/admin/list', 'viewer'),
  row('POST', '/admin/pay', 'treasury', { bodyOptional: true }),
  row('PUT', '/admin/pay', 'treasury', { bodyOptional: true }),
  row('PATCH', '/admin/pay', 'treasury', { bodyOptional: true }),
  row('DELETE', '/admin/pay', 'treasury', { bodyOptional: true }),
  row('GET', '/throws', 'public', {
    handler: () => {
      throw new Error('at once');
    },
  }),
  row('GET', '/rejects', 'public', { handler: () => Promise.reject(new Error('later')) }),
  row('GET', '/fills', 'public', {
    handler: () => Promise.reject(new Database.SqliteError('database or disk is full', 'SQLITE_FULL')),
  }),
  row('GET', '/forgets', 'public', { handler: () => Promise.resolve() }),
];

async function rig(t: TestContext, options: Partial<ServerOptions> = {}, keys: readonly ApiKey[] = [KEY]) {
  const edge = await startEdge(t, ROUTES, keys, options);
  const signer = new RequestSigner(credentialsOf(KEY), edge.clock);
  /** If anything refuses a call, its handler has not run. */
  const send: typeof edge.send = async (method, path, sent) => {
    const answer = await edge.send(method, path, sent);
    const id = String(answer.headers['x-request-id']);
    if (answer.status < 400) assert.equal(answer.headers['retry-after'], undefined, 'there is nothing to wait for');
    if (answer.status >= 400) assert.ok(!handled.has(id), `${method} ${path} is answered ${answer.status}, and done`);
    return answer;
  };
  const signed = (method: string, path: string, more: Record<string, string> = {}) =>
    send(method, path, { headers: { ...signer.headers(method, path, ''), ...more } });
  const codes = async (...requests: [method: string, path: string][]): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (const [method, path] of requests) {
      const { status, body } = await signed(method, path);
      found.push(status === 200 ? 200 : body.code);
    }
    return found;
  };
  return { ...edge, send, signer, signed, codes };
}

test('path, method, size and framing are refused in this order, before anything else is looked at', async (t) => {
  const { send, port } = await rig(t);
  assert.equal((await send('GET', '/nowhere')).body.code, 'NOT_FOUND');
  const wrong = await send('PUT', '/open');
  assert.deepEqual([wrong.status, wrong.headers['allow']], [405, 'GET, HEAD, POST']);
  const body = JSON.stringify({ n: 1, pad: 'x'.repeat(100) });
  assert.equal((await send('POST', '/open', { body })).status, 413);
  assert.equal((await send('POST', '/nowhere', { body: 'x'.repeat(64 * 1024) })).status, 404);
  assert.equal((await send('POST', '/nowhere', { body: 'x'.repeat(64 * 1024 + 1) })).status, 413);
  assert.equal((await send('POST', '/open', { body: '{"n":1}' })).status, 200);
  assert.equal((await send('POST', '/open', { body: '{"m":1}' })).body.code, 'VALIDATION_ERROR');
  for (const [head, status] of [
    ['POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}', 400],
    ['POST /open HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n{}', 400],
  ] as const) {
    assert.match(await raw(port, head), new RegExp(`^HTTP/1.1 ${status}`), head);
  }
  // A body of unknown length can go on for ever: the early answer is the last on its connection.
  const endless = 'POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n';
  assert.match(await raw(port, endless), /^HTTP\/1\.1 404 .*\r\nConnection: close\r\n/is);
});

test('HEAD is answered like GET, without the body and with its length', async (t) => {
  const { port } = await rig(t);
  const text = await raw(port, 'HEAD /open HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  const { length } = JSON.stringify({ path: '/open', principal: 'anonymous' });
  assert.match(text, new RegExp(`content-length: ${length}\r\n`, 'i'));
  assert.ok(text.endsWith('\r\n\r\n'));
});

test('until it is ready the exchange answers probes alone, with the time to wait', async (t) => {
  let isReady = false;
  const { send, asAdministrator } = await rig(t, { isReady: () => isReady });
  const early = await send('GET', '/open');
  assert.deepEqual([early.status, early.body.code, early.headers['retry-after']], [503, 'ENGINE_BUSY', '1']);
  assert.equal((await asAdministrator('GET', '/admin/list')).status, 503);
  assert.equal((await send('GET', '/probe')).status, 200);
  isReady = true;
  assert.equal((await send('GET', '/open')).status, 200);
});

test('a standby refuses what changes something and keeps no answer, which every answer shows (18.5)', async (t) => {
  const details = { leader: 'http://192.0.2.1' };
  let isStandby = true;
  const role = {
    asOfMs: null,
    pastAsOfMs: null,
    lines: () => (isStandby ? 'standby\r\nX-SVC-Stale-Ms: 7' : 'leader'),
    changeRefusal: () => (isStandby ? { row: ERRORS.NOT_MATCHING_LEADER, details } : null),
  };
  const { send, signed, codes, asAdministrator } = await rig(t, { role, isPaused: () => isStandby });
  const read = await send('GET', '/open');
  assert.deepEqual([read.status, read.headers['x-svc-role'], read.headers['x-svc-stale-ms']], [200, 'standby', '7']);
  const refusal = { error: 'not the matching leader', code: 'NOT_MATCHING_LEADER', details };
  const key = { 'idempotency-key': UUID };
  for (const refused of [await signed('POST', '/place', key), await send('POST', '/open')]) {
    const { status, headers, body } = refused;
    assert.deepEqual([status, headers['retry-after'], headers['x-svc-role'], body], [503, '1', 'standby', refusal]);
  }
  assert.deepEqual(await codes(['DELETE', '/cancel'], ['GET', '/mine']), ['NOT_MATCHING_LEADER', 200]);
  assert.equal((await send('POST', '/place')).body.code, 'UNAUTHORIZED', 'identity comes before it (6.5)');
  assert.equal((await asAdministrator('GET', '/admin/list')).status, 200);
  isStandby = false;
  const carriedOut = await signed('POST', '/place', key);
  assert.deepEqual([carriedOut.status, carriedOut.headers['x-svc-role']], [200, 'leader']);
  assert.equal(carriedOut.headers['idempotency-replayed'], undefined, 'the refusal was not kept');
});

test('pause, drill, timeout and a full disk refuse the requests they concern, in this order (6.5)', async (t) => {
  const state = { isPaused: false, drill: null as ErrorRow | null, isDiskLow: false, endMs: 0 };
  const asked: number[][] = [];
  const { codes, signed } = await rig(t, {
    isPaused: () => state.isPaused,
    placingRefusal: () => state.drill,
    isDiskLow: () => state.isDiskLow,
    timeoutEndMs: (account, nowMs) => {
      asked.push([account, nowMs]);
      return state.endMs;
    },
  });
  const all = () => codes(['POST', '/place'], ['POST', '/merge'], ['POST', '/store'], ['DELETE', '/cancel']);
  assert.deepEqual(await all(), [200, 200, 200, 200]);
  state.isDiskLow = true;
  assert.deepEqual(await all(), ['ENGINE_BUSY', 'ENGINE_BUSY', 'ENGINE_BUSY', 200]);
  state.endMs = EDGE_START_MS + 90_500;
  assert.deepEqual(await all(), ['TRADING_TIMEOUT_ACTIVE', 'ENGINE_BUSY', 'ENGINE_BUSY', 200]);
  assert.equal((await signed('POST', '/place')).headers['retry-after'], '91');
  assert.deepEqual(asked.at(-1), [1, EDGE_START_MS]);
  state.drill = ERRORS.SETTLEMENT_UNHEALTHY;
  assert.deepEqual(await all(), ['SETTLEMENT_UNHEALTHY', 'SETTLEMENT_UNHEALTHY', 'ENGINE_BUSY', 200]);
  state.isPaused = true;
  assert.deepEqual(await all(), ['PLATFORM_PAUSED', 'PLATFORM_PAUSED', 'ENGINE_BUSY', 200]);
  const keyed = { 'idempotency-key': 'no uuid' };
  assert.equal((await signed('POST', '/place', keyed)).body.code, 'PLATFORM_PAUSED', 'before the key is refused');
});

test('every answer has an id of its own, and its stages are timed by route (10.9, 10.23)', async (t) => {
  const { send, signed, server } = await rig(t);
  const answers = [
    await send('GET', '/open'),
    await send('POST', '/open', { body: '{}' }),
    await signed('POST', '/place'),
  ];
  answers.push(await send('GET', '/nowhere'), await send('POST', '/open', { body: '{"n":true}' }));
  const ids = answers.map(({ headers }) => String(headers['x-request-id']));
  for (const id of ids) assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(new Set(ids).size, ids.length);
  const timed = [...server.meters.times.byRoute].map(([route, { total, stages }]) => {
    const counts = Object.values(stages).map(({ count }) => count);
    return [route === null ? null : `${route.method} ${route.path}`, total.count, ...counts];
  });
  // The stages receive, identify, validate, handle, answer: without a body, with a refused body, with a key, and
  // without a route.
  assert.deepEqual(timed, [
    ['GET /open', 1, 0, 1, 1, 1, 1],
    ['POST /open', 2, 2, 2, 1, 1, 2],
    ['POST /place', 1, 0, 1, 1, 1, 1],
    [null, 1, 0, 0, 0, 0, 1],
  ]);
  assert.deepEqual(
    [...server.meters.counts.refusals],
    [
      ['NOT_FOUND', 1],
      ['VALIDATION_ERROR', 1],
    ],
  );
});

test('a repeated idempotency key is answered before any state is looked at (6.5)', async (t) => {
  let isPaused = false;
  const { send, signer, signed } = await rig(t, { isPaused: () => isPaused });
  const place = (key: string, body = '') => {
    const headers = { ...signer.headers('POST', '/place', body), 'idempotency-key': key };
    return send('POST', '/place', { headers, body });
  };
  const first = await place(UUID);
  assert.deepEqual([first.status, first.headers['idempotency-replayed']], [200, undefined]);
  isPaused = true;
  const second = await place(UUID);
  assert.deepEqual([second.status, second.body, second.headers['idempotency-replayed']], [200, first.body, 'true']);
  isPaused = false;
  assert.equal((await place(UUID, '{}')).body.code, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
  assert.equal((await place('no uuid')).body.code, 'IDEMPOTENCY_KEY_MALFORMED');
  assert.equal((await signed('DELETE', '/cancel', { 'idempotency-key': 'no uuid' })).status, 200);
});

test('a handler that fails in any way is answered 500, and every answer is counted by its route', async (t) => {
  const { send, server } = await rig(t);
  for (const path of ['/throws', '/rejects', '/forgets']) {
    const { status, body } = await send('GET', path);
    assert.deepEqual([status, body.code, body.details], [500, 'INTERNAL_ERROR', undefined], path);
  }
  await send('GET', '/open');
  await send('GET', '/nowhere');
  const full = await send('GET', '/fills');
  assert.deepEqual([full.status, full.body.code], [503, 'OUTCOME_UNKNOWN'], 'a disk without a byte left is no bug');
  const counted: unknown[] = [];
  server.meters.counts.forEach((route, status, count) => {
    counted.push([route?.path ?? null, status, count]);
  });
  assert.deepEqual(counted, [
    ['/throws', 500, 1],
    ['/rejects', 500, 1],
    ['/forgets', 500, 1],
    ['/open', 200, 1],
    [null, 404, 1],
    ['/fills', 503, 1],
  ]);
  const worst = new Set<string | null>();
  server.meters.turns.forEachWorst((route, tookMs) => {
    if (tookMs > 0) worst.add(route?.path ?? null);
  });
  assert.deepEqual([...worst].sort(), ['/fills', '/forgets', '/open', '/rejects', '/throws', null].sort());
  assert.equal(
    server.meters.turns.counts.reduce((sum, count) => sum + count),
    6,
  );
});

test('on a public route a wrong key counts as none, unless the route wants a right one', async (t) => {
  const { send, signer } = await rig(t);
  const good = () => signer.headers('GET', '/open', '');
  assert.equal((await send('GET', '/open', { headers: good() })).body.principal, 'apiKey');
  const wrong = { ...good(), 'x-svc-signature': 'AAAA' };
  const unknown = { ...good(), 'x-svc-api-key': 'nobody' };
  for (const headers of [wrong, unknown]) {
    assert.equal((await send('GET', '/open', { headers })).body.principal, 'anonymous');
  }
  const strict = { ...signer.headers('GET', '/strict', ''), 'x-svc-signature': 'AAAA' };
  assert.equal((await send('GET', '/strict', { headers: strict })).body.error, 'invalid signature');
  assert.equal((await send('GET', '/strict', { headers: unknown })).body.error, 'invalid API key');
  assert.equal((await send('GET', '/strict')).status, 200);
  assert.equal((await send('GET', '/mine')).body.error, 'missing required API key headers');
});

test('a request that its scope or address forbids may be sent again as it is (4.3, 4.9)', async (t) => {
  const near = { ...KEY, allowedNetworks: tryParseNetworks(['203.0.113.0/24']) };
  const { send, signer } = await rig(t, {}, [near]);
  const headers = signer.headers('GET', '/bulk', '');
  for (let again = 0; again < 2; again++) {
    const { status, body } = await send('GET', '/bulk', { headers });
    assert.deepEqual([status, body.code], [403, 'INSUFFICIENT_SCOPE']);
  }
  const mine = signer.headers('GET', '/mine', '');
  for (let again = 0; again < 2; again++) {
    const { status, body } = await send('GET', '/mine', { headers: mine, address: '198.51.100.1' });
    assert.deepEqual([status, body.code, body.details], [403, 'FORBIDDEN', { step: 'address' }]);
  }
  assert.equal((await send('GET', '/mine', { headers: mine })).status, 200);
  assert.equal((await send('GET', '/mine', { headers: mine })).body.error, 'nonce already used');
});

test('limits refuse with the time to wait, count failures apart, and give the nonce back (4.6)', async (t) => {
  const { send, signer, clock } = await rig(t);
  assert.equal((await send('GET', '/limited')).headers['x-ratelimit-decision'], 'allowed');
  const over = await send('GET', '/limited');
  assert.deepEqual([over.status, over.body.code, over.headers['retry-after']], [429, 'RATE_LIMITED', '1']);
  assert.equal(over.headers['x-ratelimit-decision'], 'quota_denied');
  assert.equal((await send('GET', '/limited', { address: '203.0.113.2' })).status, 200, 'another address');
  for (let request = 0; request < 10; request++) {
    assert.equal((await send('GET', '/mine', { headers: signer.headers('GET', '/mine', '') })).status, 200);
  }
  const headers = signer.headers('GET', '/mine', '');
  assert.equal((await send('GET', '/mine', { headers })).status, 429);
  // Failed attempts have the same limit and counters of their own.
  for (let request = 0; request < 10; request++) assert.equal((await send('GET', '/mine')).status, 401);
  assert.equal((await send('GET', '/mine')).status, 429);
  clock.advance(1000);
  assert.equal((await send('GET', '/mine', { headers })).status, 200, 'the request that was refused');
});

test('a shared counter that answers later decides then', async (t) => {
  const decided: ((isAllowed: boolean | 'unavailable') => void)[] = [];
  const shared = {
    peek: () => [],
    count: () =>
      new Promise<never>((resolve) => {
        decided.push((isAllowed) => {
          const count = { allowed: isAllowed, remaining: 0, resetMs: 0, retryMs: EDGE_START_MS + 2500 };
          resolve((isAllowed === 'unavailable' ? isAllowed : count) as never);
        });
      }),
  };
  const { send, signer, clock } = await rig(t, { limiter: new Limiter(shared, shared, shared) }, [KEY]);
  const ask = async (headers: Record<string, string>, answer: boolean | 'unavailable') => {
    const answered = send('GET', '/mine', { headers });
    while (decided.length === 0) await delay(1);
    decided.shift()!(answer);
    return answered;
  };
  const headers = signer.headers('GET', '/mine', '');
  const denied = await ask(headers, false);
  assert.deepEqual([denied.status, denied.headers['retry-after']], [429, '3']);
  const unavailable = await ask(headers, 'unavailable');
  assert.deepEqual(
    [unavailable.status, unavailable.body.code, unavailable.headers['retry-after']],
    [429, 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE', '1'],
  );
  assert.equal((await ask(headers, true)).status, 200, 'its nonce was given back twice');
  clock.advance(1);
  assert.equal((await ask({}, true)).status, 401, 'the failure was admitted by its counter');
});

test('a page of any length is one object, and is written in pieces (6.10)', async (t) => {
  const page = (call: Call): void => {
    const elements = Array.from({ length: Number(call.path.slice('/page/'.length)) }, (_, n) => ({ n, pad: 'é"' }));
    okPage(call, 'elements', elements, elements.length === 1 ? {} : { next_cursor: null });
  };
  const routes = [0, 1, 1000].map((count) => row('GET', `/page/${count}`, 'public', { handler: page }));
  const { send, server } = await startEdge(t, routes, []);
  assert.deepEqual((await send('GET', '/page/0')).body, { elements: [], next_cursor: null });
  assert.deepEqual((await send('GET', '/page/1')).body, { elements: [{ n: 0, pad: 'é"' }] });
  assert.equal(server.longAnswers.pieces, 0);
  const long = await send('GET', '/page/1000');
  assert.deepEqual([long.body.elements.length, long.body.elements[999].n, long.body.next_cursor], [1000, 999, null]);
  assert.ok(server.longAnswers.pieces >= 1000 / 64 - 1, `${server.longAnswers.pieces} pieces`);
});

test('a refusal stands also when its counter fails', async (t) => {
  const failing = { peek: () => [], count: () => Promise.reject(new Error('no counter')) };
  const { send } = await rig(t, { limiter: new Limiter(undefined, undefined, failing) }, [KEY]);
  const { status, body } = await send('GET', '/mine');
  assert.deepEqual([status, body.code], [401, 'UNAUTHORIZED']);
});

test('administrators need their token and the role; refusals are counted by reason (9.12, 9.14)', async (t) => {
  const treasurer: Administrator = { kind: 'administrator', operatorId: 'o', name: 'ada', roles: ['treasury'] };
  const catalogue: Administrator = { ...treasurer, name: 'eve', roles: ['catalogue'] };
  const refused: unknown[] = [];
  const admitted: string[] = [];
  let verdict: Promise<boolean> = Promise.resolve(true);
  const { send } = await rig(t, {
    administrators: new Administrators(new AdminToken('root'), {
      holderOf: (token) => ({ ada: treasurer, eve: catalogue })[token] ?? null,
    }),
    audit: {
      admit: (call, { name }) => {
        admitted.push(`${name} ${call.method} ${call.path} from ${call.audited?.address}`);
        void verdict.then(
          (isAdmitted) => isAdmitted || refuse(call, { row: ERRORS.ENGINE_BUSY }),
          () => {},
        );
        return verdict;
      },
      countRefusedLogin: (address, fault, operator) => refused.push([address, fault, operator]),
    },
  });
  const as = (token: string, method: string, path: string) =>
    send(method, path, { headers: token === '' ? {} : { authorization: `Bearer ${token}` } });
  for (const token of ['', 'guess']) {
    const { status, body } = await as(token, 'POST', '/admin/pay');
    assert.deepEqual([status, body.error, body.details], [401, 'invalid admin token', { step: 'admin_token' }]);
  }
  assert.equal((await as('eve', 'POST', '/admin/pay')).body.code, 'INSUFFICIENT_ROLE');
  assert.deepEqual(refused, [
    ['203.0.113.1', 'missing', undefined],
    ['203.0.113.1', 'invalid', undefined],
    ['203.0.113.1', 'role', 'eve'],
  ]);
  for (const token of ['ada', 'root']) assert.equal((await as(token, 'POST', '/admin/pay')).status, 200);
  for (const token of ['ada', 'eve', 'root']) assert.equal((await as(token, 'GET', '/admin/list')).status, 200);
  const changes = ['ada POST /admin/pay from 203.0.113.1', 'bootstrap POST /admin/pay from 203.0.113.1'];
  assert.deepEqual(admitted, changes, 'reading is not recorded');
  for (const method of ['PUT', 'PATCH', 'DELETE']) assert.equal((await as('ada', method, '/admin/pay')).status, 200);
  const others = ['PUT', 'PATCH', 'DELETE'].map((method) => `ada ${method} /admin/pay from 203.0.113.1`);
  assert.deepEqual(admitted.splice(changes.length), others, 'whatever else may change something is');
  verdict = Promise.resolve(false);
  assert.equal((await as('ada', 'POST', '/admin/pay')).body.code, 'ENGINE_BUSY');
  verdict = Promise.reject(new Error('no disk'));
  verdict.catch(() => {});
  assert.equal((await as('ada', 'POST', '/admin/pay')).status, 500);
  assert.equal(refused.length, 3);
});

test('operators’ routes are open from this machine, and closed behind any header of a proxy (10.9)', async (t) => {
  const local = await rig(t, { config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null } });
  const bare = (extra: string) =>
    raw(local.port, `GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${extra}\r\n`);
  assert.match(await bare(''), /^HTTP\/1\.1 200/);
  for (const header of ['x-forwarded-for: 10.0.0.1', 'forwarded: for=10.0.0.1', 'x-real-ip: 10.0.0.1', 'via: 1.1 p']) {
    assert.match(await bare(`${header}\r\n`), /^HTTP\/1\.1 401/, header);
  }
  // Where this machine is a proxy of the settings, no header is needed to know it for one.
  const proxied = await rig(t);
  const request = 'GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  assert.match(await raw(proxied.port, request), /^HTTP\/1\.1 401/);
  assert.equal((await proxied.asAdministrator('GET', '/metrics')).status, 200);
});

test('requests of a proxy that the settings do not name are counted, of one that they name are not', async (t) => {
  const unnamed = await rig(t, { config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null } });
  const named = await rig(t);
  const counts = async ({ send, server }: Awaited<ReturnType<typeof rig>>) => {
    for (const from of ['203.0.113.7', '']) await send('GET', '/open', { address: from });
    return server.meters.counts.ofUnnamedProxies;
  };
  assert.deepEqual([await counts(unnamed), await counts(named)], [1, 0]);
});

test('beside a door of their own, operators’ routes are unknown at the public one, whoever asks', async (t) => {
  const { asAdministrator, server, send } = await rig(t, { adminDoor: { host: '127.0.0.1', port: 0, tls: null } });
  for (const path of ['/admin/list', '/metrics']) {
    assert.equal((await asAdministrator('GET', path)).body.code, 'NOT_FOUND');
  }
  assert.equal((await send('GET', '/open')).status, 200);
  const door = `http://127.0.0.1:${server.adminPort}`;
  const headers = { authorization: 'Bearer admin-token-of-the-edge-rig' };
  assert.equal((await fetch(`${door}/admin/list`, { headers })).status, 200);
  assert.equal((await fetch(`${door}/open`)).status, 200, 'the rest is there, too');
});

test('pages of the given origins may read public answers, and never those of operators (6.9)', async (t) => {
  const { send, asAdministrator, port } = await rig(t, { cors: new Cors(['https://page.example']) });
  const from = (origin: string, path = '/open', method = 'GET', extra: Record<string, string> = {}) =>
    send(method, path, { headers: { origin, ...extra } });
  const known = await from('https://page.example');
  assert.equal(known.headers['access-control-allow-origin'], 'https://page.example');
  assert.equal(known.headers['vary'], 'Origin');
  assert.match(
    String(known.headers['access-control-expose-headers']),
    /^Retry-After, Allow, Date, .*X-Request-Id, X-SVC-Role, X-SVC-Stale-Ms, X-SVC-Leader, X-RateLimit-Decision, /,
  );
  for (const other of [await from('https://other.example'), await send('GET', '/open')]) {
    assert.deepEqual([other.headers['access-control-allow-origin'], other.headers['vary']], [undefined, 'Origin']);
  }
  const admin = await asAdministrator('GET', '/admin/list');
  assert.deepEqual([admin.status, admin.headers['vary']], [200, undefined]);
  const preflight = await from('https://page.example', '/open', 'OPTIONS', { 'access-control-request-method': 'POST' });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, POST');
  assert.equal(preflight.headers['access-control-max-age'], '600');
  assert.match(
    String(preflight.headers['access-control-allow-headers']),
    /^authorization, content-type, idempotency-key, x-svc-deadl/,
  );
  const refused: [string, string, string][] = [
    ['https://other.example', '/open', 'POST'],
    ['https://page.example', '/open', 'PUT'],
    ['https://page.example', '/admin/list', 'GET'],
  ];
  for (const [origin, path, asked] of refused) {
    const { status } = await from(origin, path, 'OPTIONS', { 'access-control-request-method': asked });
    assert.equal(status, 405, `${origin} ${path} ${asked}`);
  }
  assert.match(await raw(port, 'OPTIONS /open HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 405/);
});

test('a stop refuses requests that are still being sent and waits for those received', async (t) => {
  const [received, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = row('GET', '/held', 'public', {
    handler: async (call) => {
      received.resolve();
      await released.promise;
      ok(call, {});
    },
  });
  const edge = await startEdge(t, [...ROUTES, held], []);
  const half = raw(edge.port, 'POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: 7\r\n\r\n{');
  const waiting = edge.send('GET', '/held');
  await received.promise;
  const stopped = edge.server.stop(5000);
  assert.match(await half, /^HTTP\/1\.1 503 Service Unavailable\r\n[\s\S]*connection: close/i);
  released.resolve();
  assert.equal((await waiting).status, 200);
  assert.equal(await stopped, true);
});

test('a stop does not wait longer than it may', async (t) => {
  const received = Promise.withResolvers<void>();
  const handler = (): Promise<void> => {
    received.resolve();
    return new Promise(() => {});
  };
  const edge = await startEdge(t, [row('GET', '/held', 'public', { handler })], []);
  const waiting = edge.send('GET', '/held');
  waiting.catch(() => {});
  await received.promise;
  assert.equal(await edge.server.stop(1), false);
  await assert.rejects(waiting);
});

test('a client that leaves early is counted once, without a status if no handler was reached', async (t) => {
  const [received, released, gone] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const held = row('GET', '/held', 'public', {
    handler: async (call) => {
      call.transport.onGone = () => gone.resolve();
      received.resolve();
      await released.promise;
      ok(call, {});
    },
  });
  const edge = await startEdge(t, [...ROUTES, held], []);
  const counted = (): unknown[] => {
    const counts: unknown[] = [];
    edge.server.meters.counts.forEach((route, status, count) => {
      counts.push([route?.path, status, count]);
    });
    return counts;
  };
  const half = connect(edge.port, '127.0.0.1');
  half.write('POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: 7\r\n\r\n{');
  const socket = connect(edge.port, '127.0.0.1');
  socket.write('GET /held HTTP/1.1\r\nhost: x\r\n\r\n');
  await received.promise;
  half.destroy();
  await eventually('the end of the call whose body never came', async () => counted().length === 1);
  socket.destroy();
  await gone.promise;
  assert.deepEqual(counted(), [['/open', 0, 1]]);
  released.resolve();
  assert.equal(await edge.server.stop(1000), true, 'both are over');
  assert.deepEqual(counted().at(-1), ['/held', 200, 1]);
});

test('an array of any length is one JSON text; an empty one as well', async (t) => {
  const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));
  const list = row('GET', '/list/:count', 'public', {
    handler: (call) => okArray(call, rows(Number((call.params as { count: string }).count))),
  });
  const edge = await startEdge(t, [list], []);
  for (const count of [0, 1, 2, 64, 65, 5000]) {
    const { body } = await edge.send('GET', `/list/${count}`);
    assert.deepEqual(body, rows(count));
  }
});

/** Sends the text and reads until the server closes the connection. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  const read = async (): Promise<string> => {
    let received = '';
    for await (const chunk of socket) received += chunk;
    return received;
  };
  return within(`the end of the connection after ${text}`, read());
}
