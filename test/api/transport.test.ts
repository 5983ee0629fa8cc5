/** The server itself on a small route table: what happens on the wire before any handler of the exchange is reached. */

import assert from 'node:assert/strict';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Administrators } from '../../gateway/access/administrators.ts';
import { AdminToken } from '../../gateway/access/adminToken.ts';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import { HmacKey } from '../../gateway/access/hmacKey.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { type ApiKey, isAccount } from '../../gateway/access/principal.ts';
import { SCOPE } from '../../gateway/access/scopes.ts';
import type { Call } from '../../gateway/http/call.ts';
import { ok, refuse } from '../../gateway/http/respond.ts';
import type { Route } from '../../gateway/http/route.ts';
import type { Params } from '../../gateway/http/router.ts';
import { HttpServer, type ServerOptions } from '../../gateway/http/server.ts';
import { IdempotencyStage } from '../../gateway/idempotency/stage.ts';
import type { Counted, CounterStore } from '../../gateway/limits/counterStore.ts';
import { Limiter } from '../../gateway/limits/limiter.ts';
import { createLogger } from '../../gateway/process/log.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import { apiKey, PASSPHRASE, SECRET } from '../support/apiKeys.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { MemoryAnswers } from '../support/memoryAnswers.ts';

const START_MS = 1_790_000_000_000;
const UUID = '0b6b3a52-6b0c-4c8e-9a55-0a1d2c3e4f50';

const KEY = apiKey(1, { scopes: SCOPE['trade:orders'] });

const ECHO_BODY = {
  type: 'object',
  additionalProperties: false,
  properties: { side: { type: 'string', enum: ['BUY', 'SELL'] }, text: { type: 'string' } },
};

const ANY_ARRAY = { type: 'array' };

/** A shared counter store that is out of reach. */
const UNDECIDED: CounterStore = { count: () => 'unavailable', peek: () => 'unavailable' };

const answers = new MemoryAnswers();

/** Calls whose handler has not answered yet. */
const waiting: Call[] = [];
let onWaiting: () => void = () => {};

/** No document shows the routes of this test. */
const UNDOCUMENTED = { summary: '', answers: {} } as const;

const ROUTES: Route[] = [
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/health',
    access: 'public',
    limit: 'unlimited',
    probe: true,
    handler: (call) => ok(call, { status: 'ok' }),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/time',
    access: 'public',
    limit: 'unlisted',
    handler: (call) => ok(call, { account: isAccount(call.principal) ? call.principal.accountIndex : null }),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/echo',
    access: 'public',
    limit: 'unlimited',
    body: ECHO_BODY,
    handler: (call) => ok(call, call.body as object),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/length',
    access: 'public',
    limit: 'unlimited',
    maxBodyBytes: 200_000,
    body: ANY_ARRAY,
    handler: (call) => ok(call, { bytes: call.bodyBytes.length, sha256: sha256(call.bodyBytes) }),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/orders/:hash',
    access: 'trade:orders',
    limit: 'orderByHash',
    handler: (call) => ok(call, { hash: (call.params as Params)['hash'] }),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/orders',
    access: 'trade:orders',
    limit: 'placeOrder',
    placing: true,
    idempotency: EXT_ROUTE.PLACE,
    body: ECHO_BODY,
    handler: (call) => wait(call),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/bulk',
    access: 'trade:bulk',
    limit: 'unlisted',
    handler: (call) => ok(call, {}),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/throws',
    access: 'public',
    limit: 'unlimited',
    handler: () => {
      throw new Error('a bug');
    },
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/rejects',
    access: 'public',
    limit: 'unlimited',
    handler: () => Promise.reject(new Error('a bug')),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/forgets',
    access: 'public',
    limit: 'unlimited',
    handler: () => Promise.resolve(),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/waits',
    access: 'public',
    limit: 'unlimited',
    handler: (call) => wait(call),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/admin/ledger',
    access: 'viewer',
    limit: 'unlimited',
    handler: (call) => ok(call, { balanced: true }),
  },
];

function wait(call: Call): void {
  waiting.push(call);
  onWaiting();
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Resolves with the next call a handler leaves open. */
function nextWaiting(): Promise<Call> {
  return new Promise((resolve) => {
    onWaiting = () => resolve(waiting.at(-1)!);
  });
}

type TestServer = {
  readonly http: HttpServer;
  readonly clock: ManualClock;
  readonly port: number;
  isReady: boolean;
  isPaused: boolean;
  isDiskLow: boolean;
};

async function start(changes: Partial<ServerOptions> = {}): Promise<TestServer> {
  const clock = new ManualClock(START_MS);
  const flags = { isReady: true, isPaused: false, isDiskLow: false };
  const keys = new Map([[KEY.keyId, KEY]]);
  const http = new HttpServer({
    config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null },
    routes: ROUTES,
    authenticator: new Authenticator(
      { find: (keyId) => keys.get(keyId) },
      new NonceMemory(START_MS / 1000 - 60, {
        aheadBeforeStart: () => 0,
        acceptedAhead: () => {},
      }),
    ),
    administrators: new Administrators(new AdminToken('admin-token')),
    idempotency: new IdempotencyStage(answers, clock),
    limiter: new Limiter(),
    clock,
    log: createLogger('silent'),
    isReady: () => flags.isReady,
    isPaused: () => flags.isPaused,
    placingRefusal: () => null,
    isDiskLow: () => flags.isDiskLow,
    timeoutEndMs: () => 0,
    ...changes,
  });
  return Object.assign(flags, { http, clock, port: await http.listen() });
}

describe('transport', () => {
  let server: TestServer;
  let nonceCount = 0;

  before(async () => {
    server = await start();
  });
  beforeEach(() => {
    waiting.length = 0;
    // Past every window, so no test counts against another.
    server.clock.advance(120_000);
  });
  after(async () => {
    await server.http.stop(1000);
  });

  /** For a test that ends its server, or needs another: the others keep theirs. */
  async function withOwnServer(changes: Partial<ServerOptions>, run: () => Promise<void>): Promise<void> {
    const common = server;
    server = await start(changes);
    try {
      await run();
    } finally {
      await server.http.stop(1000);
      server = common;
    }
  }

  async function call(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ) {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, body, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) };
  }

  function sign(method: string, path: string, body = '', changes: Record<string, string> = {}): Record<string, string> {
    const timestamp = changes['x-svc-timestamp'] ?? String(Math.floor(server.clock.nowMs() / 1000));
    const nonce = changes['x-svc-nonce'] ?? `nonce-${String(nonceCount++).padStart(16, '0')}`;
    const text = `v2\n${timestamp}\n${nonce}\n${method}\n${path}\n${sha256(body)}`;
    return {
      'x-svc-api-key': KEY.keyId,
      'x-svc-passphrase': PASSPHRASE,
      'x-svc-timestamp': timestamp,
      'x-svc-signature': createHmac('sha256', SECRET).update(text).digest('base64url'),
      'x-svc-signing-version': '2',
      'x-svc-nonce': nonce,
      ...changes,
    };
  }

  /** Everything a connection receives until the server closes it or `enough` holds. */
  function receive(
    socket: Socket,
    enough: (received: string) => boolean = () => false,
  ): Promise<{ text: string; closed: boolean }> {
    return new Promise((resolve) => {
      let text = '';
      socket.setEncoding('latin1');
      socket.on('data', (chunk) => {
        text += chunk;
        if (!enough(text)) return;
        socket.destroy();
        resolve({ text, closed: false });
      });
      socket.on('close', () => resolve({ text, closed: true }));
    });
  }

  async function raw(
    bytes: string,
    enough?: (received: string) => boolean,
  ): Promise<{ text: string; closed: boolean }> {
    return receive(await open(bytes), enough);
  }

  /** A connection on which these bytes have been written; a reset after that is the server's right. */
  function open(bytes: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(bytes);
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  async function isHealthy(): Promise<boolean> {
    return (await call('GET', '/health')).status === 200;
  }

  describe('paths and methods', () => {
    it('answers JSON that no cache keeps and no browser sniffs', async () => {
      const { status, headers, json } = await call('GET', '/health');
      assert.equal(status, 200);
      assert.deepEqual(json, { status: 'ok' });
      assert.equal(headers.get('content-type'), 'application/json');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    });

    it('says how long a connection stays open, unless it is the last request', async () => {
      const kept = await call('GET', '/health');
      assert.equal(kept.headers.get('keep-alive'), 'timeout=8');
      const last = await raw('GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      assert.doesNotMatch(last.text, /keep-alive/i);
    });

    it('answers an unknown path 404 and a known one with another method 405 with Allow', async () => {
      const missing = await call('GET', '/v1/nothing');
      assert.equal(missing.status, 404);
      assert.deepEqual(missing.json, { error: 'not found', code: 'NOT_FOUND' });
      const wrongMethod = await call('DELETE', '/v1/orders');
      assert.equal(wrongMethod.status, 405);
      assert.equal(wrongMethod.json.code, 'METHOD_NOT_ALLOWED');
      assert.equal(wrongMethod.headers.get('allow'), 'POST');
    });

    it('answers HEAD as GET without the body, so the next response on the connection stays readable', async () => {
      const two = 'HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await raw(two, (received) => received.endsWith('{"status":"ok"}'));
      assert.match(text, /^HTTP\/1.1 200 OK.*Content-Length: 15\r\n.*\r\n\r\nHTTP\/1.1 200 OK/s);
      assert.equal(text.split('{').length, 2);
    });

    it('matches no encoded, doubled or trailing form of a path', async () => {
      for (const path of ['/health/', '//health', '/%68ealth', '/HEALTH', '/v1/orders/']) {
        assert.equal((await call('GET', path)).status, 404, path);
      }
    });
  });

  describe('bodies', () => {
    it('hands over exactly the bytes that came, in one piece or in many', async () => {
      const body = Buffer.from(`["${'body '.repeat(30_000)}"]`);
      const { json } = await call('POST', '/v1/length', body);
      assert.deepEqual(json, { bytes: body.length, sha256: sha256(body) });
      const head = 'POST /v1/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const { text } = await raw(`${head}3\r\n[12\r\n2\r\n3]\r\n0\r\n\r\n`, (received) => received.includes('}'));
      assert.ok(text.includes(`{"bytes":5,"sha256":"${sha256('[123]')}"}`));
    });

    it('refuses an announced length over the limit before the body comes, takes it in and serves on', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n';
      const socket = await open(head);
      const refused = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
      assert.match(refused, /^HTTP\/1.1 413 /);
      assert.match(refused, /"code":"PAYLOAD_TOO_LARGE"/);
      const after = receive(socket, (received) => received.endsWith('{"status":"ok"}'));
      socket.write(`${'a'.repeat(65_537)}GET /health HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.match((await after).text, /^HTTP\/1.1 200 OK/);
    });

    it('closes at once when more is announced than anyone should have to take in', async () => {
      const { text, closed } = await raw('POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n');
      assert.match(text, /^HTTP\/1.1 413 /);
      assert.ok(closed);
    });

    it('refuses a body that grows over the limit as it comes, and serves what follows it', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const rest = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const bytes = `${head}10001\r\n${'a'.repeat(65_537)}\r\n0\r\n\r\n${rest}`;
      const { text } = await raw(bytes, (received) => received.endsWith('{"status":"ok"}'));
      assert.match(text, /^HTTP\/1.1 413 .*HTTP\/1.1 200 OK/s);
      assert.ok(await isHealthy());
    });

    it('takes a body of exactly the limit', async () => {
      const text = 'a'.repeat(65_536 - '{"text":""}'.length);
      assert.equal((await call('POST', '/v1/echo', `{"text":"${text}"}`)).status, 200);
      assert.equal((await call('POST', '/v1/echo', `{"text":"${text}a"}`)).status, 413);
    });

    it('ignores a body that no schema asks for and keeps the connection usable', async () => {
      const two =
        'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabcdefGET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await raw(two, (received) => received.endsWith('{"status":"ok"}'));
      assert.match(text, /^HTTP\/1.1 404 .*HTTP\/1.1 200 OK/s);
    });

    it('refuses JSON that is broken, ambiguous, too deep or reaches for a prototype', async () => {
      const bodies: Record<string, string> = {
        '': 'missing body',
        '{': 'body is not valid JSON',
        '{"side":"BUY","side":"SELL"}': 'body has a duplicate field',
        [`{"a":${'['.repeat(8)}${']'.repeat(8)}}`]: 'body is nested deeper than 8 levels',
        '{"__proto__":{"side":"BUY"}}': 'unknown field: __proto__',
        '{"sied":"BUY"}': 'unknown field: sied',
        '{"side":"HOLD"}': 'invalid side',
        '[]': 'invalid body',
      };
      for (const [body, message] of Object.entries(bodies)) {
        const { status, json } = await call('POST', '/v1/echo', body);
        assert.equal(status, 400, body);
        assert.equal(json.code, 'VALIDATION_ERROR');
        assert.equal(json.error, message);
        assert.ok(json.details.field && json.details.rule);
      }
      assert.equal(
        (await call('POST', '/v1/echo', Uint8Array.of(0x22, 0xff, 0x22))).json.error,
        'body is not valid UTF-8',
      );
    });
  });

  describe('hostile connections', () => {
    const framings: Record<string, string> = {
      'two lengths': 'Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde',
      'the same length twice': 'Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
      'a length and a coding': 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'a coding that is not chunked': 'Transfer-Encoding: gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'two codings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'a length with a sign': 'Content-Length: +3\r\n\r\nabc',
      'a length that is no number': 'Content-Length: 3x\r\n\r\nabc',
      'a length beyond 64 bits': 'Content-Length: 99999999999999999999\r\n\r\nabc',
    };
    for (const [name, rest] of Object.entries(framings)) {
      it(`refuses ${name} and closes`, async () => {
        const { text, closed } = await raw(`POST /v1/length HTTP/1.1\r\nHost: a\r\n${rest}`);
        assert.match(text, /^HTTP\/1.1 4(?:00|13) /);
        assert.ok(closed);
      });

      it(`serves nothing that follows ${name}`, async () => {
        const smuggled = 'GET /admin/ledger HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin-token\r\n\r\n';
        const { text, closed } = await raw(`POST /v1/length HTTP/1.1\r\nHost: a\r\n${rest}${smuggled}`);
        assert.ok(!text.includes(' 200 OK'));
        assert.ok(closed);
      });
    }

    it('refuses headers that are too large or too many', async () => {
      for (const headers of [`a: ${'b'.repeat(9000)}\r\n`, 'a: b\r\n'.repeat(200)]) {
        const { text, closed } = await raw(`GET /health HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
        assert.match(text, /^HTTP\/1.1 431 /);
        assert.ok(closed);
      }
    });

    it('answers other protocols with an error or silence, and others go on undisturbed', async () => {
      const socket = await open('hello\r\n\r\n');
      const { text } = await raw('GET /health HTTP/3.7\r\nHost: a\r\n\r\n');
      assert.match(text, /^HTTP\/1.1 505 /);
      assert.ok(await isHealthy());
      socket.destroy();
    });

    it('lets half-sent bodies come and go without disturbing another client', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{"side":';
      const sockets = await Promise.all(Array.from({ length: 20 }, () => open(head)));
      assert.deepEqual((await call('POST', '/v1/echo', '{"side":"BUY"}')).json, { side: 'BUY' });
      for (const [index, socket] of sockets.entries()) index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
      assert.ok(await isHealthy());
    });

    it('survives a client that leaves before its answer, and the late answer reaches nobody', async () => {
      const arrived = nextWaiting();
      const socket = await open('GET /v1/waits HTTP/1.1\r\nHost: a\r\n\r\n');
      const late = await arrived;
      socket.resetAndDestroy();
      while (!late.aborted) await nextTurn();
      ok(late, { late: true });
      assert.ok(await isHealthy());
    });

    it('answers pipelined requests in order', async () => {
      const post = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\n{"side":"BUY"}';
      const get = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await raw(get + post + get, (received) => received.split('"status"').length === 3);
      assert.deepEqual(text.match(/\{.*?\}/g), ['{"status":"ok"}', '{"side":"BUY"}', '{"status":"ok"}']);
    });
  });

  describe('identity', () => {
    it('answers 401 at each step in order and names the step', async () => {
      const path = '/v1/orders/0xab';
      const good = () => sign('GET', path);
      const steps: [Record<string, string>, string, string][] = [
        [{}, 'missing required API key headers', 'headers'],
        [{ ...good(), 'x-svc-nonce': '' }, 'missing required API key headers', 'headers'],
        [{ ...good(), 'x-svc-signing-version': '9' }, 'unsupported signing version', 'signing_version'],
        [{ ...good(), 'x-svc-api-key': 'nobody' }, 'invalid API key', 'api_key'],
        [{ ...good(), 'x-svc-timestamp': 'noon' }, 'invalid timestamp', 'timestamp'],
        [{ ...good(), 'x-svc-timestamp': '1' }, 'timestamp outside acceptable window', 'timestamp'],
        [{ ...good(), 'x-svc-passphrase': 'wrong' }, 'invalid passphrase', 'passphrase'],
        [{ ...good(), 'x-svc-signature': 'A'.repeat(43) }, 'invalid signature', 'signature'],
        [sign('GET', path, '', { 'x-svc-nonce': 'short' }), 'invalid nonce', 'nonce'],
      ];
      for (const [headers, message, step] of steps) {
        const { status, json } = await call('GET', path, undefined, headers);
        assert.equal(status, 401, message);
        assert.equal(json.error, message);
        assert.equal(json.details.step, step);
        const isTime = step === 'timestamp';
        assert.equal(json.details.server_time, isTime ? Math.floor(server.clock.nowMs() / 1000) : undefined);
      }
      const once = good();
      assert.deepEqual((await call('GET', path, undefined, once)).json, { hash: '0xab' });
      assert.equal((await call('GET', path, undefined, once)).json.error, 'nonce already used');
    });

    it('signs the query exactly as sent, an empty one included', async () => {
      // A public route takes any query, and shows whether the key was recognised.
      for (const path of ['/v1/time?b=2&a=%31', '/v1/time?']) {
        const target = `GET ${path} HTTP/1.1\r\nHost: a\r\n`;
        const headers = Object.entries(sign('GET', path)).map(([name, value]) => `${name}: ${value}\r\n`);
        const { text } = await raw(`${target}${headers.join('')}\r\n`, (received) => received.includes('}'));
        assert.match(text, /^HTTP\/1.1 200 .*{"account":1}/s, path);
      }
    });

    it('refuses a key without the scope', async () => {
      const { status, json } = await call('GET', '/v1/bulk', undefined, sign('GET', '/v1/bulk'));
      assert.equal(status, 403);
      assert.equal(json.code, 'INSUFFICIENT_SCOPE');
    });

    it('knows a key on public data and never refuses a bad one there', async () => {
      assert.deepEqual((await call('GET', '/v1/time', undefined, sign('GET', '/v1/time'))).json, { account: 1 });
      const skewed = sign('GET', '/v1/time', '', { 'x-svc-timestamp': '1' });
      assert.deepEqual((await call('GET', '/v1/time', undefined, skewed)).json, { account: null });
    });

    it('lets the administrator in by token only', async () => {
      const wrong = await call('GET', '/admin/ledger', undefined, { authorization: 'Bearer wrong' });
      assert.equal(wrong.status, 401);
      assert.equal(wrong.json.code, 'UNAUTHORIZED');
      assert.equal((await call('GET', '/admin/ledger', undefined, sign('GET', '/admin/ledger'))).status, 401);
      const right = await call('GET', '/admin/ledger', undefined, { authorization: 'Bearer admin-token' });
      assert.deepEqual(right.json, { balanced: true });
    });
  });

  describe('limits', () => {
    it('admits anonymous calls up to the limit of the endpoint and says so in five headers', async () => {
      for (let left = 29; left >= 0; left--) {
        const { status, headers } = await call('GET', '/v1/time');
        assert.equal(status, 200);
        assert.equal(headers.get('x-ratelimit-decision'), 'allowed');
        assert.equal(headers.get('x-ratelimit-limit'), '30');
        assert.equal(headers.get('x-ratelimit-window-seconds'), '60');
        assert.equal(headers.get('x-ratelimit-remaining'), String(left));
        assert.equal(headers.get('x-ratelimit-reset'), String(server.clock.nowMs() / 1000 + 60));
      }
      const refused = await call('GET', '/v1/time');
      assert.equal(refused.status, 429);
      assert.equal(refused.json.code, 'RATE_LIMITED');
      assert.equal(refused.headers.get('x-ratelimit-decision'), 'quota_denied');
      assert.equal(refused.headers.get('x-ratelimit-remaining'), '0');
      assert.equal(refused.headers.get('retry-after'), '60');
      assert.equal(
        (await call('GET', '/v1/time', undefined, sign('GET', '/v1/time'))).status,
        200,
        'a key has its own',
      );
    });

    it('sends nobody away for longer than the window lasts', async () => {
      server.clock.advance(400);
      const path = '/v1/orders/0xab';
      const read = () => call('GET', path, undefined, sign('GET', path));
      for (let index = 0; index < 10; index++) assert.equal((await read()).status, 200);
      assert.equal((await read()).headers.get('retry-after'), '1');
      server.clock.advance(1000);
      assert.equal((await read()).status, 200);
    });

    it('counts a key by its tier per endpoint, and forged calls not at all', async () => {
      const path = '/v1/orders/0xab';
      for (let index = 0; index < 5; index++) {
        const forged = { ...sign('GET', path), 'x-svc-signature': 'A'.repeat(43) };
        assert.equal((await call('GET', path, undefined, forged)).status, 401);
      }
      for (let left = 9; left >= 0; left--) {
        const { headers } = await call('GET', path, undefined, sign('GET', path));
        assert.equal(headers.get('x-ratelimit-remaining'), String(left));
      }
      const other = '/v1/orders/0xcd';
      assert.equal((await call('GET', other, undefined, sign('GET', other))).status, 429, 'the same endpoint');
      assert.equal((await call('GET', '/v1/time', undefined, sign('GET', '/v1/time'))).status, 200);
      server.clock.advance(1000);
      assert.equal((await call('GET', path, undefined, sign('GET', path))).status, 200);
    });

    it('counts failed attempts by address like anonymous calls', async () => {
      const statuses = [];
      for (let index = 0; index < 22; index++) statuses.push((await call('GET', '/v1/orders/0xab')).status);
      assert.deepEqual(statuses, [...Array(20).fill(401), 429, 429]);
      assert.equal((await call('GET', '/v1/orders/0xab', undefined, sign('GET', '/v1/orders/0xab'))).status, 200);
    });

    it('refuses when the counters cannot decide, without numbers they do not know', async () => {
      await withOwnServer({ limiter: new Limiter(undefined, UNDECIDED) }, async () => {
        const { status, headers, json } = await call('GET', '/v1/time');
        assert.equal(status, 429);
        assert.equal(json.code, 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE');
        assert.equal(headers.get('x-ratelimit-decision'), 'dependency_unavailable');
        assert.equal(headers.get('retry-after'), '1');
        assert.equal(headers.get('x-ratelimit-remaining'), null);
        assert.equal(headers.get('x-ratelimit-reset'), null);
      });
    });
  });

  describe('limits that are decided elsewhere', () => {
    const ALLOWED: Counted = { allowed: true, remaining: 1, resetMs: START_MS, retryMs: START_MS };
    const DENIED: Counted = { allowed: false, remaining: 0, resetMs: START_MS + 1000, retryMs: START_MS + 1000 };
    const LIMITED: Route = {
      ...UNDOCUMENTED,
      method: 'POST',
      path: '/v1/limited',
      access: 'public',
      limit: 'unlisted',
      maxBodyBytes: 200_000,
      body: ANY_ARRAY,
      handler: (made) => ok(made, { bytes: made.bodyBytes.length }),
    };
    const head = (bytes: number) => `POST /v1/limited HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;

    /** A store that waits for the test: `asked` resolves with what answers the next question. */
    function lateStore() {
      const questions: ((counted: Counted) => void)[] = [];
      const store: CounterStore = {
        count: () => new Promise((resolve) => questions.push(resolve)),
        peek: () => 'unavailable',
      };
      const asked = async () => {
        while (questions.length === 0) await nextTurn();
        return questions.shift()!;
      };
      return { limiter: new Limiter(store, store, store), routes: [...ROUTES, LIMITED], asked };
    }

    function withLateStore(run: (asked: () => Promise<(counted: Counted) => void>) => Promise<void>): Promise<void> {
      const { asked, ...changes } = lateStore();
      return withOwnServer(changes, () => run(asked));
    }

    it('keep the body that came meanwhile', async () => {
      await withLateStore(async (asked) => {
        const body = Buffer.from(`["${'body '.repeat(30_000)}"]`);
        const answer = call('POST', '/v1/limited', body);
        const decide = await asked();
        assert.ok(await isHealthy());
        decide(ALLOWED);
        const { status, json, headers } = await answer;
        assert.deepEqual([status, json], [200, { bytes: body.length }]);
        assert.equal(headers.get('x-ratelimit-decision'), 'allowed');
      });
    });

    it('wait for the body when they come first, and refuse without waiting for it', async () => {
      await withLateStore(async (asked) => {
        for (const [counted, expected] of [
          [ALLOWED, /^HTTP\/1.1 200 .*"bytes":5/s],
          [DENIED, /^HTTP\/1.1 429 .*quota_denied.*"code":"RATE_LIMITED"/s],
        ] as const) {
          const socket = await open(`${head(5)}[1`);
          const received = receive(socket, (text) => text.includes('}'));
          (await asked())(counted);
          if (counted === ALLOWED) socket.write('23]');
          assert.match((await received).text, expected);
        }
        assert.ok(await isHealthy());
      });
    });

    it('let a client go away before, with its body half sent or whole', async () => {
      await withLateStore(async (asked) => {
        for (const bytes of ['', '[1', '[123]']) {
          for (const counted of [ALLOWED, DENIED, 'unavailable'] as const) {
            const socket = await open(`${head(5)}${bytes}`);
            const decide = await asked();
            socket.destroy();
            assert.ok(await isHealthy(), 'the server has seen the end of the connection, too');
            decide(counted);
            assert.ok(await isHealthy());
          }
        }
      });
    });

    it('decide about a key after its signature, and about a failed attempt before it is told', async () => {
      await withLateStore(async (asked) => {
        const path = '/v1/orders/0xab';
        for (const [headers, counted, expected] of [
          [sign('GET', path), ALLOWED, 200],
          [sign('GET', path), DENIED, 429],
          [sign('GET', path), 'unavailable', 429],
          [{}, ALLOWED, 401],
          [{}, DENIED, 429],
        ] as const) {
          const answer = call('GET', path, undefined, headers);
          (await asked())(counted);
          assert.equal((await answer).status, expected);
        }
      });
    });

    const changedKeys: [string, () => ApiKey][] = [
      ['is revoked', () => ({ ...KEY, revoked: true })],
      ['gets another secret', () => ({ ...KEY, secret: new HmacKey(Buffer.alloc(32)) })],
    ];
    for (const [what, changed] of changedKeys)
      it(`refuse a key that ${what} while they are asked`, async () => {
        let key = KEY;
        const nonces = new NonceMemory(START_MS / 1000 - 60, { aheadBeforeStart: () => 0, acceptedAhead: () => {} });
        const { asked, ...changes } = lateStore();
        const authenticator = new Authenticator({ find: () => key }, nonces);
        await withOwnServer({ ...changes, authenticator }, async () => {
          const path = '/v1/orders/0xab';
          const answer = call('GET', path, undefined, sign('GET', path));
          const decide = await asked();
          key = changed();
          decide(ALLOWED);
          const { status, json } = await answer;
          assert.deepEqual([status, json.error], [401, 'API key is revoked or expired']);
        });
      });

    it('hold up the end of the server no longer than they take', async () => {
      await withLateStore(async (asked) => {
        const answer = call('GET', '/v1/time');
        const decide = await asked();
        const stopped = server.http.stop(5000);
        decide(ALLOWED);
        assert.equal((await answer).status, 200);
        assert.ok(await stopped);
      });
    });
  });

  describe('admission and idempotency', () => {
    const body = '{"side":"BUY"}';
    const place = (headers: Record<string, string> = {}, payload = body) =>
      call('POST', '/v1/orders', payload, { ...sign('POST', '/v1/orders', payload), ...headers });

    it('refuses to place while paused, before it looks at the body, and nothing else', async () => {
      server.isPaused = true;
      const { status, headers, json } = await place({}, '{');
      server.isPaused = false;
      assert.equal(status, 503);
      assert.deepEqual(json, { error: 'platform is paused', code: 'PLATFORM_PAUSED' });
      assert.equal(headers.get('retry-after'), '1');
      assert.equal((await place({}, '{')).status, 400);
    });

    it('takes nothing new while the disk is nearly full, and everything else', async () => {
      server.isDiskLow = true;
      const refused = await place({}, '{');
      assert.deepEqual([refused.status, refused.json.code], [503, 'ENGINE_BUSY']);
      assert.equal(refused.headers.get('retry-after'), '1');
      assert.equal((await call('GET', '/v1/time')).status, 200);
      server.isDiskLow = false;
      assert.equal((await place({}, '{')).status, 400);
    });

    it('refuses everything but probes until it is ready', async () => {
      server.isReady = false;
      const refused = await call('GET', '/v1/time');
      assert.equal(refused.status, 503);
      assert.equal(refused.headers.get('retry-after'), '1');
      assert.ok(await isHealthy());
      server.isReady = true;
      assert.equal((await call('GET', '/v1/time')).status, 200);
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

    it('sends an answer that a key keeps when it is durable, and OUTCOME_UNKNOWN when nobody can say', async () => {
      for (const isKept of [true, false]) {
        answers.isPrompt = false;
        const arrived = nextWaiting();
        let isAnswered = false;
        const answer = place({ 'idempotency-key': randomUUID() }).finally(() => {
          isAnswered = true;
        });
        ok(await arrived, { done: 3 });
        // A round trip of its own: what was sent before it would have come before it.
        await call('GET', '/v1/time');
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

  describe('failures and the end', () => {
    it('answers 500 when a handler throws, rejects or forgets, and lives on', async () => {
      for (const path of ['/v1/throws', '/v1/rejects', '/v1/forgets']) {
        const { status, json } = await call('GET', path);
        assert.equal(status, 500);
        assert.deepEqual(json, { error: 'internal error', code: 'INTERNAL_ERROR' });
      }
      assert.ok(await isHealthy());
    });

    it('refuses to share a port with another server', async () => {
      const { port } = server;
      const config = { host: '127.0.0.1', port, tls: null, trustProxy: null };
      await assert.rejects(start({ config }), new RegExp(`cannot listen on 127.0.0.1 port ${port}`));
      assert.ok(await isHealthy());
    });

    it('drains: answers what is in flight, accepts nothing new, then closes every connection', async () => {
      await withOwnServer({}, async () => {
        const idle = await open('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        const idleClosed = new Promise((resolve) => idle.on('close', resolve));
        idle.resume();
        const arrived = nextWaiting();
        const inFlight = call('GET', '/v1/waits');
        const held = await arrived;
        const stopped = server.http.stop(5000);
        // Clients that wait to be let in are let in first.
        await eventually('a refused connection', async () => {
          const error = await open('').then(
            (socket) => socket.destroy() && null,
            (refusal) => refusal,
          );
          return error?.code === 'ECONNREFUSED';
        });
        ok(held, { drained: true });
        assert.deepEqual((await inFlight).json, { drained: true });
        assert.equal(await stopped, true);
        await idleClosed;
      });
    });

    it('refuses what still comes over open connections while it drains, except probes', async () => {
      await withOwnServer({}, async () => {
        const [probe, other] = [await open(''), await open('')];
        const arrived = nextWaiting();
        const inFlight = call('GET', '/v1/waits');
        const held = await arrived;
        const stopped = server.http.stop(5000);
        probe.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        other.write('GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.match((await receive(probe)).text, /^HTTP\/1.1 200 /);
        assert.match((await receive(other)).text, /^HTTP\/1.1 503 /);
        ok(held, {});
        await inFlight;
        assert.equal(await stopped, true);
      });
    });

    it('answers a request that was sent before its client could know of the end', async () => {
      await withOwnServer({}, async () => {
        const kept = await open('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        await new Promise((resolve) => kept.once('data', resolve));
        const stopped = server.http.stop(1000);
        kept.write('GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.match((await receive(kept)).text, /^HTTP\/1.1 503 /);
        assert.equal(await stopped, true);
      });
    });

    it('gives up draining at its deadline and says so', async () => {
      await withOwnServer({}, async () => {
        const arrived = nextWaiting();
        const refused = assert.rejects(call('GET', '/v1/waits'));
        const held = await arrived;
        assert.equal(await server.http.stop(1), false);
        await refused;
        assert.ok(held.aborted);
        ok(held, { late: true });
      });
    });
  });
});
