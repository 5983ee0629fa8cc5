/** The shipped files of Caddy, nginx and HAProxy, each with the real program before an exchange. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './directory.ts';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import { ROOT } from './server.ts';

const shipped = (name: string): string => readFileSync(join(ROOT, 'data/deploy', name), 'utf8');

export function without(program: string): string | false {
  return spawnSync(program, ['-v']).error === undefined ? false : `${program} is not installed (Debian: ${program})`;
}

/**
 * Returns the file's text, in which each of these places has to occur; otherwise the file has changed since it was
 * tested.
 */
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

/** @param upstream host and port of the exchange. @returns the URL of the proxy; so do those below */
export async function startCaddy(t: TestContext, upstream: string): Promise<string> {
  const [port, control] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const args = ['run', '--adapter', 'caddyfile', '--config', join(ROOT, 'data/deploy/Caddyfile')];
  const env = { HOME: temporaryDirectory(), DOMAIN: baseUrl, UPSTREAM: upstream, CADDY_ADMIN: `127.0.0.1:${control}` };
  await run(t, 'caddy', args, baseUrl, env);
  return baseUrl;
}

export async function startNginx(t: TestContext, upstream: string): Promise<string> {
  const folder = temporaryDirectory();
  const port = await freePort();
  const text = placed('nginx.conf', [
    ['127.0.0.1:8080', upstream],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
    ['ssl_certificate /etc', '# /etc'],
    ['ssl_certificate_key /etc', '# /etc'],
  ]);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`);
  const around = `pid ${folder}/pid; daemon off; error_log stderr;\nevents {}\nhttp { access_log off; `;
  writeFileSync(join(folder, 'nginx.conf'), `${around}${temporary.join(' ')}\n${text}\n}\n`);
  const baseUrl = `http://127.0.0.1:${port}`;
  await run(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], baseUrl);
  return baseUrl;
}

/** @returns the socket at which it is asked how it stands, too */
export async function startHaproxy(t: TestContext, upstream: string): Promise<{ baseUrl: string; control: string }> {
  const folder = temporaryDirectory();
  const port = await freePort();
  const text = placed('haproxy.cfg', [
    ['127.0.0.1:8080', upstream],
    ['bind :443 ssl crt /etc/haproxy/exchange.example.org.pem alpn h2,http/1.1', `bind 127.0.0.1:${port}`],
  ]);
  const [file, control] = [join(folder, 'haproxy.cfg'), join(folder, 'control')];
  writeFileSync(file, `global\n\tstats socket ${control}\n\n${text}`);
  const baseUrl = `http://127.0.0.1:${port}`;
  await run(t, 'haproxy', ['-f', file], baseUrl);
  return { baseUrl, control };
}
