/**
 * A bot that quotes once a minute keeps its connection behind each shipped proxy: the exchange itself closes an idle
 * connection after eight to twelve seconds (RULES.md 6.9), and the proxy opens another one to it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCaddy, startHaproxy, startNginx, without } from '../support/proxies.ts';
import { sharedServer } from '../support/server.ts';

const IDLE_MS = 61_000;
const server = await sharedServer();
const UPSTREAM = new URL(server.baseUrl).host;

const PROXIES: readonly (readonly [string, (t: TestContext) => Promise<string>])[] = [
  ['caddy', (t) => startCaddy(t, UPSTREAM)],
  ['nginx', (t) => startNginx(t, UPSTREAM)],
  ['haproxy', async (t) => (await startHaproxy(t, UPSTREAM)).baseUrl],
];

async function readTime(socket: Socket): Promise<string> {
  const answered = once(socket, 'data');
  socket.write(`GET /v1/time HTTP/1.1\r\nHost: ${UPSTREAM}\r\n\r\n`);
  return String(await answered);
}

test('a connection that was idle for a minute carries the next request', async (t) => {
  const there = PROXIES.filter(([name]) => without(name) === false);
  for (const [name] of PROXIES) if (without(name) !== false) t.diagnostic(`skipped: ${without(name)}`);
  const sockets: [string, Socket][] = [];
  for (const [name, start] of there) {
    const { hostname, port } = new URL(await start(t));
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    sockets.push([name, socket]);
  }
  const answers = async (): Promise<string[]> =>
    Promise.all(sockets.map(async ([name, socket]) => `${name} ${(await readTime(socket)).slice(0, 15)}`));
  const served = sockets.map(([name]) => `${name} HTTP/1.1 200 OK`);
  assert.deepEqual(await answers(), served);
  await sleep(IDLE_MS);
  assert.deepEqual(
    sockets.filter(([, socket]) => socket.destroyed || socket.readableEnded).map(([name]) => name),
    [],
  );
  assert.deepEqual(await answers(), served);
});
