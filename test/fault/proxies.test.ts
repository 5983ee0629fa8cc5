/**
 * The shipped files of Caddy, nginx and HAProxy, each with the real program before a real exchange: requests, sockets,
 * what is too large, what is not published, and a check of HAProxy.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { STREAM_PATH } from '../../gateway/stream/socket/limits.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { ROOT, sharedServer } from '../support/server.ts';

const server = await sharedServer();
const UPSTREAM = new URL(server.baseUrl).host;
const TOO_LARGE = '{"error":"request body too large","code":"PAYLOAD_TOO_LARGE"}';
const MIB = 1024 * 1024;

const shipped = (name: string): string => readFileSync(join(ROOT, 'data/deploy', name), 'utf8');

function without(program: string): string | false {
  return spawnSync(program, ['-v']).error === undefined ? false : `${program} is not installed (Debian: ${program})`;
}

/** A file in which each of these stands; a file that does not have one any more is another one than was tested. */
function placed(name: string, places: readonly (readonly [string, string])[]): string {
  let text = shipped(name);
  for (const [from, to] of places) {
    assert.ok(text.includes(from), `${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

async function run(t: TestContext, program: string, args: string[], baseUrl: string, env = {}): Promise<void> {
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  t.after(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'close');
  });
  await eventually(
    () => `${program}\n${said}`,
    async () => (await fetch(`${baseUrl}/v1/time`).catch(() => null))?.ok === true,
  );
}

/** The first part of the answer to what is sent as it stands: all of a short one. */
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
  const [port, control] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const args = ['run', '--adapter', 'caddyfile', '--config', join(ROOT, 'data/deploy/Caddyfile')];
  const env = { HOME: temporaryDirectory(), DOMAIN: baseUrl, UPSTREAM, CADDY_ADMIN: `127.0.0.1:${control}` };
  await run(t, 'caddy', args, baseUrl, env);
  await assertServed(baseUrl);
});

test('nginx', { skip: without('nginx') }, async (t) => {
  const folder = temporaryDirectory();
  const port = await freePort();
  const text = placed('nginx.conf', [
    ['127.0.0.1:8080', UPSTREAM],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
    ['ssl_certificate /etc', '# /etc'],
    ['ssl_certificate_key /etc', '# /etc'],
  ]);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`);
  const around = `pid ${folder}/pid; daemon off; error_log stderr;\nevents {}\nhttp { access_log off; `;
  writeFileSync(join(folder, 'nginx.conf'), `${around}${temporary.join(' ')}\n${text}\n}\n`);
  const baseUrl = `http://127.0.0.1:${port}`;
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], baseUrl);
  await assertServed(baseUrl);
});

test('HAProxy, whose check finds the exchange up', { skip: without('haproxy') }, async (t) => {
  const folder = temporaryDirectory();
  const port = await freePort();
  const text = placed('haproxy.cfg', [
    ['127.0.0.1:8080', UPSTREAM],
    ['bind :443 ssl crt /etc/haproxy/exchange.example.org.pem alpn h2,http/1.1', `bind 127.0.0.1:${port}`],
  ]);
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, `global\n\tstats socket ${folder}/control\n\n${text}`);
  const baseUrl = `http://127.0.0.1:${port}`;
  await run(t, 'haproxy', ['-f', file], baseUrl);
  await assertServed(baseUrl, /^HTTP\/1\.1 505 .*\{"error":"HTTP\/1\.1 is needed","code":"VALIDATION_ERROR"\}$/s);
  const check = (): Promise<string> =>
    new Promise((resolve, reject) => {
      let shown = '';
      const socket = connect(join(folder, 'control'), () => socket.write('show stat\n'));
      socket.setEncoding('utf8').on('data', (chunk) => (shown += chunk));
      socket.once('end', () =>
        resolve(shown.split('\n').find((line) => /^exchange_threads,exchange,/.test(line)) ?? ''),
      );
      socket.once('error', reject);
    });
  await eventually('a check', async () => /,UP,.*,L7OK,200,/.test(await check()));
});
