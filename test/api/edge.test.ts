/** The edge of a real server: TLS, connections, slow and large senders, browsers (RULES.md 6.4, 6.9). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { get as getOverTls } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { makeCertificate } from '../support/certificate.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { sharedServer, startServer, type TestServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const HEALTH = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';

function portOf(server: TestServer): number {
  return Number(new URL(server.baseUrl).port);
}

/** For the tests that need no setting of their own. */
const plainServer = await sharedServer();

const ORIGIN = 'https://app.example.org';
/** A server with settings that do not affect each other; its connections are counted first. */
const setServer = await startServer(fileScope, {
  SHARDS: '1',
  MAX_CONNECTIONS: '20',
  CORS_ORIGINS: `${ORIGIN}, http://localhost:3000`,
});

/** Resolves when the connection is made; a reset after that is the server's right. */
async function open(server: TestServer, t: TestContext): Promise<Socket> {
  const socket = connect(portOf(server), '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.on('error', () => {});
  return socket;
}

/** The status line of the answer, or null when the connection ends without one. */
function answerTo(socket: Socket, bytes: string): Promise<string | null> {
  return new Promise((resolve) => {
    socket.once('data', (chunk) => resolve(String(chunk).split('\r\n')[0]));
    socket.once('close', () => resolve(null));
    socket.write(bytes);
  });
}

async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  holder.close();
  await once(holder, 'close');
  return port;
}

const FIRST_TOKEN = 'the-first-token-of-the-file-0123456789';
const SECOND_TOKEN = 'the-second-token-of-the-file-012345678';

describe('TLS_CERT, TLS_KEY and ADMIN_TOKEN_FILE', async () => {
  const { cert, key } = makeCertificate();
  const tokenFile = join(temporaryDirectory(), 'token');
  writeFileSync(tokenFile, `${FIRST_TOKEN}\n`);
  const server = await startServer(
    { after },
    {
      SHARDS: '1',
      PORT: String(await freePort()),
      TLS_CERT: cert,
      TLS_KEY: key,
      MAX_CONNECTIONS: '3',
      ADMIN_PORT: '0',
      ADMIN_TOKEN: '',
      ADMIN_TOKEN_FILE: tokenFile,
    },
  );
  let ca = readFileSync(cert);
  const health = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: portOf(server), path: '/health', ca, agent: false };
      const sent = getOverTls(options, (response) => {
        assert.equal(response.headers['strict-transport-security'], 'max-age=31536000', 'RULES.md 6.9');
        response.setEncoding('utf8').on('data', (chunk) => resolve(`${response.statusCode} ${chunk}`));
      });
      sent.on('error', reject);
    });
  /** Sends SIGHUP and waits for a line of the log. */
  const hangUp = async (logged: string): Promise<void> => {
    const before = server.stdout.length;
    process.kill(server.pid!, 'SIGHUP');
    await eventually(logged, async () => server.stdout.slice(before).some((line) => line.includes(logged)));
  };
  const asAdmin = (token: string, path: string): Promise<Response> =>
    fetch(server.adminUrl + path, { headers: { authorization: `Bearer ${token}` } });
  const statuses = async (): Promise<number[]> => {
    const answers = [FIRST_TOKEN, SECOND_TOKEN].map(async (token) => (await asAdmin(token, '/admin/platform')).status);
    return Promise.all(answers);
  };

  test('it speaks only TLS, even while it turns connections away', async (t) => {
    assert.equal(await health(), '200 {"status":"ok"}');
    const plain = await open(server, t);
    assert.equal(await answerTo(plain, HEALTH), null);
    const held = [1, 2, 3].map(() => connectTls({ host: '127.0.0.1', port: portOf(server), ca }));
    await Promise.all(held.map((socket) => once(socket, 'secureConnect')));
    for (let count = 0; count < 5; count++) await assert.rejects(health());
    const end = (socket: Socket): Promise<unknown> =>
      once(
        socket.end().on('error', () => {}),
        'close',
      );
    await Promise.all(held.map(end));
    assert.equal(await health(), '200 {"status":"ok"}');
  });

  test('SIGHUP puts another certificate into use, and leaves the token of an unchanged file (10.15)', async () => {
    const next = makeCertificate();
    copyFileSync(next.cert, cert);
    copyFileSync(next.key, key);
    await hangUp('new connections get the certificate');
    await assert.rejects(health(), 'it has another certificate now');
    ca = readFileSync(cert);
    assert.equal(await health(), '200 {"status":"ok"}');
    assert.deepEqual(await statuses(), [200, 401]);
  });

  test('SIGHUP puts another token into use, closes the feed of the old one, and is recorded (9.50)', async () => {
    const feed = (await asAdmin(FIRST_TOKEN, '/admin/events')).body!.getReader();
    assert.equal((await feed.read()).done, false);
    writeFileSync(tokenFile, 'two words');
    await hangUp('the new administrator token could not be used: the old one stays');
    assert.deepEqual(await statuses(), [200, 401]);
    writeFileSync(`${tokenFile}.new`, SECOND_TOKEN);
    renameSync(`${tokenFile}.new`, tokenFile);
    await hangUp('the administrator token was replaced');
    assert.deepEqual(await statuses(), [401, 200]);
    const toItsEnd = async (): Promise<void> => {
      while (!(await feed.read()).done);
    };
    await assert.rejects(toItsEnd(), 'it is cut off');
    const answer = await asAdmin(SECOND_TOKEN, '/admin/audit?event=admin_token_replaced');
    const { records } = (await answer.json()) as { records: { event: string }[] };
    assert.equal(records.length, 1);
    for (const token of [FIRST_TOKEN, SECOND_TOKEN]) assert.ok(!server.stdout.join().includes(token));
    assert.equal(await server.stop(), 0);
  });
});

test('MAX_CONNECTIONS: one more is closed at once, the others go on, and a closed one makes room', async (t) => {
  const server = setServer;
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(server, t)));
  // Their requests have been answered, so all of them have been counted.
  for (const socket of sockets) assert.equal(await answerTo(socket, HEALTH), 'HTTP/1.1 200 OK');
  assert.equal(await answerTo(await open(server, t), HEALTH), null);
  assert.equal(await answerTo(sockets[7], HEALTH), 'HTTP/1.1 200 OK');
  const left = once(sockets[0], 'close');
  sockets[0].end();
  await left;
  assert.equal(await answerTo(await open(server, t), HEALTH), 'HTTP/1.1 200 OK');
});

test('NEW_CONNECTIONS_PER_IP: an address that opens more is refused, and the metrics count it', async (t) => {
  const server = await startServer(t, { SHARDS: '1', RATE_LIMITS: 'on', NEW_CONNECTIONS_PER_IP: '5' });
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open(server, t)));
  for (const socket of sockets) assert.equal(await answerTo(socket, HEALTH), 'HTTP/1.1 200 OK');
  assert.equal(await answerTo(await open(server, t), HEALTH), null);
  const metrics = new Promise<string>((resolve) => {
    let text = '';
    sockets[0].on('data', (chunk) => {
      text += chunk;
      if (/exchange_connections_refused_total \d/.test(text)) resolve(text);
    });
  });
  sockets[0].write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(await metrics, /\nexchange_connections_refused_total 1\n/);
});

test('who sends headers or a body drop by drop, or no Host, is cut off; others are not', async (t) => {
  const slow: [what: string, first: string, drop: string][] = [
    ['headers', 'GET /health HTTP/1.1\r\nHost: a\r\n', 'x: y\r\n'],
    ['a body', 'POST /v1/orders HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n', ' '],
    ['chunks', 'POST /v1/orders HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\n \r\n'],
    ['no Host', 'GET /health HTTP/1.1\r\n\r\n', ''],
    ['nothing', '', ''],
  ];
  const ends = slow.map(async ([what, first, drop]) => {
    const socket = await open(plainServer, t);
    const answers: string[] = [];
    socket.on('data', (chunk) => answers.push(String(chunk)));
    const closed = once(socket, 'close');
    if (first !== '') socket.write(first);
    const timer = setInterval(() => socket.write(drop), 500);
    t.after(() => clearInterval(timer));
    await closed;
    assert.ok(!answers.join('').includes(' 200 '), what);
  });
  await Promise.all(ends);
  assert.equal((await plainServer.request('GET', '/health')).status, 200);
});

test('413 reaches a client that is still sending; its connection stays usable, but after a chunked body', async (t) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ports = new Set<number>();
  const send = (bytes: number, headers: Record<string, string | number>): Promise<string> =>
    new Promise((resolve, reject) => {
      const path = bytes === 0 ? '/health' : '/v1/orders';
      const sent = request(
        plainServer.baseUrl + path,
        { method: bytes === 0 ? 'GET' : 'POST', agent, headers },
        (response) => {
          response.setEncoding('utf8').on('data', (chunk) => {
            if (!sent.writableFinished) sent.once('finish', () => resolve(`${response.statusCode} ${chunk}`));
            else resolve(`${response.statusCode} ${chunk}`);
          });
        },
      );
      sent.on('error', reject);
      sent.on('socket', (socket) => ports.add(socket.localPort!));
      for (let left = bytes; left > 0; left -= 100_000) sent.write(Buffer.alloc(Math.min(left, 100_000), ' '));
      sent.end();
    });
  const tooLarge = '413 {"error":"request body too large","code":"PAYLOAD_TOO_LARGE"}';
  const { client } = await makeTrader(plainServer);
  const signed = () => client.prepareSigned('POST', '/v1/orders', {}).headers;
  assert.equal(await send(5_000_000, { 'content-length': 5_000_000 }), tooLarge);
  assert.equal(await send(0, {}), '200 {"status":"ok"}');
  assert.equal(ports.size, 1, 'both on one connection');
  assert.equal(await send(5_000_000, { ...signed(), 'transfer-encoding': 'chunked' }), tooLarge);
  assert.equal(await send(0, {}), '200 {"status":"ok"}');
  assert.equal(ports.size, 2, 'the one with the chunked body is closed');
  assert.equal((await plainServer.request('GET', '/health')).status, 200);
});

test('no page of another origin reads answers by default; nobody embeds or sniffs them', async () => {
  const origin = ORIGIN;
  const { headers } = await plainServer.request('GET', '/v1/time', undefined, { origin });
  assert.equal(headers.get('access-control-allow-origin'), null);
  assert.equal(headers.get('vary'), null);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.equal(headers.get('strict-transport-security'), null, 'it speaks no TLS, nor does a proxy');
  const asked = { origin, 'access-control-request-method': 'POST' };
  assert.equal((await plainServer.request('OPTIONS', '/v1/orders', undefined, asked)).status, 405);
});

test('CORS_ORIGINS: named pages ask first and read answers, errors too; never of admin routes', async () => {
  const [origin, server] = [ORIGIN, setServer];
  const ask = (path: string, method: string, from = origin) =>
    server.request('OPTIONS', path, undefined, { origin: from, 'access-control-request-method': method });
  const preflight = await ask('/v1/orders', 'POST');
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST');
  assert.match(
    preflight.headers.get('access-control-allow-headers')!,
    /content-type.*idempotency-key.*x-svc-signature/,
  );
  assert.equal(preflight.headers.get('access-control-allow-credentials'), 'true', 'its name is given');
  const refused = await server.request('POST', '/v1/orders', {}, { origin });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('access-control-allow-origin'), origin);
  assert.match(refused.headers.get('access-control-expose-headers')!, /Retry-After.*Date.*Idempotency-Replayed/);
  for (const [method, path, status] of [
    ['PATCH', '/v1/orders', 405],
    ['GET', '/nowhere', 404],
    ['POST', '/v1/orders', 413],
  ] as const) {
    const body = status === 413 ? 'x'.repeat(70_000) : undefined;
    const answer = await server.request(method, path, body, { origin });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [status, origin], path);
  }

  assert.equal((await ask('/v1/orders', 'POST', 'https://evil.example.org')).status, 405);
  assert.equal((await ask('/v1/orders', 'TRACE')).status, 405);
  assert.equal((await ask('/nowhere', 'GET')).status, 404);
  for (const path of ['/admin/platform/pause', '/admin/ledger', '/metrics', '/admin/nowhere', '/admin']) {
    const expected = /nowhere|admin$/.test(path) ? 404 : 405;
    assert.equal((await ask(path, path.endsWith('pause') ? 'POST' : 'GET')).status, expected, path);
    const answer = await fetch(server.baseUrl + path, { headers: { origin } });
    assert.equal(answer.headers.get('access-control-allow-origin'), null, path);
    await answer.body?.cancel();
  }
  const other = await server.request('GET', '/v1/time', undefined, { origin: 'https://evil.example.org' });
  assert.equal(other.headers.get('access-control-allow-origin'), null);
  assert.equal(other.headers.get('vary'), 'Origin');
});
