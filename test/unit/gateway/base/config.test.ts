import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Config, ConfigError, type Environment, parseConfig } from '../../../../gateway/base/config.ts';
import { doubtsAbout } from '../../../../gateway/base/exposure.ts';
import { verifyThreadsBeside } from '../../../../gateway/wiring/verifyThreads.ts';

const CORES = 8;

function refusal(env: Environment): string {
  try {
    parseConfig(env, CORES);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(!error.message.includes('\n'), 'one line');
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(env)}`);
}

describe('config', () => {
  it('knows exactly the settings of .env.example, with the defaults that stand there', () => {
    const text = readFileSync(new URL('../../../../.env.example', import.meta.url), 'utf8');
    const example: Environment = Object.fromEntries(
      [...text.matchAll(/^#([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    const read = new Set<string>();
    const observed = (env: Environment): Environment =>
      new Proxy(env, {
        get(target, name: string) {
          read.add(name);
          return target[name];
        },
      });
    parseConfig(observed(example), CORES);
    // The settings of a chain are read only where there is one.
    const keystores = Object.keys(example).filter((name) => name.includes('_KEYSTORE'));
    const signers = Object.keys(example).filter((name) => name.includes('_SIGNER'));
    const address = `0x${'5'.repeat(40)}`;
    const onChain = { RPC_URL: 'http://node', DEMO: 'off', PAYMENTS_ADDRESS: address, RESOLUTIONS_ADDRESS: address };
    const kept = Object.fromEntries(keystores.map((name) => [name, '/k']));
    const asked = Object.fromEntries(signers.map((name) => [name, name.endsWith('_ADDRESS') ? address : 'http://kms']));
    for (const keys of [kept, asked]) parseConfig(observed({ ...example, ...onChain, ...keys }), CORES);
    read.delete('NODE_ENV');
    assert.deepEqual([...read].sort(), Object.keys(example).sort());
    // These two depend on the number of cores.
    assert.deepEqual(parseConfig({ ...example, SHARDS: '', VERIFY_THREADS: '' }, CORES), parseConfig({}, CORES));
  });

  it('starts on defaults when nothing is set', () => {
    const config = parseConfig({}, CORES);
    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8080);
    assert.equal(config.dataDir, 'data/live');
    assert.equal(config.shards, null);
    assert.equal(config.defaultShards, 7);
    assert.equal(config.verifier, 'kernel');
    assert.equal(config.verifyThreads, null);
    assert.equal(config.cores, CORES);
    assert.equal(config.journalSync, 'full');
    assert.equal(config.chainId, 137);
    assert.equal(config.feeBps, 50);
    assert.equal(config.rateLimits, true);
    assert.equal(config.collateralCheck, true);
    assert.equal(config.postOnlyMs, 0);
    assert.equal(config.maxOrdersEver, 100_000_000);
    assert.deepEqual(config.openOrders, { inAll: 10_000, inMarket: 2000 });
    assert.equal(config.demo, true);
    assert.equal(config.adminToken, null);
    assert.equal(config.masterKey, null);
    assert.equal(config.tls, null);
    assert.equal(config.trustProxy, null);
    assert.equal(config.maxConnections, 10_000);
    assert.equal(config.connectionsPerIp, 100);
    assert.equal(config.newConnectionsPerIp, 200);
    assert.equal(config.adminDoor, null);
    assert.deepEqual(config.corsOrigins, []);
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.contracts));
  });

  it('takes an empty value as unset', () => {
    assert.deepEqual(parseConfig({ PORT: '', SHARDS: ' ', MASTER_KEY: '' }, CORES), parseConfig({}, CORES));
  });

  it('passes over settings that it does not have, as those of earlier versions and of other programs', () => {
    const others = { NATS_URL: 'no url', LANG: 'C.UTF-8' };
    assert.deepEqual(parseConfig(others, CORES), parseConfig({}, CORES));
  });

  it('takes a verifier by its name', () => {
    const verifiers = ['', 'kernel', 'noble'].map((name) => parseConfig({ VERIFIER: name }, CORES).verifier);
    assert.deepEqual(verifiers, ['kernel', 'kernel', 'noble']);
    assert.match(refusal({ VERIFIER: 'auto' }), /^VERIFIER: /);
  });

  it('takes any number of verifier threads, none as well, and otherwise has what cores are left over', () => {
    assert.equal(parseConfig({ VERIFY_THREADS: '0' }, CORES).verifyThreads, 0);
    assert.equal(parseConfig({ VERIFY_THREADS: '3' }, CORES).verifyThreads, 3);
    assert.match(refusal({ VERIFY_THREADS: '65' }), /^VERIFY_THREADS: expected an integer from 0 to 64$/);
    assert.deepEqual(
      [1, 2, 3, 4, 8].map((cores) => verifyThreadsBeside(1, cores, 'kernel')),
      [0, 0, 1, 2, 6],
    );
    assert.deepEqual(
      [1, 2, 3, 4, 8].map((cores) => verifyThreadsBeside(1, cores, 'noble')),
      [0, 1, 1, 2, 6],
      'the slow verifier wants both of two cores',
    );
    assert.equal(verifyThreadsBeside(7, 8, 'kernel'), 1, 'a hot market is never bound to one core');
  });

  it('knows whether clients come over TLS, to the exchange or to a proxy before it', () => {
    const isHttps = (PUBLIC_URL: string) => parseConfig({ PUBLIC_URL }, CORES).isHttps;
    assert.deepEqual(['https://a.example', 'http://a.example', ''].map(isHttps), [true, false, false]);
  });

  it('takes origins as browsers write them, or all', () => {
    const origins = (text: string) => parseConfig({ CORS_ORIGINS: text }, CORES).corsOrigins;
    assert.deepEqual(origins('https://a.example, http://localhost:3000'), [
      'https://a.example',
      'http://localhost:3000',
    ]);
    assert.deepEqual(origins('*'), ['*']);
    for (const wrong of [
      'a.example',
      'https://a.example/',
      'https://a.example/path',
      'https://A.example',
      'https://*.example',
      ',',
      'null',
    ]) {
      assert.match(refusal({ CORS_ORIGINS: wrong }), /^CORS_ORIGINS: expected \* or origins /, wrong);
    }
  });

  it('leaves at least one shard on a machine with one core', () => {
    assert.equal(parseConfig({}, 1).defaultShards, 1);
  });

  it('reads every variable', () => {
    const config = parseConfig(
      {
        HOST: '127.0.0.2',
        PORT: '0',
        DATA_DIR: '/tmp/x',
        SHARDS: '3',
        VERIFIER: 'noble',
        JOURNAL_SYNC: 'normal',
        ADMIN_TOKEN: 'token',
        CHAIN_ID: '80002',
        EXCHANGE_ADDRESS: `0x${'Ab'.repeat(20)}`,
        FEE_BPS: '0',
        COLLATERAL_CHECK: 'off',
        POST_ONLY_AFTER_RESTART_MS: '2500',
        MAX_ORDERS_EVER: '5000',
        MAX_OPEN_ORDERS: '50',
        MAX_OPEN_ORDERS_PER_MARKET: '5',
        LOG_LEVEL: 'silent',
        TLS_CERT: 'c.pem',
        TLS_KEY: 'k.pem',
        REDIS_URL: 'redis://localhost:6379',
      },
      CORES,
    );
    assert.equal(config.host, '127.0.0.2');
    assert.equal(config.port, 0);
    assert.equal(config.shards, 3);
    assert.equal(config.verifier, 'noble');
    assert.equal(config.journalSync, 'normal');
    assert.equal(config.adminToken, 'token');
    assert.equal(config.contracts.exchange, `0x${'Ab'.repeat(20)}`);
    assert.equal(config.feeBps, 0);
    assert.equal(config.collateralCheck, false);
    assert.equal(config.postOnlyMs, 2500);
    assert.equal(config.maxOrdersEver, 5000);
    assert.deepEqual(config.openOrders, { inAll: 50, inMarket: 5 });
    assert.deepEqual(config.tls, { certFile: 'c.pem', keyFile: 'k.pem' });
  });

  it('takes every number from its least to its most', () => {
    const MAX = Number.MAX_SAFE_INTEGER;
    const MB = 1_000_000;
    const bounds: Record<string, [(config: Config) => unknown, least: number, most: number, unit?: number]> = {
      PORT: [({ port }) => port, 0, 65_535],
      SHARDS: [({ shards }) => shards, 1, 64],
      GATEWAYS: [({ gateways }) => gateways, 1, 64],
      SNAPSHOT_EVERY: [({ snapshotEvery }) => snapshotEvery, 1, 1_000_000_000],
      JOURNAL_KEEP: [({ journalKeep }) => journalKeep, 0, MAX],
      DISK_RESERVE_MB: [({ diskReserveBytes }) => diskReserveBytes, 0, 1_000_000_000, MB],
      JOURNAL_RESERVE_MB: [({ journalReserveBytes }) => journalReserveBytes, 0, 512, MB],
      APPROVAL_ABOVE_MICRO: [({ approvalAboveMicro }) => approvalAboveMicro, 0, MAX],
      CHAIN_ID: [({ chainId }) => chainId, 1, MAX],
      FEE_BPS: [({ feeBps }) => feeBps, 0, 10_000],
      POST_ONLY_AFTER_RESTART_MS: [({ postOnlyMs }) => postOnlyMs, 0, 3_600_000],
      MAX_ORDERS_EVER: [({ maxOrdersEver }) => maxOrdersEver, 1000, 2 ** 30],
      ORDER_MEMORY_MB: [({ hashesInMemory }) => hashesInMemory, 1, 65_536, 10_000],
      ARCHIVE_UNFILLED_DAYS: [({ archiveUnfilledDays }) => archiveUnfilledDays, 10, 36_500],
      MAX_OPEN_ORDERS: [({ openOrders }) => openOrders.inAll, 1, 1_000_000],
      MAX_OPEN_ORDERS_PER_MARKET: [({ openOrders }) => openOrders.inMarket, 1, 1_000_000],
      MAX_CONNECTIONS: [({ maxConnections }) => maxConnections, 1, 1_000_000],
      CONNECTIONS_PER_IP: [({ connectionsPerIp }) => connectionsPerIp, 1, 1_000_000],
      NEW_CONNECTIONS_PER_IP: [({ newConnectionsPerIp }) => newConnectionsPerIp, 1, 1_000_000],
      ADMIN_PORT: [({ adminDoor }) => adminDoor?.port, 0, 65_535],
    };
    for (const [name, [read, least, most, unit = 1]] of Object.entries(bounds)) {
      for (const value of [least, most]) {
        assert.equal(read(parseConfig({ [name]: String(value) }, CORES)), value * unit, name);
      }
      for (const value of [least - 1, most + 1]) {
        const error = assertThrows(() => parseConfig({ [name]: String(value) }, CORES));
        assert.match(error.message, new RegExp(`^${name}: expected an integer from ${least} to ${most}`));
      }
    }
  });

  it('names the variable of a bad value', () => {
    const bad: Record<string, string[]> = {
      PORT: ['65536', '-1', '80.5', '1e3', '0x50', 'http'],
      SHARDS: ['0', '65', 'two'],
      GATEWAYS: ['0', '65', 'on'],
      VERIFIER: ['NOBLE', 'fast'],
      JOURNAL_SYNC: ['off'],
      ADMIN_TOKEN: ['two words', 'tök'],
      MASTER_KEY: ['00', 'ab'.repeat(31), 'zz'.repeat(32), '!'.repeat(43)],
      CHAIN_ID: ['0', '9007199254740992'],
      EXCHANGE_ADDRESS: ['0x12', `0x${'g'.repeat(40)}`],
      FEE_BPS: ['10001'],
      RATE_LIMITS: ['yes', 'true'],
      COLLATERAL_CHECK: ['1'],
      POST_ONLY_AFTER_RESTART_MS: ['-1', '3600001', 'on'],
      MAX_ORDERS_EVER: ['999', '1073741825', 'on'],
      MAX_OPEN_ORDERS: ['0', '1000001', 'on'],
      MAX_OPEN_ORDERS_PER_MARKET: ['0', '1000001', 'on'],
      DEMO: ['maybe'],
      LOG_LEVEL: ['loud'],
      TRUST_PROXY: ['on', '10.0.0.0/33', '10.0.0.0/8/8', '::1/129', '127.0.0.1,'],
      REDIS_URL: ['localhost', 'http://localhost:6379'],
    };
    for (const [name, values] of Object.entries(bad)) {
      for (const value of values) assert.match(refusal({ [name]: value }), new RegExp(`^${name}: `));
    }
  });

  it('never repeats a bad master key', () => {
    assert.ok(!refusal({ MASTER_KEY: 'hunter2hunter2' }).includes('hunter2'));
  });

  it('reads the master key as hex and as either base64', () => {
    const key = Buffer.alloc(32, 0xfb);
    for (const text of [key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
      assert.deepEqual(parseConfig({ MASTER_KEY: text }, CORES).masterKey, key);
    }
  });

  it('refuses to drop rate limits on an address others can reach', () => {
    assert.match(refusal({ RATE_LIMITS: 'off', HOST: '0.0.0.0' }), /^RATE_LIMITS: /);
    assert.match(refusal({ RATE_LIMITS: 'off', HOST: '127.evil.example' }), /^RATE_LIMITS: /);
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) {
      assert.equal(parseConfig({ RATE_LIMITS: 'off', HOST: host }, CORES).rateLimits, false);
    }
  });

  it('accepts an address and a host name, and refuses other text', () => {
    for (const HOST of ['::', 'localhost', 'exchange-1.example'])
      assert.equal(parseConfig({ HOST, TRUST_PROXY: '10.0.0.1', MASTER_KEY: 'file' }, CORES).host, HOST);
    for (const HOST of ['256.1.1.1', '10.0.0', 'a b', 'a..b', '127.0.0.1:80'])
      assert.match(refusal({ HOST }), /^HOST: /);
  });

  it('wants both halves of TLS or neither', () => {
    assert.match(refusal({ TLS_CERT: 'c.pem' }), /TLS_KEY/);
    assert.match(refusal({ TLS_KEY: 'k.pem' }), /TLS_CERT/);
  });

  it('has no demo in production unless asked for', () => {
    assert.equal(parseConfig({ NODE_ENV: 'production' }, CORES).demo, false);
    assert.equal(parseConfig({ NODE_ENV: 'production', DEMO: 'on' }, CORES).demo, true);
  });

  it('believes only the proxies it was given', () => {
    const { trustProxy } = parseConfig({ TRUST_PROXY: '127.0.0.1, 10.0.0.0/8, ::1' }, CORES);
    assert.ok(trustProxy?.check('10.200.0.1', 'ipv4'));
    assert.ok(trustProxy?.check('::1', 'ipv6'));
    assert.ok(!trustProxy?.check('11.0.0.1', 'ipv4'));
  });

  it("warns of a key beside the data, except a demo's, and of the example domain names", () => {
    const doubts = (env: Environment, isDemo = false): number => doubtsAbout(parseConfig(env, CORES), isDemo).length;
    assert.equal(doubts({}, true), 0);
    assert.equal(doubts({ TRUST_PROXY: '127.0.0.1' }, true), 1);
    assert.equal(doubts({}), 1);
    assert.equal(doubts({ MASTER_KEY: 'ab'.repeat(32) }), 0);
    assert.equal(doubts({ TRUST_PROXY: '127.0.0.1' }), 1);
    assert.equal(doubts({ TRUST_PROXY: '127.0.0.1', MASTER_KEY: 'file' }), 0);
    assert.equal(doubts({ PUBLIC_URL: 'https://exchange.example.org', MASTER_KEY: 'ab'.repeat(32) }), 1);
    assert.equal(doubts({ PUBLIC_URL: 'https://exchange.example.org' }), 2);
    assert.equal(doubts({ PUBLIC_URL: 'https://exchange.test', MASTER_KEY: 'file' }), 0);
  });

  describe('off loopback', () => {
    const exposed = (env: Environment): Environment => {
      return { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.1', MASTER_KEY: 'file', ...env };
    };
    const dangerous: [string, Environment, RegExp][] = [
      ['neither TLS nor a proxy', { TRUST_PROXY: '' }, /^TLS_CERT and TLS_KEY, or TRUST_PROXY/],
      ['a short administrator token', { ADMIN_TOKEN: 'x'.repeat(31) }, /^ADMIN_TOKEN: at least 32 characters/],
      ['no collateral check', { COLLATERAL_CHECK: 'off' }, /^COLLATERAL_CHECK: /],
      ['no rate limits', { RATE_LIMITS: 'off' }, /^RATE_LIMITS: /],
      ['the demo', { DEMO: 'on' }, /^DEMO: /],
      ['the name of the examples', { PUBLIC_URL: 'https://exchange.example.org' }, /^PUBLIC_URL: .* of the examples/],
      ['a master key beside the data', { MASTER_KEY: '' }, /^MASTER_KEY: needed where HOST is not a loopback/],
      ['the provider of pretended money', { FIAT_PROVIDERS: 'coinbase,sandbox' }, /^FIAT_PROVIDERS: sandbox /],
      ['a proxy anywhere', { TRUST_PROXY: '0.0.0.0/0' }, /^TRUST_PROXY: names the whole internet/],
      ['a proxy anywhere, IPv6', { TRUST_PROXY: '10.0.0.1, ::/0' }, /^TRUST_PROXY: names the whole internet/],
      ['a proxy anywhere in two halves', { TRUST_PROXY: '0.0.0.0/1,128.0.0.0/1' }, /^TRUST_PROXY: /],
      ['a proxy at any mapped address', { TRUST_PROXY: '::ffff:0:0/96' }, /^TRUST_PROXY: /],
      ['a proxy at every second mapped address', { TRUST_PROXY: '::ffff:0.0.0.0/97' }, /^TRUST_PROXY: /],
    ];
    for (const [name, env, message] of dangerous) {
      it(`refuses ${name}, which loopback allows`, () => {
        const { message: said } = assertThrows(() => parseConfig(exposed(env), CORES));
        assert.match(said, message);
        assert.ok(!said.includes('\n') && !said.includes('xxxx'), 'one line, without the secret');
        for (const HOST of ['127.0.0.1', '::1', 'localhost']) parseConfig({ ...exposed(env), HOST }, CORES);
      });
    }

    it('lets administrators in from elsewhere over TLS alone, and then refuses what HOST there would refuse', () => {
      const door = { ADMIN_PORT: '9000', ADMIN_HOST: '0.0.0.0', DEMO: 'off' };
      const files = { TLS_CERT: 'c', TLS_KEY: 'k', MASTER_KEY: 'file' };
      assert.match(
        assertThrows(() => parseConfig(door, CORES)).message,
        /^ADMIN_HOST: off loopback it needs TLS_CERT and TLS_KEY/,
      );
      assert.match(assertThrows(() => parseConfig({ ...door, ...files, DEMO: 'on' }, CORES)).message, /^DEMO: /);
      const tls = { certFile: 'c', keyFile: 'k' };
      const elsewhere = parseConfig({ ...door, ...files }, CORES).adminDoor;
      assert.deepEqual(elsewhere, { host: '0.0.0.0', port: 9000, tls });
      // In a container: the proxy in another container terminates TLS, and administrators come in plain HTTP to HOST
      // without this port.
      const inside = { HOST: '0.0.0.0', MASTER_KEY: 'file' };
      const plain = parseConfig({ ...door, ...inside, TRUST_PROXY: '10.0.0.1' }, CORES).adminDoor;
      assert.deepEqual(plain, { host: '0.0.0.0', port: 9000, tls: null });
      for (const env of [
        { TRUST_PROXY: '10.0.0.1', MASTER_KEY: 'file' },
        { ...inside, TRUST_PROXY: '' },
      ]) {
        assert.match(
          assertThrows(() => parseConfig({ ...door, ...env }, CORES)).message,
          /^ADMIN_HOST: off loopback it needs TLS_CERT/,
        );
      }
      const here = parseConfig({ ADMIN_PORT: '9000', ...files }, CORES).adminDoor;
      assert.deepEqual(here, { host: '127.0.0.1', port: 9000, tls: null });
    });

    it('accepts the settings of a careful operator', () => {
      const token = 'x'.repeat(32);
      const proxied = parseConfig(
        exposed({ ADMIN_TOKEN: token, TRUST_PROXY: '10.0.0.0/8, ::ffff:10.0.0.0/104, 2001:db8::/32' }),
        CORES,
      );
      assert.equal(proxied.adminToken, token);
      assert.equal(parseConfig(exposed({ TRUST_PROXY: '', TLS_CERT: 'c', TLS_KEY: 'k' }), CORES).demo, false);
    });
  });
});

function assertThrows(action: () => unknown): ConfigError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error;
  }
  return assert.fail('was accepted');
}
