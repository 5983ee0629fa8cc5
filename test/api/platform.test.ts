import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Demo } from '../../gateway/wiring/demo.ts';
import { demoCatalogue, readDemoFile } from '../../gateway/wiring/demoCatalogue.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { startServer } from '../support/server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the server to its end, for starts that must not succeed. */
function runMain(env: Record<string, string>): { code: number | null; stdout: string; stderr: string } {
  const dataDir = temporaryDirectory();
  const { status, stdout, stderr } = spawnSync(process.execPath, [...argumentsOfNode(), 'gateway/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', ...env },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

/** `pmx` with only this data directory to know. */
function runPmx(dataDir: string, ...args: string[]): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, ['shared/client/cli/pmx.mjs', ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  return { code: status, stdout };
}

describe('a server and its data directory, from the first start on', async () => {
  const settings = { CHAIN_ID: '31337', FEE_BPS: '30', ADMIN_TOKEN: '' };
  const dataDir = join(temporaryDirectory(), 'new');
  const server = await startServer({ after }, { ...settings, DATA_DIR: dataDir });
  const atFirst = [...server.stdout];
  const doubts = (lines: string[]) => lines.filter((line) => line.includes('"MASTER_KEY is not set: ')).length;
  const tokenFile = /Admin token {2}in (\S+)/.exec(server.stdout.join('\n'))![1];
  const token = readFileSync(tokenFile, 'utf8').trim();
  const asAdmin = (method: string, path: string, body?: unknown) =>
    server.request(method, path, body, { authorization: `Bearer ${token}` });

  test('probes, clock and configuration are as documented', async () => {
    assert.deepEqual((await server.request('GET', '/health')).body, { status: 'ok' });
    assert.deepEqual((await server.request('GET', '/ready')).body, { status: 'ready' });
    const ledger = { status: 'connected', mode: 'ledger' };
    assert.deepEqual((await server.request('GET', '/health/polygon')).body, ledger);
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
      stage: 'open',
      market_factory_paused: false,
      total_markets: 0,
      total_volume: '0',
      total_fees_collected: '0',
      history_from: null,
      eip712_domain: {
        name: 'Prediction Market Exchange',
        version: '1',
        chainId: 31337,
        verifyingContract: exchange_address,
      },
    });
    for (const address of [exchange_address, usdc_address, ctf_address]) {
      assert.equal(address, checksumAddress(address.toLowerCase()), 'EIP-55');
    }
    const sunset = await server.request('GET', '/v1/chain/config');
    assert.deepEqual([sunset.status, sunset.body.code], [404, 'NOT_FOUND']);
  });

  test('nothing in the directory is for anybody but its owner', () => {
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    for (const name of readdirSync(dataDir)) assert.equal(statSync(join(dataDir, name)).mode & 0o077, 0, name);
  });

  test('without ADMIN_TOKEN and a terminal a token is made and kept in a file, and it is good', async () => {
    assert.equal(tokenFile, join(dataDir, 'admin.token'));
    assert.ok(!server.stdout.join().includes(token));
    const wallet = `0x${'12'.repeat(20)}`;
    assert.equal((await asAdmin('POST', '/admin/users', { wallet_address: wallet })).status, 201);
  });

  test('a second server on the directory ends with one line and leaves the first alone', async () => {
    const { code, stderr } = runMain({ DATA_DIR: dataDir });
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*control\.db is in use by another server\n$/);
    assert.equal((await server.request('GET', '/ready')).status, 200);
  });

  test('another number of shards, or another signing domain than its orders are for, is a bad setting', async () => {
    await server.kill();
    const { code, stderr } = runMain({ DATA_DIR: dataDir, SHARDS: '3' });
    assert.deepEqual([code, stderr], [78, 'error: SHARDS: this data directory was made with 2\n']);
    const others: Record<string, string>[] = [
      { CHAIN_ID: '1' },
      { CHAIN_ID: '31337', EXCHANGE_ADDRESS: `0x${'22'.repeat(20)}` },
    ];
    for (const changed of others) {
      const { code, stderr } = runMain({ DATA_DIR: dataDir, ...changed });
      assert.equal(code, 78);
      assert.match(
        stderr,
        /^error: EXCHANGE_ADDRESS, CHAIN_ID: the orders .* are for 0x[0-9a-f]{40} on chain 31337\n$/,
      );
    }
  });

  test('the start after a kill shows no token, keeps the number of shards and makes no demo', async () => {
    server.stdout.length = 0;
    await server.start({ ...settings, SHARDS: '', DEMO: 'on' });
    assert.equal(JSON.parse(server.stdout.at(-1)!).shards, 2);
    assert.ok(!server.stdout.join('\n').includes(token));
    // DEMO does not turn an existing directory into a demo: its contents may be worth something (10.10).
    assert.deepEqual([doubts(atFirst), doubts(server.stdout)], [1, 1], 'MASTER_KEY is not set, once at each start');
    assert.equal((await asAdmin('GET', '/admin/ledger')).status, 200);
    assert.equal((await server.request('GET', '/v1/markets')).body.total, 0);
  });

  test('SIGTERM ends it with exit code 0', async () => {
    assert.equal(await server.stop(), 0);
    assert.equal(JSON.parse(server.stdout.at(-1)!).msg, 'stopped');
  });
});

describe('a start that cannot succeed', () => {
  test('a bad setting is one line and exit code 78', () => {
    const { code, stdout, stderr } = runMain({ PORT: 'eighty' });
    assert.deepEqual([code, stdout, stderr], [78, '', 'error: PORT: expected an integer from 0 to 65535\n']);
  });

  test('a certificate that cannot be used is a bad setting, found before anything is made', () => {
    const dataDir = join(temporaryDirectory(), 'new');
    const { code, stdout, stderr } = runMain({ DATA_DIR: dataDir, TLS_CERT: 'no.pem', TLS_KEY: 'no.key' });
    const line = 'error: TLS_CERT and TLS_KEY: cannot use no.pem with no.key\n';
    assert.deepEqual([code, stdout, stderr], [78, '', line]);
    assert.ok(!existsSync(dataDir));
  });

  test('a port that is taken ends with one line', async (t) => {
    const taken = createServer();
    t.after(() => void taken.close());
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = runMain({ PORT: String(port), DEMO: 'off' });
    assert.equal(code, 1);
    assert.match(stderr, /^error: cannot listen on 127\.0\.0\.1 port \d+: is it taken, or of another machine\?\n$/);
  });
});

describe('the demo', async () => {
  const server = await startServer({ after }, { SHARDS: '1', DEMO: 'on' });

  test('fills a new directory with markets, books and two accounts that can trade at once', async () => {
    const client = new ExchangeClient({ baseUrl: server.baseUrl });
    const { lines } = demoCatalogue(Date.now());
    const events = lines.filter(({ event }) => event !== undefined).length;
    const { total } = (await server.request('GET', '/v1/events')).body;
    assert.equal(total, events);
    const catalogue = await text(await server.admin.exportCatalogue());
    assert.equal(catalogue.split('\n').length - 1, lines.length);

    const path = join(server.dataDir, 'demo.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const demo: Demo = JSON.parse(readFileSync(path, 'utf8'));
    assert.equal(demo.base_url, server.baseUrl);
    const [alice, bob] = demo.accounts.map(({ key_id: keyId, secret, passphrase }) => {
      return new ExchangeClient({ baseUrl: server.baseUrl, credentials: { keyId, secret, passphrase } });
    });
    assert.deepEqual((await alice.balances()).usdc, { available: '10000000000', reserved: '0' });
    assert.ok(Number((await bob.balances()).usdc.reserved) > 0);
    const quoted = Object.keys(readDemoFile<object>('books.json')).map((key) => {
      const line = catalogue.split('\n').find((each) => each.includes(`"external_event_id":"${key}"`));
      return JSON.parse(line!).market.id;
    });
    assert.ok(quoted.includes(demo.market_id));
    const books = await Promise.all(quoted.map((id) => client.book(id)));
    assert.ok(books.every(({ bids, asks }) => bids.length === 3 && asks.length === 3));
    const live = (await server.request('GET', '/v1/events/river-town-v-harbour-city/view')).body;
    assert.deepEqual([live.status, live.live.home_score, live.live.away_score], ['live', 2, 1]);
    assert.equal((await server.admin.ledger()).balanced, true);
  });

  test('prints a command that places a first order, but no keys, because the output is no terminal', async () => {
    const printed = server.stdout.join('\n');
    const [, command] = /npx pmx (.*)/.exec(printed)!;
    const { code, stdout } = runPmx(server.dataDir, ...command.trim().split(' '));
    assert.equal(code, 0, stdout);
    assert.match(stdout, /status\s+filled/);

    const demo: Demo = JSON.parse(readFileSync(join(server.dataDir, 'demo.json'), 'utf8'));
    for (const { secret } of demo.accounts) assert.ok(!printed.includes(secret));
    server.stdout.length = 0;
    await server.restart({ DEMO: 'on' });
    const market = await new ExchangeClient({ baseUrl: server.baseUrl }).market(demo.market_id);
    assert.equal(market.total_volume, '5.5', 'volumes are there from the start');
    assert.equal((await server.request('GET', '/v1/platform/config')).body.total_volume, '5.5');
    const printedAgain = server.stdout.join('\n');
    assert.ok(printedAgain.includes(command));
    assert.equal(runPmx(server.dataDir, 'balances').code, 0, 'demo.json follows the port');
  });
});
