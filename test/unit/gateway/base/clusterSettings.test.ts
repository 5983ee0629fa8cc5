import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, type Environment, parseConfig } from '../../../../gateway/base/config.ts';

const CORES = 4;
const SECRET = 'xxxx';
const ADDRESS = `0x${'5'.repeat(40)}`;
const GIVEN: Environment = {
  JOURNAL: 'postgres',
  JOURNAL_URL: `postgres://exchange:${SECRET}@one:5432,two:5433/log`,
  MEMBER_NAME: 'a',
  MASTER_KEY: '0'.repeat(64),
  SHARDS: '1',
};

function refusal(changed: Environment): string {
  try {
    parseConfig({ ...GIVEN, ...changed }, CORES);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(!error.message.includes('\n') && !error.message.includes(SECRET), 'one line, without the secret');
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(changed)}`);
}

describe('cluster settings (RULES.md 18.1)', () => {
  it('are those of one machine unless asked for', () => {
    assert.equal(parseConfig({}, CORES).cluster, null);
    assert.equal(parseConfig({ JOURNAL: 'sqlite', MEMBER_NAME: 'a' }, CORES).cluster, null);
  });

  it('name the log, the cluster, and the member with its address', () => {
    const config = parseConfig(GIVEN, CORES);
    assert.deepEqual(config.cluster, {
      url: GIVEN['JOURNAL_URL'],
      name: 'exchange',
      member: 'a',
      address: 'http://127.0.0.1:8080',
      allowsUnreplicated: false,
      allowsUnsynced: false,
    });
    assert.equal(config.demo, false, 'the keys of a demo would be on one machine');
    const given = { CLUSTER_NAME: 'c', MEMBER_URL: 'https://a.example/', JOURNAL_UNREPLICATED: 'on' };
    const { name, address, allowsUnreplicated } = parseConfig({ ...GIVEN, ...given }, CORES).cluster!;
    assert.deepEqual([name, address, allowsUnreplicated], ['c', 'https://a.example', true]);
  });

  it('may come with those of a chain (RULES.md 18.12)', () => {
    const contracts = ['EXCHANGE', 'MARKET_FACTORY', 'USDC', 'CTF', 'RESOLUTIONS'];
    const addresses = contracts.map((name) => [`${name}_ADDRESS`, ADDRESS]);
    const keys = ['OPERATOR', 'RESOLVER', 'DEPLOYER', 'PERMIT'].map((job, at) => [
      `${job}_KEY`,
      `0x${String(at + 1).repeat(64)}`,
    ]);
    const chain = Object.fromEntries([...addresses, ...keys, ['RPC_URL', 'http://node.example']]);
    const config = parseConfig({ ...GIVEN, ...chain }, CORES);
    assert.deepEqual([config.cluster?.member, config.chain?.rpcUrl], ['a', 'http://node.example']);
  });

  it('are refused, in one line without a secret, where a member could not be one', () => {
    const unsynced = /^JOURNAL_UNSYNCED: on is for tests, and needs a loopback HOST and a database on loopback$/;
    const here = { JOURNAL_URL: 'postgres://exchange@127.0.0.1:1,[::1]:2,localhost/log' };
    assert.equal(parseConfig({ ...GIVEN, ...here, JOURNAL_UNSYNCED: 'on' }, CORES).cluster!.allowsUnsynced, true);
    const exposed = { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.1', MEMBER_URL: 'https://a.example' };
    const refusals: [Environment, RegExp][] = [
      [{ JOURNAL: 'kafka' }, /^JOURNAL: expected one of sqlite, postgres$/],
      [{ JOURNAL_URL: '' }, /^JOURNAL=postgres: JOURNAL_URL or JOURNAL_URL_FILE must be set$/],
      [{ JOURNAL_URL: `mysql://a:${SECRET}@b/c` }, /^JOURNAL_URL: expected postgres:\/\//],
      [{ JOURNAL_URL: `postgres://a:${SECRET}@b` }, /^JOURNAL_URL: expected postgres:\/\//],
      [{ JOURNAL_URL_FILE: '/nowhere' }, /^JOURNAL_URL and JOURNAL_URL_FILE: set one of them$/],
      [{ JOURNAL: 'sqlite' }, /^JOURNAL_URL: has an effect only with JOURNAL=postgres$/],
      [{ MEMBER_NAME: '' }, /^JOURNAL=postgres: MEMBER_NAME must be set/],
      [{ MEMBER_NAME: 'a b' }, /^MEMBER_NAME: expected/],
      [{ CLUSTER_NAME: '-' }, /^CLUSTER_NAME: expected/],
      [{ MASTER_KEY: '' }, /^JOURNAL=postgres: MASTER_KEY must be set, to the same value on every member$/],
      [{ MASTER_KEY: 'file' }, /^JOURNAL=postgres: MASTER_KEY must be set, to the same value on every member$/],
      [{ SHARDS: '' }, /^JOURNAL=postgres: SHARDS must be set, to the same value on every member$/],
      [{ DEMO: 'on' }, /^JOURNAL=postgres: there is no demo/],
      [{ PORT: '0' }, /^JOURNAL=postgres: MEMBER_URL must be set/],
      [{ MEMBER_URL: 'a.example' }, /^MEMBER_URL: expected an origin/],
      [{ MEMBER_URL: `http://${'a'.repeat(1006)}` }, /^MEMBER_URL: is longer than 1012 bytes/],
      [{ JOURNAL_UNSYNCED: 'on' }, unsynced],
      [{ ...here, ...exposed, JOURNAL_UNSYNCED: 'on' }, unsynced],
      [{ JOURNAL_UNREPLICATED: 'yes' }, /^JOURNAL_UNREPLICATED: expected one of on, off$/],
    ];
    for (const [changed, expected] of refusals) assert.match(refusal(changed), expected);
  });
});
