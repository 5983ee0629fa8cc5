/**
 * The shipped files of Caddy, nginx and HAProxy, each with the real program before a real exchange: requests, sockets,
 * oversized requests, unpublished paths, and a check of HAProxy.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { STREAM_PATH } from '../../gateway/stream/limits.ts';
import { eventually } from '../support/eventually.ts';
import { startCaddy, startHaproxy, startNginx, without } from '../support/proxies.ts';
import { sharedServer } from '../support/server.ts';

const server = await sharedServer();
const UPSTREAM = new URL(server.baseUrl).host;
const TOO_LARGE = '{"error":"request body too large","code":"PAYLOAD_TOO_LARGE"}';
const MIB = 1024 * 1024;

/** The first part of the answer to text that is sent unchanged: the whole answer if it is short. */
function rawAnswer(baseUrl: string, text: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8').once('data', (chunk: string) => {
      socket.destroy();
      resolve(chunk);
    });
    socket.once('error', reject);
  });
}

/** @param toOld the beginning of the answer to a client that speaks HTTP/1.0 */
async function assertServed(baseUrl: string, toOld = /^HTTP\/1\.[01] 200 /): Promise<void> {
  const post = (bytes: number): Promise<Response> =>
    fetch(`${baseUrl}/v1/auth/nonce`, { method: 'POST', body: 'x'.repeat(bytes), headers: { connection: 'close' } });
  const large = await post(200_000);
  assert.deepEqual([large.status, await large.text()], [413, TOO_LARGE], 'of the exchange');
  for (const bytes of [2 * MIB, 20 * MIB]) {
    const head = `POST /v1/orders HTTP/1.1\r\nHost: ${new URL(baseUrl).host}\r\nContent-Length: ${bytes}\r\n\r\n`;
    const answer = await rawAnswer(baseUrl, head);
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /^content-type: application\/json/im);
    assert.ok(answer.endsWith(TOO_LARGE), answer);
  }
  for (const path of ['/admin', '/admin/platform', '/ops', '/metrics', '/metrics/']) {
    assert.equal((await fetch(baseUrl + path)).status, 404, path);
  }
  for (let again = 0; again < 3; again++) assert.equal((await fetch(`${baseUrl}/v1/markets`)).status, 200);
  const old = await rawAnswer(baseUrl, `GET /v1/time HTTP/1.0\r\nHost: ${new URL(baseUrl).host}\r\n\r\n`);
  assert.match(old, toOld);
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}${STREAM_PATH}`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the socket was refused'));
  });
  socket.close();
}

test('Caddy', { skip: without('caddy') }, async (t) => {
  await assertServed(await startCaddy(t, UPSTREAM));
});

test('nginx', { skip: without('nginx') }, async (t) => {
  await assertServed(await startNginx(t, UPSTREAM));
});

test('HAProxy, whose check finds the exchange up', { skip: without('haproxy') }, async (t) => {
  const { baseUrl, control } = await startHaproxy(t, UPSTREAM);
  await assertServed(baseUrl, /^HTTP\/1\.1 505 .*\{"error":"HTTP\/1\.1 is needed","code":"VALIDATION_ERROR"\}$/s);
  const check = (): Promise<string> =>
    new Promise((resolve, reject) => {
      let shown = '';
      const socket = connect(control, () => socket.write('show stat\n'));
      socket.setEncoding('utf8').on('data', (chunk) => (shown += chunk));
      socket.once('end', () =>
        resolve(shown.split('\n').find((line) => /^exchange_threads,exchange,/.test(line)) ?? ''),
      );
      socket.once('error', reject);
    });
  await eventually('a check', async () => /,UP,.*,L7OK,200,/.test(await check()));
});
