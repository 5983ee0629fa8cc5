/** Front threads behind a server, as clients see them, and leaving clients as the server sees them. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { ConnectionLimits } from '../../../../gateway/access/connectionLimits.ts';
import type { Call } from '../../../../gateway/http/call.ts';
import type { WebSocketEndpoint } from '../../../../gateway/http/door.ts';
import { ok, okBytes, okInRows, redirect } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { startFronts } from '../../../support/frontRig.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { onWire, requestBytes } from '../../../support/wire.ts';

const LONG = 'ä'.repeat(700_000);
const ROWS = 5000;
/** Enough for a front thread to read everything that has come; if it is too short a test proves less. */
const BLOCKED_MS = 100;

type Text = { readonly text?: string };

function route(method: 'GET' | 'POST', path: string, handler: (call: Call) => void): Route {
  return { method, path, summary: '', access: 'public', limit: 'unlimited', answers: {}, handler } as unknown as Route;
}

function* rowsOf(count: number): Generator<string> {
  for (let row = 0; row < count; row++) yield `${row},${'x'.repeat(100)}\n`;
}

const ROUTES: readonly Route[] = [
  route('GET', '/small', (call) => ok(call, { query: call.rawQuery, peer: [...call.transport.peer()] })),
  route('GET', '/long', (call) => ok(call, { text: LONG })),
  route('GET', '/bytes', (call) => okBytes(call, Buffer.from(JSON.stringify(LONG)))),
  route('GET', '/rows', (call) => okInRows(call, rowsOf(ROWS), 'text/csv')),
  route('GET', '/away', (call) => redirect(call, 'https://example.org/ä')),
  route('GET', '/later', (call) => void setTimeout(() => ok(call, { isLate: true }), 20)),
  {
    ...route('POST', '/echo', (call) => ok(call, { bytes: call.bodyBytes.length, text: (call.body as Text).text })),
    body: { type: 'object', additionalProperties: false, properties: { text: { type: 'string' } } },
  },
];

/** Everything but the lines that differ from one answer to the next. */
function comparable(head: string): string {
  return head
    .split('\r\n')
    .filter((line) => !/^(x-request-id|date):/i.test(line))
    .join('\n');
}

function get(port: number, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (answer) => {
      void textOf(answer).then((body) => {
        const names = answer.rawHeaders.filter((_, at) => at % 2 === 0).join();
        const head = JSON.stringify({ ...answer.headers, 'x-request-id': '', date: '' });
        resolve(`${answer.statusCode} ${names} ${head} ${body}`);
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return text;
}

/** Everything that the server has sent when it closes the connection. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

test('clients of a front thread are sent what those of the gateway thread are, byte for byte', async (t) => {
  const [own, shared] = [await startEdge(t, ROUTES, [], { limiter: null }), await startFronts(t, 2, ROUTES)];
  const requests: [path: string, headers?: Record<string, string>, method?: string][] = [
    ['/small?a=%20b'],
    ['/small?'],
    ['/small', { connection: 'close' }],
    ['/small', {}, 'HEAD'],
    ['/long'],
    ['/long', {}, 'HEAD'],
    ['/bytes'],
    ['/rows'],
    ['/rows', {}, 'HEAD'],
    ['/away'],
    ['/later'],
    ['/nowhere'],
    ['/small', {}, 'DELETE'],
    ['/echo'],
  ];
  for (const [path, headers, method] of requests) {
    const expected = await get(own.port, path, headers, method);
    assert.equal(await get(shared.port, path, headers, method), expected, `${method ?? 'GET'} ${path}`);
  }
  const bodies = [Buffer.from('{}'), Buffer.from('[1'), Buffer.alloc(70_000, ' ')];
  for (const body of bodies) {
    const bytes = requestBytes('POST', '/echo', [], body);
    const [expected] = await onWire(own.port, bytes, 'first');
    const [answer] = await onWire(shared.port, bytes, 'first');
    assert.equal(comparable(answer!.head), comparable(expected!.head));
    assert.equal(answer!.body, expected!.body);
  }
  // The answer to a body without an end is the last on its connection.
  const endless = Buffer.from('POST /nowhere HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n');
  const [[last], [lastOfFront]] = [
    await onWire(own.port, endless, 'first'),
    await onWire(shared.port, endless, 'first'),
  ];
  assert.match(lastOfFront!.head, /^connection: close$/im);
  assert.equal(comparable(lastOfFront!.head), comparable(last!.head));
  const counts = shared.fronts.counts();
  assert.ok(
    counts.every(({ calls }) => calls >= requests.length / 2),
    'connections are spread evenly',
  );
});

test('a body that comes in many parts is received whole', async (t) => {
  const { port } = await startFronts(t, 1, ROUTES);
  const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(60_000) }));
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const bytes = requestBytes('POST', '/echo', [], body);
  for (let at = 0; at < bytes.length; at += 5000) {
    socket.write(bytes.subarray(at, at + 5000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  await eventually('the answer', async () => text.endsWith('x"}'));
  assert.match(text, /^HTTP\/1\.1 200 OK[^{]*\{"bytes":60011,"text":"x{60000}"\}$/);
});

test('a client that leaves aborts its call, and is counted no longer', async (t) => {
  const calls: Call[] = [];
  const { server, port } = await startFronts(t, 2, [route('GET', '/never', (call) => void calls.push(call))]);
  const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(requestBytes('GET', '/never', [], Buffer.alloc(0)));
  await eventually('the calls', async () => calls.length === 4 && server.connections === 4);
  assert.equal(server.ownConnections, 0);
  for (const socket of sockets) socket.destroy();
  await eventually('the aborts', async () => calls.every(({ aborted }) => aborted) && server.connections === 0);
  for (const call of calls) ok(call, {});
});

test('an answer that is on its way when its client leaves reaches none of those that come after it', async (t) => {
  const waiting: Call[] = [];
  const { port } = await startFronts(t, 1, [...ROUTES, route('GET', '/held', (call) => void waiting.push(call))]);
  const opened = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const ask = (socket: Socket, path: string): void => void socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const leaving = await Promise.all(Array.from({ length: 8 }, opened));
  const staying = await Promise.all(leaving.map(opened));
  t.after(() => {
    for (const socket of staying) socket.destroy();
  });
  for (const socket of staying) ask(socket, '/small');
  await Promise.all(staying.map((socket) => once(socket, 'data')));
  for (const socket of leaving) ask(socket, '/held');
  await eventually('the calls have come', async () => waiting.length === leaving.length);
  for (const socket of leaving) socket.resetAndDestroy();
  for (const [number, socket] of staying.entries()) ask(socket, `/small?${number}`);
  // The front gives the slots of clients that have left to the next ones before this thread knows.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
  for (const call of waiting) {
    assert.equal(call.aborted, false);
    ok(call, { isOfAnother: true });
  }
  const answers = await Promise.all(staying.map((socket) => once(socket, 'data')));
  for (const [number, answer] of answers.entries()) assert.match(String(answer), new RegExp(`"query":"${number}"`));
});

test('a front thread that fails cuts its own connections alone, and is started again', async (t) => {
  const calls: Call[] = [];
  const routes = [...ROUTES, route('GET', '/never', (call) => void calls.push(call))];
  const { fronts, server, port, fail } = await startFronts(t, 2, routes);
  const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'));
  const ends = sockets.map((socket) => untilClosed(socket));
  for (const socket of sockets) socket.write(requestBytes('GET', '/never', [], Buffer.alloc(0)));
  await eventually('the calls', async () => calls.length === 4);
  await fail(0);
  await eventually('the aborts', async () => calls.filter(({ aborted }) => aborted).length === 2);
  assert.equal(server.connections, 2);
  assert.equal(fronts.failures, 1);
  for (const call of calls) ok(call, { isAnswered: true });
  for (const socket of sockets) socket.end();
  const texts = await Promise.all(ends);
  assert.deepEqual(texts.map((text) => text.includes('{"isAnswered":true}')).sort(), [false, false, true, true]);
  await eventually('the thread is back', async () => {
    const before = fronts.counts()[0]!.calls;
    for (let at = 0; at < 2; at++) assert.match(await get(port, '/small'), /^200 /);
    return fronts.counts()[0]!.calls > before;
  });
});

test('while every front thread is away the gateway thread has the connections', async (t) => {
  const own: number[] = [];
  const rig = await startFronts(t, 1, [...ROUTES, route('GET', '/who', (call) => count(call))]);
  const count = (call: Call): void => {
    own.push(rig.server.ownConnections);
    ok(call, {});
  };
  await get(rig.port, '/who');
  await rig.fail(0);
  await get(rig.port, '/who');
  await eventually('the thread is back', async () => {
    await get(rig.port, '/who');
    return own.at(-1) === 0;
  });
  assert.deepEqual(own.slice(0, 2), [0, 1]);
});

test('a client that reads nothing is sent a few pieces of a long answer, and others all of theirs', async (t) => {
  let rows = 0;
  function* counted(): Generator<string> {
    for (; rows < 1_000_000; rows++) yield `${'x'.repeat(1000)}\n`;
  }
  const { port } = await startFronts(t, 1, [...ROUTES, route('GET', '/endless', (call) => okInRows(call, counted()))]);
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.write(requestBytes('GET', '/endless', [], Buffer.alloc(0)));
  let before = -1;
  await eventually('the answer stands still', async () => {
    const isStill = rows === before && rows > 64;
    before = rows;
    await get(port, '/rows');
    return isStill;
  });
  assert.ok(rows < 100_000, 'what waits for the client is what the system and a few pieces hold');
  socket.destroy();
});

test('a connection over the limit is closed without an answer, whichever threads have the others', async (t) => {
  const connectionLimits = new ConnectionLimits({
    total: 3,
    perAddress: null,
    proxies: null,
    holders: async () => null,
    clock: new ManualClock(0),
  });
  const { server, port } = await startFronts(t, 2, ROUTES, undefined, { connectionLimits });
  const kept = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'));
  t.after(() => {
    for (const socket of kept) socket.destroy();
  });
  await eventually('three connections', async () => server.connections === 3);
  const refused = connect(port, '127.0.0.1');
  refused.write(requestBytes('GET', '/small', [], Buffer.alloc(0)));
  assert.equal(await untilClosed(refused), '');
  await eventually('the count', async () => server.connections === 3 && connectionLimits.refused === 1);
  kept[0]!.destroy();
  await eventually('room', async () => server.connections === 2);
  assert.match(await get(port, '/small'), /^200 /);
});

test('a stop answers requests under way and refuses new ones, in every thread', async (t) => {
  const calls: Call[] = [];
  const routes = [...ROUTES, route('GET', '/waits', (call) => void calls.push(call))];
  const { server, port } = await startFronts(t, 2, routes);
  const waiting = [get(port, '/waits'), get(port, '/waits')];
  await eventually('the calls', async () => calls.length === 2);
  const stopped = server.stop(5000);
  for (const call of calls) ok(call, { isDone: true });
  for (const answer of await Promise.all(waiting)) assert.match(answer, /^200 .*\{"isDone":true\}$/);
  assert.equal(await stopped, true);
  await assert.rejects(get(port, '/small'));
});

test('certificates are read again by every thread; connections with the old one stay', async (t) => {
  const { cert, key } = makeCertificate();
  const { server, port } = await startFronts(t, 2, ROUTES, undefined, { tls: { certFile: cert, keyFile: key } });
  const open = async () => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    return socket;
  };
  const before = [await open(), await open()];
  await server.reloadTls();
  const after = [await open(), await open()];
  for (const socket of [...before, ...after]) {
    socket.write(requestBytes('GET', '/small', [], Buffer.alloc(0)));
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 200 OK/);
    socket.destroy();
  }
});

test('a thread that starts while certificates are replaced serves with those of now', async (t) => {
  const { cert, key } = makeCertificate();
  const rig = await startFronts(t, 1, ROUTES, undefined, { tls: { certFile: cert, keyFile: key } });
  const held = rig.holdMessages();
  await rig.fail(0);
  const deliver = await eventually('a thread that has read the files', async () => held() ?? false);
  const other = makeCertificate();
  for (const [from, to] of [
    [other.cert, cert],
    [other.key, key],
  ] as const) {
    copyFileSync(from, to);
  }
  const reloading = rig.server.reloadTls();
  await nextTurn();
  deliver();
  await reloading;
  const socket = connectTls({ port: rig.port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  assert.equal(fingerprint256, new X509Certificate(readFileSync(other.cert)).fingerprint256);
});

type Echo = { endpoint: WebSocketEndpoint; closes: number[]; most: number };

/** Sends back what it receives; the text `close` closes, and a number is answered with that many bytes. */
function echo(): Echo {
  const state: Echo = { endpoint: undefined as never, closes: [], most: 0 };
  state.endpoint = {
    path: '/ws',
    behavior: {
      maxPayloadLength: 1024 * 1024,
      maxBackpressure: 64 * 1024 * 1024,
      open: (socket) => void socket.send(Buffer.from('opened')),
      message: (socket, bytes, isBinary) => {
        const text = Buffer.from(bytes).toString();
        if (text === 'close') socket.end(4001, 'as asked');
        else if (/^\d+$/.test(text)) socket.send(Buffer.alloc(Number(text), 'x'), true);
        else socket.send(Buffer.from(bytes.slice(0)), isBinary);
        state.most = Math.max(state.most, socket.getBufferedAmount());
      },
      close: (_socket, code) => void state.closes.push(code),
    },
    close: () => undefined,
  };
  return state;
}

const UPGRADE = route('GET', '/ws', (call) => {
  const { key, protocol, extensions, context } = call.transport.upgrade!;
  call.response.upgrade({}, key, protocol, extensions, context);
  call.answered = true;
  call.host.onAnswered(call);
});

async function openSocket(t: TestContext, port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  socket.binaryType = 'arraybuffer';
  t.after(() => socket.close());
  assert.equal((await nextOf(socket)).data, 'opened');
  return socket;
}

function nextOf(socket: WebSocket): Promise<MessageEvent> {
  return new Promise((resolve, reject) => {
    socket.addEventListener('message', resolve, { once: true });
    socket.addEventListener('close', ({ code }) => reject(new Error(`closed with ${code}`)), { once: true });
  });
}

test('a socket of a front thread carries messages of any length, and closes as either end says', async (t) => {
  const state = echo();
  const { port } = await startFronts(t, 2, [UPGRADE], state.endpoint);
  for (let at = 0; at < 4; at++) {
    const socket = await openSocket(t, port);
    for (const message of ['', 'ä', 'x'.repeat(65_536)]) {
      socket.send(message);
      assert.equal((await nextOf(socket)).data, message);
    }
    socket.send('3000000');
    assert.equal((await nextOf(socket)).data.byteLength, 3_000_000);
    if (at < 2) {
      socket.send('close');
      const [closed] = await once(socket, 'close');
      assert.deepEqual([closed.code, closed.reason], [4001, 'as asked']);
    } else {
      socket.close();
      await once(socket, 'close');
    }
    await eventually('the close', async () => state.closes.length === at + 1);
  }
});

test('what waits for a client that does not read shows as buffered, and no longer once it has read', async (t) => {
  const state = echo();
  const { port } = await startFronts(t, 1, [UPGRADE], state.endpoint);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  const headers = [
    ['Upgrade', 'websocket'],
    ['Connection', 'Upgrade'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ] as const;
  socket.write(requestBytes('GET', '/ws', headers, Buffer.alloc(0)));
  await once(socket, 'data');
  socket.pause();
  const ask = Buffer.concat([Buffer.from([0x81, 0x87, 0, 0, 0, 0]), Buffer.from('1000000')]);
  for (let at = 0; at < 30; at++) socket.write(ask);
  await eventually('the bytes that wait', async () => state.most > 10_000_000);
  let received = 0;
  socket.on('data', (part) => {
    received += part.length;
  });
  socket.resume();
  await eventually('everything', async () => received >= 30_000_000);
  state.most = 0;
  socket.write(Buffer.concat([Buffer.from([0x81, 0x82, 0, 0, 0, 0]), Buffer.from('hi')]));
  await eventually('the echo', async () => received > 30_000_000 + 30 * 10);
  assert.equal(state.most, 0, 'two bytes are below what is counted');
});

test('a front thread that fails closes its sockets, and no others', async (t) => {
  const state = echo();
  const { port, fail } = await startFronts(t, 2, [UPGRADE], state.endpoint);
  const sockets = [await openSocket(t, port), await openSocket(t, port)];
  const closed = Promise.race(sockets.map((socket) => once(socket, 'close')));
  await fail(1);
  await closed;
  await eventually('the close', async () => state.closes.length === 1);
  const left = sockets.find(({ readyState }) => readyState === WebSocket.OPEN)!;
  left.send('still here');
  assert.equal((await nextOf(left)).data, 'still here');
});
