/** The health check of containers and supervisors, as a process of its own (`gateway/health.ts`). */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/freePort.ts';
import { sharedServer } from '../support/server.ts';

const PROGRAM = fileURLToPath(new URL('../../gateway/health.ts', import.meta.url));
const server = await sharedServer();

type Checked = { code: number; stderr: string };

function check(env: Record<string, string>, ...args: string[]): Promise<Checked> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...STRIPPED_BEFORE, PROGRAM, ...args], { env }, (error, _, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr });
    });
  });
}

test('an exchange that answers is healthy, and ready when it accepts orders', async () => {
  const PORT = new URL(server.baseUrl).port;
  const checks = [
    check({ PORT }),
    check({ PORT, HOST: '0.0.0.0', TRUST_PROXY: '192.0.2.1', MASTER_KEY: 'file' }, '--ready', '--wait', '60'),
  ];
  assert.deepEqual(await Promise.all(checks), [
    { code: 0, stderr: '' },
    { code: 0, stderr: '' },
  ]);
});

test('one that does not answer, or not with 200, is not', async () => {
  const PORT = String(await freePort());
  const { code, stderr } = await check({ PORT });
  assert.equal(code, 1);
  assert.match(stderr, /^error: 127\.0\.0\.1:\d+: connect ECONNREFUSED.*\n$/);
});

test('nothing waits for one whose process has ended', async () => {
  const ended = spawnSync(process.execPath, ['-e', '']).pid;
  const env = { PORT: String(await freePort()) };
  assert.deepEqual(await check(env, '--wait', '600', '--pid', String(ended)), {
    code: 1,
    stderr: 'error: its process has ended\n',
  });
});

test('it is asked over TLS where it speaks that, whatever name the certificate has', async (t) => {
  const files = makeCertificate();
  const [cert, key] = [readFileSync(files.cert), readFileSync(files.key)];
  const answers = createServer({ cert, key }, ({ url }, response) => {
    response.statusCode = url === '/health' ? 200 : 503;
    response.end();
  }).listen(0, '127.0.0.1');
  t.after(() => answers.close());
  await once(answers, 'listening');
  const { port } = answers.address() as AddressInfo;
  const env = { PORT: String(port), TLS_CERT: files.cert, TLS_KEY: files.key };
  assert.equal((await check(env)).code, 0);
  assert.deepEqual(await check(env, '--ready'), { code: 1, stderr: 'error: /ready answered 503\n' });
});

test('settings that the exchange refuses are refused in the same words', async () => {
  const { code, stderr } = await check({ PORT: '0.5' });
  assert.equal(code, 78);
  assert.match(stderr, /^error: PORT: /);
});
