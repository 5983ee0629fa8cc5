/** A front thread whose gateway thread does nothing for a while. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ok } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { startFronts } from '../../../support/frontRig.ts';

/**
 * Opens a socket and a connection, sends messages on the one, when it may, until it is closed, and then a request on
 * the other: the file has its answer. In the end it says how the socket was closed, and how a second request is
 * answered.
 */
const CLIENT = `
import { once } from 'node:events';
import { connect } from 'node:net';
import { writeFileSync } from 'node:fs';
const [port, path] = process.argv.slice(-2);
const small = 'GET /small HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n';
const ask = async (socket) => {
  socket.write(small);
  return String((await once(socket, 'data'))[0]);
};
const socket = new WebSocket('ws://127.0.0.1:' + port + '/ws');
await once(socket, 'open');
const first = connect(Number(port), '127.0.0.1');
await ask(first);
process.stdout.write('ready');
await once(process.stdin, 'data');
const closed = once(socket, 'close');
const message = 'x'.repeat(60_000);
for (let count = 0; count < 500; count++) socket.send(message);
const [{ code }] = await closed;
writeFileSync(path, await ask(first));
await once(process.stdin, 'data');
process.stdout.write(code + ' ' + (await ask(connect(Number(port), '127.0.0.1'))).slice(9, 12));
process.exit(0);
`;

/** A minute: a client that fails must not hold the test for ever. */
const MOST_LOOKS = 6000;
const SPEC = { method: 'GET', summary: '', access: 'public', limit: 'unlimited', answers: {} } as const;
const ROUTES: readonly Route[] = [
  { ...SPEC, path: '/small', handler: (call) => ok(call, {}) },
  {
    ...SPEC,
    path: '/ws',
    handler: (call) => {
      const { key, protocol, extensions, context } = call.upgrade!;
      call.response.upgrade({}, key, protocol, extensions, context);
      call.answered = true;
      call.host.onAnswered(call);
    },
  },
];

test('FRONT-3: behind a gateway thread that does nothing calls are refused, and then all goes on', async (t) => {
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
  const { port, fronts } = await startFronts(t, 1, ROUTES, webSocket);
  const refusal = join(temporaryDirectory(), 'refusal');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', CLIENT, String(port), refusal]);
  t.after(() => void child.kill());
  await once(child.stdout, 'data');
  child.stdin.write('go');
  await new Promise((resolve) => setImmediate(resolve));
  // This thread does nothing but look.
  const bell = new Int32Array(new SharedArrayBuffer(4));
  for (let look = 0; look < MOST_LOOKS && !existsSync(refusal); look++) Atomics.wait(bell, 0, 0, 10);
  assert.match(readFileSync(refusal, 'utf8'), /^HTTP\/1\.1 503 .*"code":"ENGINE_BUSY"\}$/s);
  await eventually('the close', async () => closes.length === 1);
  assert.ok(received.length > 200 && received.every((length) => length === 60_000), 'what was read has come');
  child.stdin.write('end');
  const [answers] = await once(child.stdout, 'data');
  assert.equal(String(answers), '1013 200');
  assert.equal(fronts.failures, 0);
});
