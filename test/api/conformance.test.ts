/** A server whose surroundings are against it: files lost, damaged or mixed up, clients that never finish. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { assertBalanced, makeTrader } from '../support/traders.ts';

const MAIN = fileURLToPath(new URL('../../gateway/main.ts', import.meta.url));
/** With a flow a new demo lives through eight days first, which is ten starts of processor time. */
const WITHOUT_PAST = { DEMO_FLOW: 'off', DEMO_RAMP: 'off' };

/** Runs `work` without the files whose name starts with `name`, and restores them. */
async function without(server: TestServer, name: string, work: () => Promise<void>): Promise<void> {
  const paths = readdirSync(server.dataDir)
    .filter((file) => file.startsWith(name))
    .map((file) => join(server.dataDir, file));
  const contents = paths.map((path) => readFileSync(path));
  for (const path of paths) rmSync(path);
  await work();
  for (const [index, path] of paths.entries()) writeFileSync(path, contents[index]);
}

/** The one line on stderr that a start ended with. */
async function refusedStart(server: TestServer, env: Record<string, string> = {}): Promise<string> {
  server.stderr.length = 0;
  await assert.rejects(server.start(env), /ended with code 1\n/);
  assert.equal(server.stderr.length, 1);
  return server.stderr[0];
}

const server = await startServer(fileScope);
for (let trader = 0; trader < 2; trader++) await makeTrader(server);
await server.stop();

describe('a data directory that is not whole', () => {
  test('is refused without one of its journals', async () => {
    const path = join(server.dataDir, 'journal-1.db');
    await without(server, 'journal-1.db', async () => {
      assert.equal(await refusedStart(server), `error: ${path} is missing: put it back`);
    });
  });

  test('is refused without the control.db that knows whose money it is, however often one tries', async () => {
    const path = join(server.dataDir, 'journal-0.db');
    const refusal =
      `error: ${join(server.dataDir, 'control.db')} is missing or empty, and ${path} was written with another ` +
      'control.db: put that one back, or restore the data directory from a backup';
    await without(server, 'control.db', async () => {
      for (let attempt = 0; attempt < 2; attempt++) assert.equal(await refusedStart(server), refusal);
    });
  });

  test('is refused in one line when its control.db is no database', async () => {
    const path = join(server.dataDir, 'control.db');
    await without(server, 'control.db', async () => {
      writeFileSync(path, 'not a database'.repeat(100));
      const refusal = await refusedStart(server);
      assert.ok(refusal.startsWith(`error: ${path} is damaged (file is not a database): restore `), refusal);
      assert.ok(!refusal.includes('\n'), 'one line');
    });
  });

  test('starts without the demo when demo.json is damaged, and says so', async () => {
    const path = join(server.dataDir, 'demo.json');
    for (const damaged of ['', '{"base_url":"http://127.0.0.1:1"}']) {
      await server.stop();
      writeFileSync(path, damaged);
      server.stdout.length = 0;
      await server.start({ DEMO: 'on' });
      const warnings = server.stdout.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
      assert.deepEqual(
        warnings.map((warning) => warning.path),
        [path],
      );
      assert.equal((await server.request('GET', '/ready')).status, 200);
      assert.equal(readFileSync(path, 'utf8'), damaged);
    }
  });

  test('has all its money again once its files are back', async () => {
    await assertBalanced(server);
    assert.equal((await server.admin.ledger()).total_usdc_micro, '2000000000');
  });
});

describe('stopping', () => {
  test('a body that never ends is answered 503 and holds nothing up', async (t) => {
    const { headers } = (await makeTrader(server)).client.prepareSigned('POST', '/v1/orders', {});
    const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
    t.after(() => void socket.destroy());
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /v1/orders HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: 50\r\n\r\n{"side":`);
    // A server that has answered this has read what came before it.
    assert.equal((await server.request('GET', '/ready')).status, 200);
    const received = readAll(socket);
    assert.equal(await server.stop(), 0);
    assert.match(await received, /^HTTP\/1\.1 503 .*Retry-After: 1\r\n.*"code":"ENGINE_BUSY"\}$/s);
    assert.ok(!server.stdout.some((line) => line.includes('unanswered')));
  });

  test('SIGTERM while the demo is being made is no failure', async () => {
    const dataDir = temporaryDirectory();
    const child = spawn(process.execPath, [...argumentsOfNode(), MAIN], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', DEMO: 'on', ...WITHOUT_PAST, REHEARSE: 'off' },
    });
    const exited = once(child, 'exit');
    const path = join(dataDir, 'demo.json');
    const watcher = watch(dataDir, () => {
      // The file comes before the orders of the demo.
      if (existsSync(path)) child.kill('SIGTERM');
    });
    const [code] = await exited;
    watcher.close();
    assert.equal(code, 0);
  });
});

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}
