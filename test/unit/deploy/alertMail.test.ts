/**
 * Alertmanager as alertmanager/start.sh sets it up, with a mail server that asks for a name and a password, and the
 * mail that says that an alert is over. The unit of systemd starts it in the same way.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/freePort.ts';

const DEPLOY = fileURLToPath(new URL('../../../data/deploy', import.meta.url));
const START = join(DEPLOY, 'alertmanager/start.sh');
const UNIT = join(DEPLOY, 'open-prediction-exchange-alertmanager.service');
const ALERTMANAGER = 'prometheus-alertmanager';
const PASSWORD = `it's secret`;
const skip = spawnSync(ALERTMANAGER, ['--version']).error !== undefined && `${ALERTMANAGER} is not installed`;

/** A server of SMTP that takes mail only after `AUTH PLAIN` with the right words. */
class MailServer {
  readonly mails: string[] = [];
  refused = 0;
  readonly #server = createServer((socket) => this.#serve(socket));

  async start(t: TestContext): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    t.after(() => void this.#server.close());
    return (this.#server.address() as AddressInfo).port;
  }

  #serve(socket: Socket): void {
    let text = '';
    let mail: string | null = null;
    let isKnown = false;
    const answer = (line: string): boolean => socket.write(`${line}\r\n`);
    const take = (line: string): void => {
      if (mail !== null) {
        if (line !== '.') mail += `${line}\n`;
        else {
          this.mails.push(mail);
          mail = null;
          answer('250 taken');
        }
      } else if (/^EHLO/i.test(line)) answer('250-test\r\n250 AUTH PLAIN');
      else if (/^AUTH PLAIN /i.test(line)) {
        isKnown = Buffer.from(line.slice('AUTH PLAIN '.length), 'base64').toString() === `\0exchange\0${PASSWORD}`;
        if (!isKnown) this.refused++;
        answer(isKnown ? '235 welcome' : '535 wrong');
      } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      else if (!isKnown) answer('530 say who you are');
      else if (/^DATA/i.test(line)) {
        mail = '';
        answer('354 go on');
      } else answer('250 ok');
    };
    socket.on('error', () => {});
    answer('220 test');
    socket.on('data', (part) => {
      text += part;
      const lines = text.split('\r\n');
      text = lines.pop()!;
      for (const line of lines) take(line);
    });
  }
}

/** Starts it with shorter waits than people need between two messages. @returns its address and output. */
async function startAlertmanager(t: TestContext, smtp: number, password: string) {
  const directory = temporaryDirectory();
  const [config, hurried, secret] = ['alertmanager.yml', 'hurried.sh', 'password'].map((name) => join(directory, name));
  writeFileSync(secret!, `${password}\n`);
  const hurry = `sed -i -E 's/(group_wait|group_interval): .*/\\1: 1s/' "$ALERTMANAGER_CONFIG"`;
  writeFileSync(hurried!, `#!/bin/sh\n${hurry}\nexec ${ALERTMANAGER} "$@"\n`);
  chmodSync(hurried!, 0o700);
  const port = await freePort();
  const env = {
    PATH: process.env['PATH']!,
    ALERTMANAGER: hurried!,
    ALERTMANAGER_CONFIG: config!,
    ALERT_MAIL_TO: 'on-call@example.org',
    ALERT_MAIL_FROM: 'exchange@example.org',
    ALERT_SMTP: `127.0.0.1:${smtp}`,
    ALERT_SMTP_TLS: 'off',
    ALERT_SMTP_USER: 'exchange',
    ALERT_SMTP_PASSWORD_FILE: secret!,
  };
  const listens = [`--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address='];
  const child = spawn('sh', [START, ...listens, `--storage.path=${directory}/a`], { env });
  t.after(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => said.push(String(part)));
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    () => `Alertmanager\n${said.join('')}`,
    async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok,
  );
  return { url, said };
}

async function report(url: string, endsAt?: string): Promise<void> {
  const labels = { alertname: 'TestAlert', severity: 'page', instance: 'here' };
  const body = JSON.stringify([{ labels, ...(endsAt === undefined ? {} : { endsAt }) }]);
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(`${url}/api/v2/alerts`, { method: 'POST', headers, body })).status, 200);
}

test('a mail server that asks who it is gets name and password, and the end of an alert is a mail too', {
  skip,
}, async (t) => {
  const server = new MailServer();
  const { url, said } = await startAlertmanager(t, await server.start(t), PASSWORD);
  await report(url);
  const mail = (subject: RegExp): Promise<unknown> =>
    eventually(
      () => `${subject}\n${said.join('')}`,
      async () => server.mails.some((each) => subject.test(each)),
    );
  await mail(/^Subject: .*FIRING:1.*TestAlert/m);
  await report(url, new Date().toISOString());
  await mail(/^Subject: .*RESOLVED.*TestAlert/m);
  assert.equal(server.refused, 0);
});

test('with a wrong password no mail goes out, and the log of Alertmanager says so', { skip }, async (t) => {
  const server = new MailServer();
  const { url, said } = await startAlertmanager(t, await server.start(t), 'another');
  await report(url);
  await eventually(
    () => `the failure\n${said.join('')}`,
    async () => /535/.test(said.join('')),
  );
  assert.ok(server.refused > 0);
  assert.deepEqual(server.mails, []);
});

test('the unit of systemd is understood whole, gives the process little, and runs this file', {
  skip: spawnSync('systemd-analyze', ['--version']).error !== undefined && 'systemd-analyze is not installed',
}, () => {
  const text = readFileSync(UNIT, 'utf8');
  assert.match(text, /^ExecStart=\/bin\/sh \/opt\/open-prediction-exchange\/data\/deploy\/alertmanager\/start\.sh /m);
  assert.match(text, /^RestartPreventExitStatus=78$/m);
  for (const args of [['verify'], ['security', '--offline=yes', '--threshold=25']]) {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, UNIT], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  }
});
