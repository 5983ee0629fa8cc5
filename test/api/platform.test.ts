import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Demo } from '../../gateway/demo.ts';
import { ExchangeClient } from '../../shared/sdk/client.ts';
import { startServer } from '../support/server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the server to its end, for starts that must not succeed. */
function runMain(t: TestContext, env: Record<string, string>): { code: number | null; stdout: string; stderr: string } {
  const dataDir = mkdtempSync(join(tmpdir(), 'exchange-start-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'gateway/main.ts'],
    { cwd: ROOT, env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', ...env }, encoding: 'utf8' },
  );
  return { code: status, stdout, stderr };
}

/** `npm run order` with only this data directory to know. */
function runOrder(dataDir: string, ...args: string[]): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'shared/sdk/cli.ts', ...args],
    { cwd: ROOT, env: { PATH: process.env['PATH'], DATA_DIR: dataDir }, encoding: 'utf8' },
  );
  return { code: status, stdout };
}

describe('public routes of the platform', async () => {
  test('probes, clock and configuration are as documented', async (t) => {
    const server = await startServer(t, { CHAIN_ID: '31337', FEE_BPS: '30' });
    assert.deepEqual((await server.request('GET', '/health')).body, { status: 'ok' });
    assert.deepEqual((await server.request('GET', '/ready')).body, { status: 'ready' });
    const { time } = (await server.request('GET', '/v1/time')).body;
    assert.ok(Number.isInteger(time) && Math.abs(time - Date.now() / 1000) < 30);
    const { exchange_address, usdc_address, ctf_address, ...config } = (
      await server.request('GET', '/v1/platform/config')
    ).body;
    const zero = `0x${'0'.repeat(40)}`;
    assert.deepEqual(config, {
      chain_id: 31337,
      market_factory_address: zero,
      fee_sweeper_address: zero,
      outcome_slot_count: 2,
      platform_fee_bps: 30,
      paused: false,
      market_factory_paused: false,
      total_markets: 0,
      total_volume: '0',
      total_fees_collected: '0',
      eip712_domain: {
        name: 'Prediction Market Exchange',
        version: '1',
        chainId: 31337,
        verifyingContract: exchange_address,
      },
    });
    for (const address of [exchange_address, usdc_address, ctf_address]) assert.match(address, /^0x[0-9a-f]{40}$/);
    const sunset = await server.request('GET', '/v1/chain/config');
    assert.deepEqual([sunset.status, sunset.body.code], [404, 'NOT_FOUND']);
  });
});

describe('start', () => {
  test('a bad setting is one line and exit code 78', (t) => {
    const { code, stdout, stderr } = runMain(t, { PORT: 'eighty' });
    assert.deepEqual([code, stdout, stderr], [78, '', 'error: PORT: expected an integer from 0 to 65535\n']);
  });

  test('a second server on the same directory ends with one line and leaves the first alone', async (t) => {
    const server = await startServer(t);
    const { code, stderr } = runMain(t, { DATA_DIR: server.dataDir });
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*control\.db is in use by another server\n$/);
    assert.equal((await server.request('GET', '/ready')).status, 200);
  });

  test('a port that is taken ends with one line', async (t) => {
    const taken = createServer();
    t.after(() => void taken.close());
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = runMain(t, { PORT: String(port), DEMO: 'off' });
    assert.equal(code, 1);
    assert.match(stderr, /^error: cannot listen on 127\.0\.0\.1 port \d+: is it taken, or of another machine\?\n$/);
  });

  test('another number of shards than the directory was made with is a bad setting', async (t) => {
    const server = await startServer(t, { SHARDS: '2' });
    await server.stop();
    const { code, stderr } = runMain(t, { DATA_DIR: server.dataDir, SHARDS: '3' });
    assert.deepEqual([code, stderr], [78, 'error: SHARDS: this data directory was made with 2\n']);
    await server.start({ SHARDS: '' });
    assert.equal(JSON.parse(server.stdout.at(-1)!).shards, 2);
  });

  test('another signing domain than the orders of the directory are for is a bad setting', async (t) => {
    const server = await startServer(t, { CHAIN_ID: '137' });
    await server.stop();
    const changes: Record<string, string>[] = [{ CHAIN_ID: '1' }, { EXCHANGE_ADDRESS: `0x${'22'.repeat(20)}` }];
    for (const changed of changes) {
      const { code, stderr } = runMain(t, { DATA_DIR: server.dataDir, ...changed });
      assert.equal(code, 78);
      assert.match(
        stderr,
        /^error: EXCHANGE_ADDRESS, CHAIN_ID: the orders of this data directory are for 0x[0-9a-f]{40} on chain 137\n$/,
      );
    }
    await server.start({ CHAIN_ID: '137' });
  });

  test('everything in the data directory is for its owner alone', async (t) => {
    const server = await startServer(t, { DATA_DIR: join(mkdtempSync(join(tmpdir(), 'exchange-mode-')), 'new') });
    const dataDir = JSON.parse(server.stdout.at(-1)!).data_dir;
    t.after(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }));
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    for (const name of readdirSync(dataDir)) assert.equal(statSync(join(dataDir, name)).mode & 0o077, 0, name);
  });

  test('without ADMIN_TOKEN a token is made, shown once and good from then on', async (t) => {
    const server = await startServer(t, { ADMIN_TOKEN: '' });
    const token = /Admin token {2}(\S+)/.exec(server.stdout.join('\n'))![1];
    const asAdmin = () => server.request('GET', '/admin/ledger', undefined, { authorization: `Bearer ${token}` });
    assert.equal((await asAdmin()).status, 200);
    await server.stop();
    server.stdout.length = 0;
    await server.start({ ADMIN_TOKEN: '' });
    assert.equal((await asAdmin()).status, 200);
    assert.ok(!server.stdout.join('\n').includes(token));
  });
});

describe('stop', () => {
  for (const [what, kill] of [
    ['an idle server', false],
    ['a server that was killed and started again', true],
  ] as const) {
    test(`SIGTERM ends ${what} with exit code 0`, async (t) => {
      const server = await startServer(t);
      if (kill) {
        await server.kill();
        await server.start();
      }
      assert.equal(await server.stop(), 0);
      assert.equal(JSON.parse(server.stdout.at(-1)!).msg, 'stopped');
    });
  }
});

describe('the demo', () => {
  test('fills a new directory with markets, books and two accounts that can trade at once', async (t) => {
    const server = await startServer(t, { DEMO: 'on' });
    const client = new ExchangeClient({ baseUrl: server.baseUrl });
    const { markets, total } = await client.markets({ limit: 100 });
    assert.equal(total, 12);
    assert.deepEqual(new Set(markets.map(({ status }) => status)), new Set(['active', 'pending']));
    assert.equal((await server.request('GET', '/v1/events')).body.total, 5);

    const path = join(server.dataDir, 'demo.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const demo: Demo = JSON.parse(readFileSync(path, 'utf8'));
    assert.equal(demo.base_url, server.baseUrl);
    const [alice, bob] = demo.accounts.map(({ key_id: keyId, secret, passphrase }) => {
      return new ExchangeClient({ baseUrl: server.baseUrl, credentials: { keyId, secret, passphrase } });
    });
    assert.deepEqual((await alice.balances()).usdc, { available: '10000000000', reserved: '0' });
    assert.ok(Number((await bob.balances()).usdc.reserved) > 0);
    const books = await Promise.all(markets.map(({ id }) => client.book(id)));
    assert.equal(books.filter(({ bids, asks }) => bids.length > 0 && asks.length > 0).length, 3);
    assert.equal((await server.admin.ledger()).balanced, true);
  });

  test('prints a command that places a first order, and keys that it never prints again', async (t) => {
    const server = await startServer(t, { DEMO: 'on' });
    const printed = server.stdout.join('\n');
    const [, command] = /npm run order -- (.*)/.exec(printed)!;
    const { code, stdout } = runOrder(server.dataDir, ...command.trim().split(' '));
    assert.equal(code, 0, stdout);
    assert.match(stdout, /status\s+filled/);

    const demo: Demo = JSON.parse(readFileSync(join(server.dataDir, 'demo.json'), 'utf8'));
    for (const { secret } of demo.accounts) assert.ok(printed.includes(secret));
    server.stdout.length = 0;
    await server.restart({ DEMO: 'on' });
    const market = await new ExchangeClient({ baseUrl: server.baseUrl }).market(demo.market_id);
    assert.equal(market.total_volume, '5.5', 'volumes are there from the start');
    assert.equal((await server.request('GET', '/v1/platform/config')).body.total_volume, '5.5');
    const printedAgain = server.stdout.join('\n');
    assert.ok(printedAgain.includes(command));
    for (const { secret } of demo.accounts) assert.ok(!printedAgain.includes(secret));
    assert.equal(runOrder(server.dataDir, 'balances').code, 0, 'demo.json follows the port');
  });

  test('leaves a directory alone that somebody has used', async (t) => {
    const server = await startServer(t);
    await server.admin.createEvent({ slug: 'mine', title: 'Mine' });
    await server.admin.createUser({ wallet_address: `0x${'12'.repeat(20)}` });
    await server.restart({ DEMO: 'on' });
    assert.equal((await server.request('GET', '/v1/markets')).body.total, 0);
  });
});
