/** A front thread whose gateway thread does nothing for a while. */

import type { HttpResponse } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import { FrontCall } from '../../../../gateway/front/frontCall.ts';
import { MOST_UNREAD_BYTES } from '../../../../gateway/front/frontSocket.ts';
import { Incoming } from '../../../../gateway/front/incoming.ts';
import { Outgoing } from '../../../../gateway/front/outgoing.ts';
import { FROM_FRONT } from '../../../../gateway/front/records.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { MOST_PER_TURN } from '../../../../gateway/http/turnLimit.ts';
import { systemClock } from '../../../../shared/base/clock.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { startFronts } from '../../../support/frontRig.ts';
import { OPCODE, RawSocket } from '../../../support/rawSocket.ts';

/** A client whose sockets are open for this long reports it instead of waiting for ever. */
const CLOSED_WITHIN_MS = 20_000;
const OPEN = 'a socket stays open';

/**
 * Opens sockets and a connection, sends 3 MB of messages on each of them, when it may, until they are closed, and then
 * asks `path` on the connection, so many times in one write, or nothing: the file has what comes first, an answer or
 * the end of the connection. In the end it says how the sockets were closed, and how a second request is answered.
 */
const CLIENT = `
import { once } from 'node:events';
import { connect } from 'node:net';
import { renameSync, writeFileSync } from 'node:fs';
const [port, path, file, sockets, times] = process.argv.slice(-5);
const ask = (socket, path, times = 1) => {
  socket.write(('GET ' + path + ' HTTP/1.1\\r\\nHost: test\\r\\nOrigin: https://page.test\\r\\n\\r\\n').repeat(times));
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(String(bytes)));
    // A reset is one, too.
    socket.on('error', () => {});
    socket.once('close', () => resolve('closed'));
  });
};
const open = async () => {
  const socket = new WebSocket('ws://127.0.0.1:' + port + '/ws');
  await once(socket, 'open');
  return socket;
};
const opened = await Promise.all(Array.from({ length: Number(sockets) }, open));
const first = connect(Number(port), '127.0.0.1');
await ask(first, '/small');
process.stdout.write('ready');
await once(process.stdin, 'data');
const message = 'x'.repeat(60_000);
const codes = opened.map(async (socket) => {
  const closed = once(socket, 'close');
  for (let count = 0; count < 50; count++) socket.send(message);
  const open = new Promise((resolve) => setTimeout(resolve, ${CLOSED_WITHIN_MS}, [{ code: '${OPEN}' }]).unref());
  return (await Promise.race([closed, open]))[0].code;
});
const all = [...new Set(await Promise.all(codes))].join();
const found = async () => (path === '' ? 'closed' : ask(first, path, Number(times)));
// Whoever waits for the file finds it whole.
writeFileSync(file + '.part', all.includes('${OPEN}') ? '${OPEN}' : await found());
renameSync(file + '.part', file);
await once(process.stdin, 'data');
process.stdout.write(all + ' ' + (await ask(connect(Number(port), '127.0.0.1'), '/small')).slice(9, 12));
process.exit(0);
`;

/** A minute: a client that fails must not hold the test for ever. */
const MOST_LOOKS = 6000;
const SPEC = { method: 'GET', summary: '', access: 'public', limit: 'unlimited', answers: {} } as const;
const MESSAGE_BYTES = 60_000;
const ROUTES: readonly Route[] = [
  { ...SPEC, path: '/small', handler: (call) => ok(call, {}) },
  {
    ...SPEC,
    path: '/ws',
    handler: (call) => {
      const { key, protocol, extensions, context } = call.transport.upgrade!;
      call.response.upgrade({}, key, protocol, extensions, context);
      call.answered = true;
      call.host.onAnswered(call);
    },
  },
];

type Flood = { readonly port: number; readonly closes: number[]; readonly received: number[] };

type FloodOptions = { readonly times?: number; readonly role?: MemberRole; readonly origins?: readonly string[] };

/** Floods a front thread while this one does nothing. @returns the client's findings, and how it ended */
async function flooded(
  t: TestContext,
  sockets: number,
  path: string,
  { times = 1, ...options }: FloodOptions = {},
): Promise<Flood & { found: string; end: string }> {
  const closes: number[] = [];
  const received: number[] = [];
  const webSocket = {
    path: '/ws',
    behavior: {
      maxPayloadLength: 100_000,
      message: (_socket: unknown, bytes: ArrayBuffer) => void received.push(bytes.byteLength),
      close: (_socket: unknown, code: number) => void closes.push(code),
    },
    close: () => undefined,
  };
  const { port, fronts } = await startFronts(t, 1, ROUTES, webSocket, options);
  const file = join(temporaryDirectory(), 'found');
  const args = ['--input-type=module', '--eval', CLIENT, String(port), path, file, String(sockets), String(times)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => void child.kill());
  await once(child.stdout, 'data');
  child.stdin.write('go');
  await new Promise((resolve) => setImmediate(resolve));
  // This thread does nothing but look.
  const bell = new Int32Array(new SharedArrayBuffer(4));
  for (let look = 0; look < MOST_LOOKS && !existsSync(file); look++) Atomics.wait(bell, 0, 0, 10);
  const found = readFileSync(file, 'utf8');
  assert.notEqual(found, OPEN, 'each socket sends more than may wait');
  await eventually('the closes', async () => closes.length === sockets);
  child.stdin.write('end');
  const [end] = await once(child.stdout, 'data');
  assert.equal(fronts.failures, 0);
  assert.ok(
    received.every((length) => length === MESSAGE_BYTES),
    'what was read has come whole',
  );
  return { port, closes, received, found, end: String(end) };
}

test('FRONT-3: behind a gateway thread that does nothing calls are refused, and then all goes on', async (t) => {
  const { received, found, end } = await flooded(t, 12, '/small');
  assert.match(found, /^HTTP\/1\.1 503 .*"code":"ENGINE_BUSY"\}$/s);
  assert.ok(received.length > 200, 'what was read has come');
  assert.equal(end, '1013 200');
});

test('the refusals of a front say the role of its member, as all answers do (RULES.md 18.4)', async (t) => {
  const role = new MemberRole(new Replication(Replication.create(1)), systemClock, systemClock);
  role.leader = { holder: 'b', address: 'http://192.0.2.2:8080', epoch: 4 };
  role.asOfMs = Date.now();
  const { found } = await flooded(t, 12, '/small', { role });
  assert.match(found, /"code":"ENGINE_BUSY"\}$/);
  const lines = found.split('\r\n').filter((line) => /^x-svc-/i.test(line));
  assert.deepEqual(
    lines.map((line) => line.replace(/\d+$/, (number) => (number === '8080' ? number : 'AGE'))),
    ['X-SVC-Role: standby', 'X-SVC-Stale-Ms: AGE', 'X-SVC-Leader: http://192.0.2.2:8080'],
  );
});

test('a page of a named origin may read the refusals of a front, but none of /admin (RULES.md 6.9)', async (t) => {
  const allowed = /^access-control-allow-origin: (.+)\r$/im;
  const origins = ['https://page.test'];
  const of = async (path: string, options: FloodOptions): Promise<string | undefined> => {
    const { found } = await flooded(t, 12, path, options);
    assert.match(found, /"code":"ENGINE_BUSY"\}$/);
    return allowed.exec(found)?.[1];
  };
  assert.equal(await of('/small', { origins }), 'https://page.test');
  assert.equal(await of('/small', { origins: ['https://other.test'] }), undefined);
  assert.equal(await of('/admin/users', { origins }), undefined);
});

test('CALL-3: a request behind one that a front refuses closes the connection, as with one thread', async (t) => {
  const { found, end } = await flooded(t, 12, '/small', { times: 2 });
  assert.equal(found, 'closed', 'an answer is owed when the second request comes (RULES.md 6.4)');
  assert.equal(end, '1013 200');
});

test('FRONTSOCKET-2: no socket has more than its share of the messages waiting for the gateway thread', async (t) => {
  const { received, end } = await flooded(t, 1, '');
  assert.equal(received.length, Math.floor(MOST_UNREAD_BYTES / MESSAGE_BYTES) + 1);
  assert.equal(end, '1013 200');
});

test('FRONTSOCKET-3: pings and pongs of a turn are two records, and pings count', async (t) => {
  const heard = { pings: 0, pongs: 0, closes: 0 };
  const webSocket = {
    path: '/ws',
    behavior: {
      ping: () => void heard.pings++,
      pong: () => void heard.pongs++,
      close: () => void heard.closes++,
    },
    close: () => undefined,
  };
  const { port } = await startFronts(t, 1, ROUTES, webSocket);
  const socket = await RawSocket.open(t, `http://127.0.0.1:${port}`, '/ws');
  await socket.send(30, OPCODE.PING);
  await socket.send(MOST_PER_TURN - 30, OPCODE.PONG);
  await eventually('the pings', async () => heard.pings === 30 && heard.pongs > 0);
  assert.ok(heard.pongs < 100, `${heard.pongs} records`);
  await socket.send(20 * MOST_PER_TURN, OPCODE.PONG);
  await eventually('the close', async () => heard.closes === 1);
  assert.equal(heard.pings, 30);
  await eventually('the reason', async () => /server is busy$/.test(socket.received));
});

test('the parts of a body that come in a turn are one record', () => {
  const ring = createRingBuffer(4096);
  const call = new FrontCall(new Outgoing(ring), 0, 1, {} as HttpResponse, null);
  const parts = Array.from({ length: 500 }, (_, index) => Uint8Array.of(index).buffer);
  assert.deepEqual(
    parts.slice(0, 3).map((part) => call.keepPart(part)),
    [true, false, false],
  );
  assert.equal(call.sendKept(), true);
  assert.equal(call.sendKept(), false, 'nothing is passed on twice');
  for (const part of parts.slice(3, -1)) call.keepPart(part);
  call.sendLast(parts.at(-1)!);
  const received: { isLast: number; bytes: number[] }[] = [];
  const incoming = new Incoming(ring);
  const { BODY } = FROM_FRONT;
  incoming.drain((_type, word) => {
    const { words, bytes } = incoming;
    const at = (word + BODY.WORDS) * 4;
    const count = words[word + BODY.bytes]!;
    received.push({ isLast: words[word + BODY.isLast]!, bytes: [...bytes.subarray(at, at + count)] });
  });
  assert.deepEqual(
    received.map(({ isLast }) => isLast),
    [0, 1],
  );
  assert.deepEqual(
    received.flatMap(({ bytes }) => bytes),
    parts.map((_, index) => index & 255),
  );
});
