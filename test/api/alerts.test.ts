/**
 * A test alert goes the whole way on real programs: the exchange, Prometheus with the rules of data/deploy,
 * Alertmanager as its start.sh sets it up, and a webhook and a mailbox that are this test's. Beside it goes what always
 * does: the alert that a dead man's switch elsewhere waits for.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { Pmx } from '../support/pmx.ts';
import { NO_PROMETHEUS, Prometheus } from '../support/prometheus.ts';
import { ROOT, type Scope, startServer } from '../support/server.ts';

const DEPLOY = join(ROOT, 'data/deploy');
const START = join(DEPLOY, 'alertmanager/start.sh');
const ALERTMANAGER = 'prometheus-alertmanager';

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

const NO_ALERTMANAGER = !isThere(ALERTMANAGER) && `${ALERTMANAGER} is not installed (Debian: the package of that name)`;
const skip = NO_PROMETHEUS || NO_ALERTMANAGER;

async function listen(scope: Scope, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Bodies of the requests that come. */
async function openWebhook(scope: Scope): Promise<{ port: number; bodies: string[] }> {
  const bodies: string[] = [];
  const server = createHttpServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      bodies.push(Buffer.concat(parts).toString());
      response.end();
    });
  });
  return { port: await listen(scope, server), bodies };
}

/** Implements as much of SMTP as one mail needs. */
async function openMailbox(scope: Scope): Promise<{ port: number; text: () => string }> {
  let text = '';
  const server = createServer((socket) => {
    let isData = false;
    socket.on('error', () => {});
    socket.write('220 test\r\n');
    socket.on('data', (part) => {
      text += part;
      if (isData) {
        if (!text.endsWith('\r\n.\r\n')) return;
        isData = false;
        socket.write('250 taken\r\n');
      } else if (/^DATA/im.test(String(part))) {
        isData = true;
        socket.write('354 go on\r\n');
      } else if (/^QUIT/im.test(String(part))) socket.end('221 bye\r\n');
      else socket.write('250 ok\r\n');
    });
  });
  return { port: await listen(scope, server), text: () => text };
}

function run(scope: Scope, command: string, args: readonly string[], env: Record<string, string> = {}): string[] {
  const output: string[] = [];
  const child = spawn(command, args, { env: { PATH: process.env['PATH']!, ...env } });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => output.push(String(part)));
  scope.after(() => void child.kill('SIGKILL'));
  return output;
}

test('a test alert reaches a webhook and a mailbox', { skip }, async (t) => {
  const server = await startServer(t, { SHARDS: '1' });
  const directory = temporaryDirectory();
  const webhook = await openWebhook(t);
  const mailbox = await openMailbox(t);
  const watchdog = await openWebhook(t);
  const alertsPort = await freePort();
  const settings = {
    ALERTMANAGER,
    ALERTMANAGER_CONFIG: join(directory, 'alertmanager.yml'),
    ALERT_WEBHOOK_URL: `http://127.0.0.1:${webhook.port}/it's`,
    ALERT_WATCHDOG_URL: `http://127.0.0.1:${watchdog.port}/ping`,
    ALERT_MAIL_TO: 'on-call@example.org',
    ALERT_MAIL_FROM: 'exchange@example.org',
    ALERT_SMTP: `127.0.0.1:${mailbox.port}`,
    ALERT_SMTP_TLS: 'off',
  };
  const listens = [`--web.listen-address=127.0.0.1:${alertsPort}`, '--cluster.listen-address='];
  const said = run(t, 'sh', [START, ...listens, `--storage.path=${directory}/a`], settings);
  const { host: target } = new URL(server.baseUrl);
  const alertmanager = `127.0.0.1:${alertsPort}`;
  const prometheus = await Prometheus.start(t, { target, token: server.adminToken, alertmanager });
  await eventually(
    () => `Alertmanager\n${said.join('')}`,
    async () => (await fetch(`http://${alertmanager}/-/ready`).catch(() => null))?.ok,
  );
  await eventually(
    () => `the dead man's switch\n${said.join('')}`,
    async () => watchdog.bodies.some((body) => body.includes('"alertname":"Watchdog"')),
  );
  const env = { BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken };
  const { out, err } = await new Pmx(env).run(['admin', 'alert', 'test']);
  assert.match(out, /^TestAlert rings until \d{4}-/, err);
  await eventually(
    () => `the webhook\n${said.join('')}`,
    async () => webhook.bodies.some((body) => body.includes('"alertname":"TestAlert"')),
  );
  const [body] = webhook.bodies.filter((each) => each.includes('TestAlert'));
  const { status, receiver, alerts } = JSON.parse(body!);
  assert.deepEqual([status, receiver, alerts[0].labels.severity], ['firing', 'on-call', 'page']);
  assert.equal(alerts[0].annotations.runbook, 'incidents.md#a-test-alert-rings');
  await eventually('the mail', async () => /^Subject: .*FIRING.*TestAlert/m.test(mailbox.text()));
  assert.ok(!webhook.bodies.some((each) => each.includes('Watchdog')), 'nobody on call gets what always comes');
  assert.ok(watchdog.bodies.every((each) => JSON.parse(each).receiver === 'watchdog' && !each.includes('TestAlert')));
  const jobs = await prometheus.jobsAnswering();
  assert.deepEqual(jobs, ['exchange', 'exchange-ready', 'prometheus'], 'node_exporter is not started here');
});

test('alerts that would reach no one are refused at the start', () => {
  const { status, stderr } = spawnSync('sh', [START], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  assert.deepEqual([status, stderr], [78, 'error: set ALERT_WEBHOOK_URL or ALERT_MAIL_TO: alerts reach no one\n']);
  const env = { PATH: process.env['PATH'], ALERT_MAIL_TO: 'a@example.org', ALERTMANAGER_CONFIG: '/dev/null' };
  assert.equal(spawnSync('sh', [START], { env }).status, 78);
});
