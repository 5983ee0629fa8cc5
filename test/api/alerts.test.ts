/**
 * A test alert goes the whole way on real programs: the exchange, Prometheus with the rules of data/deploy,
 * Alertmanager as its start.sh sets it up, and a webhook and a mailbox that are this test's. Beside it goes what always
 * does: the alert that a dead man's switch elsewhere waits for.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { Pmx } from '../support/pmx.ts';
import { ROOT, type Scope, startServer } from '../support/server.ts';

const DEPLOY = join(ROOT, 'data/deploy');
const START = join(DEPLOY, 'alertmanager/start.sh');
const ALERTMANAGER = 'prometheus-alertmanager';

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

const MISSING = ['prometheus', ALERTMANAGER].filter((program) => !isThere(program));
const skip = MISSING.length > 0 && `not installed: ${MISSING.join(', ')} (Debian: packages of these names)`;

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

/** As much of SMTP as one mail needs. */
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

/** The jobs of a Prometheus whose target answers. */
async function jobsAnswering(port: number): Promise<string[]> {
  const { data } = JSON.parse(await (await fetch(`http://127.0.0.1:${port}/api/v1/targets`)).text());
  type Target = { readonly health: string; readonly labels: { readonly job: string } };
  const up = (data.activeTargets as Target[]).filter(({ health }) => health === 'up');
  return up.map(({ labels }) => labels.job).sort();
}

test('a test alert reaches a webhook and a mailbox', { skip }, async (t) => {
  const server = await startServer(t, { SHARDS: '1' });
  const directory = temporaryDirectory();
  const webhook = await openWebhook(t);
  const mailbox = await openMailbox(t);
  const watchdog = await openWebhook(t);
  const [alertsPort, metricsPort] = [await freePort(), await freePort()];
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
  const token = join(directory, 'token');
  writeFileSync(token, server.adminToken);
  const text = readFileSync(join(DEPLOY, 'prometheus/prometheus.yml'), 'utf8')
    .replaceAll('exchange:8080', new URL(server.baseUrl).host)
    .replace('localhost:9090', `127.0.0.1:${metricsPort}`)
    .replace('alertmanager:9093', `127.0.0.1:${alertsPort}`)
    .replace('/run/secrets/prometheus_token', token)
    .replace('rules.yml', join(DEPLOY, 'prometheus/rules.yml'))
    .replace('evaluation_interval: 15s', 'evaluation_interval: 5s');
  const config = join(directory, 'prometheus.yml');
  writeFileSync(config, text);
  mkdirSync(join(directory, 'p'));
  const seen = run(t, 'prometheus', [
    `--config.file=${config}`,
    `--web.listen-address=127.0.0.1:${metricsPort}`,
    `--storage.tsdb.path=${directory}/p`,
  ]);
  await eventually(
    () => `both programs\n${said.join('')}${seen.join('')}`,
    async () => {
      const up = [alertsPort, metricsPort].map((port) => fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null));
      return (await Promise.all(up)).every((answer) => answer?.ok);
    },
  );
  await eventually(
    () => `the dead man's switch\n${said.join('')}${seen.join('')}`,
    async () => watchdog.bodies.some((body) => body.includes('"alertname":"Watchdog"')),
  );
  const env = { BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken };
  const { out, err } = await new Pmx(env).run(['admin', 'alert', 'test']);
  assert.match(out, /^TestAlert rings until \d{4}-/, err);
  await eventually(
    () => `the webhook\n${said.join('')}${seen.join('')}`,
    async () => webhook.bodies.some((body) => body.includes('"alertname":"TestAlert"')),
  );
  const [body] = webhook.bodies.filter((each) => each.includes('TestAlert'));
  const { status, receiver, alerts } = JSON.parse(body!);
  assert.deepEqual([status, receiver, alerts[0].labels.severity], ['firing', 'on-call', 'page']);
  assert.equal(alerts[0].annotations.runbook, 'incidents.md#a-test-alert-rings');
  await eventually('the mail', async () => /^Subject: .*FIRING.*TestAlert/m.test(mailbox.text()));
  assert.ok(!webhook.bodies.some((each) => each.includes('Watchdog')), 'nobody on call gets what always comes');
  assert.ok(watchdog.bodies.every((each) => JSON.parse(each).receiver === 'watchdog' && !each.includes('TestAlert')));
  const jobs = await jobsAnswering(metricsPort);
  assert.deepEqual(jobs, ['exchange', 'exchange-ready', 'prometheus'], 'node_exporter is not started here');
});

test('alerts that would reach no one are refused at the start', () => {
  const { status, stderr } = spawnSync('sh', [START], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  assert.deepEqual([status, stderr], [78, 'error: set ALERT_WEBHOOK_URL or ALERT_MAIL_TO: alerts reach no one\n']);
  const env = { PATH: process.env['PATH'], ALERT_MAIL_TO: 'a@example.org', ALERTMANAGER_CONFIG: '/dev/null' };
  assert.equal(spawnSync('sh', [START], { env }).status, 78);
});
