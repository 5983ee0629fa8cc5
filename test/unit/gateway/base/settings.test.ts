import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';
import { CHAIN_JOBS, type ChainJob } from '../../../../gateway/base/chainSettings.ts';
import { type Environment, parseConfig } from '../../../../gateway/base/config.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const CORES = 8;
/** The files that make the configuration; whoever reads it stands elsewhere. */
const MAKERS = ['config', 'chainSettings', 'clusterSettings', 'fiatSettings', 'providerSettings'];
const OWN = MAKERS.map((name) => `gateway/base/${name}.ts`);

const folder = mkdtempSync(join(tmpdir(), 'settings-'));
after(() => rmSync(folder, { recursive: true, force: true }));
function fileWith(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const ADDRESS = `0x${'5'.repeat(40)}`;
const OTHER_ADDRESS = `0x${'6'.repeat(40)}`;
const keyOf = (digit: number): string => `0x${String(digit).repeat(64)}`;
const CHAIN: Environment = {
  RPC_URL: 'http://127.0.0.1:1',
  DEMO: 'off',
  RESOLUTIONS_ADDRESS: ADDRESS,
  PAYMENTS_ADDRESS: ADDRESS,
  EXCHANGE_ADDRESS: ADDRESS,
  MARKET_FACTORY_ADDRESS: ADDRESS,
  USDC_ADDRESS: ADDRESS,
  CTF_ADDRESS: ADDRESS,
  ...Object.fromEntries(CHAIN_JOBS.map((job, index) => [`${job}_KEY`, keyOf(index + 1)])),
};
const STANDS_ALONE: Environment = { MASTER_KEY: 'ab'.repeat(32), SHARDS: '2', DEMO: 'off' };
const MEMBER = { JOURNAL: 'postgres', JOURNAL_URL: 'postgres://127.0.0.1/a', MEMBER_NAME: 'a' };
const CLUSTER: Environment = { ...STANDS_ALONE, ...MEMBER };
const BY_FILE = { JOURNAL_URL: '', JOURNAL_URL_FILE: fileWith('a', 'postgres://127.0.0.1/a') };
const TLS: Environment = { TLS_CERT: '/a', TLS_KEY: '/b' };
const OIDC: Environment = {
  OIDC_NAME_ISSUER: 'https://a.example',
  OIDC_NAME_CLIENT_ID: 'a',
  OIDC_NAME_CLIENT_SECRET: 'a',
};
const FIAT: Environment = { FIAT_PROVIDERS: 'coinbase,sandbox' };
const PEM = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' });

/** A setting, another value of it (or several settings), the field that it changes, and the settings beside it. */
type Row = readonly [setting: string, value: string | Environment, field: string, beside?: Environment];

const ALONE: readonly Row[] = [
  ['HOST', '127.0.0.2', 'host'],
  ['PORT', '8081', 'port'],
  ['DATA_DIR', 'elsewhere', 'dataDir'],
  ['DEMO', 'off', 'demo'],
  ['DEMO_FLOW', 'off', 'demoFlow'],
  ['DEMO_RAMP', 'off', 'demoRamp'],
  ['LOG_LEVEL', 'debug', 'logLevel'],
  ['PUBLIC_URL', 'http://a.example', 'publicUrl'],
  ['TLS_CERT', '/c', 'tls.certFile', TLS],
  ['TLS_KEY', '/c', 'tls.keyFile', TLS],
  ['TRUST_PROXY', '10.0.0.0/8', 'trustProxy'],
  ['CORS_ORIGINS', 'https://a.example', 'corsOrigins'],
  ['ADMIN_PORT', '8082', 'adminDoor.port', { ADMIN_PORT: '8081' }],
  ['ADMIN_HOST', '127.0.0.2', 'adminDoor.host', { ADMIN_PORT: '8081' }],
  ['ADMIN_TOKEN', 'token', 'adminToken'],
  ['ADMIN_TOKEN_FILE', '/token', 'adminTokenFile'],
  ['MASTER_KEY', 'cd'.repeat(32), 'masterKey'],
  ['BACKUP_TARGET', '/backups', 'backupTarget'],
  ['HISTORY_DIR', '/history', 'historyDir'],
  ['SHARDS', '2', 'shards'],
  ['FEE_BPS', '60', 'feeBps'],
  ['MAX_CONNECTIONS', '9', 'maxConnections'],
  ['CONNECTIONS_PER_IP', '9', 'connectionsPerIp'],
  ['NEW_CONNECTIONS_PER_IP', '9', 'newConnectionsPerIp'],
  ['DISK_RESERVE_MB', '9', 'diskReserveBytes'],
  ['RATE_LIMITS', 'off', 'rateLimits'],
  ['VERIFIER', 'noble', 'verifier'],
  ['VERIFY_THREADS', '3', 'verifyThreads'],
  ['GATEWAYS', '2', 'gateways'],
  ['REHEARSE', 'off', 'rehearse'],
  ['JOURNAL_SYNC', 'normal', 'journalSync'],
  ['SNAPSHOT_EVERY', '9', 'snapshotEvery'],
  ['JOURNAL_KEEP', '9', 'journalKeep'],
  ['JOURNAL_RESERVE_MB', '9', 'journalReserveBytes'],
  ['ORDER_MEMORY_MB', '9', 'hashesInMemory'],
  ['MAX_ORDERS_EVER', '9000', 'maxOrdersEver'],
  ['ARCHIVE_UNFILLED_DAYS', '19', 'archiveUnfilledDays'],
  ['MAX_OPEN_ORDERS', '9', 'openOrders.inAll'],
  ['MAX_OPEN_ORDERS_PER_MARKET', '9', 'openOrders.inMarket'],
  ['POST_ONLY_AFTER_RESTART_MS', '9', 'postOnlyMs'],
  ['COLLATERAL_CHECK', 'off', 'collateralCheck'],
  ['QUOTE_PROVIDER', 'none', 'quoteProvider'],
  ['APPROVAL_ABOVE_MICRO', '9', 'approvalAboveMicro'],
  ['SLOW_REQUEST_MS', '9', 'slowRequestMs'],
  ['REDIS_URL', 'redis://127.0.0.1', 'redisUrl'],
];

const WITH_OTHERS: readonly Row[] = [
  ['PRIVY_APP_ID', 'b', 'privy', { PRIVY_APP_ID: 'a' }],
  ['PRIVY_VERIFICATION_KEY', String(PEM), 'privy.keys', { PRIVY_APP_ID: 'a' }],
  ['PRIVY_JWKS_URL', 'https://a.example', 'privy.keys', { PRIVY_APP_ID: 'a' }],
  ['OIDC_NAME_ISSUER', 'https://b.example', 'oidc.0.issuer', OIDC],
  ['OIDC_NAME_CLIENT_ID', 'b', 'oidc.0.clientId', OIDC],
  ['OIDC_NAME_CLIENT_SECRET', 'b', 'oidc.0.clientSecret', OIDC],
  ['FIAT_PROVIDERS', 'sandbox', 'fiat.providers'],
  ['FIAT_BLOCK_MS', '9', 'fiat.blockMs'],
  ...['KEY_ID', 'KEY_SECRET', 'WEBHOOK_SECRETS'].map(
    (name): Row => [`FIAT_COINBASE_${name}`, 'b', `fiat.providers.0.settings.${name}`, FIAT],
  ),
  ...['URL', 'API_KEY', 'WEBHOOK_SECRETS', 'ADDRESS'].map(
    (name): Row => [`FIAT_SANDBOX_${name}`, 'b', `fiat.providers.1.settings.${name}`, FIAT],
  ),
  ['JOURNAL', MEMBER, 'cluster', STANDS_ALONE],
  ['JOURNAL_URL', 'postgres://127.0.0.1/b', 'cluster.url', CLUSTER],
  ['JOURNAL_URL_FILE', fileWith('b', 'postgres://127.0.0.1/b'), 'cluster.url', { ...CLUSTER, ...BY_FILE }],
  ['CLUSTER_NAME', 'b', 'cluster.name', CLUSTER],
  ['MEMBER_NAME', 'b', 'cluster.member', CLUSTER],
  ['MEMBER_URL', 'http://127.0.0.1:7', 'cluster.address', CLUSTER],
  ['JOURNAL_UNREPLICATED', 'on', 'cluster.allowsUnreplicated', CLUSTER],
  ['JOURNAL_UNSYNCED', 'on', 'cluster.allowsUnsynced', CLUSTER],
];

const ON_CHAIN: readonly Row[] = [
  ['RPC_URL', 'http://127.0.0.1:2', 'chain.rpcUrl', CHAIN],
  ['CHAIN_ID', '138', 'chainId', CHAIN],
  ['EXCHANGE_ADDRESS', OTHER_ADDRESS, 'contracts.exchange', CHAIN],
  ['MARKET_FACTORY_ADDRESS', OTHER_ADDRESS, 'contracts.marketFactory', CHAIN],
  ['USDC_ADDRESS', OTHER_ADDRESS, 'contracts.usdc', CHAIN],
  ['CTF_ADDRESS', OTHER_ADDRESS, 'contracts.ctf', CHAIN],
  ['FEE_SWEEPER_ADDRESS', OTHER_ADDRESS, 'contracts.feeSweeper', CHAIN],
  ['PAYMENTS_ADDRESS', OTHER_ADDRESS, 'chain.paymentsAddress', CHAIN],
  ['RESOLUTIONS_ADDRESS', OTHER_ADDRESS, 'chain.resolutionsAddress', CHAIN],
  ['MOST_FEE_GWEI', '9', 'chain.mostFeeWei', CHAIN],
  ['LOW_BALANCE_GWEI', '9', 'chain.lowBalanceWei', CHAIN],
  ['MOST_HEAD_AGE_MS', '9000', 'chain.mostHeadAgeMs', CHAIN],
  ['MOST_SETTLEMENT_WAIT_MS', '9000', 'chain.mostWaitMs', CHAIN],
  ['LEAST_CHAIN_MOVEMENT_MICRO', '9', 'chain.leastMovementMicro', CHAIN],
  ['MOST_CHAIN_MOVEMENTS_A_DAY', '9', 'chain.mostMovementsADay', CHAIN],
  ['CHAIN_MOVEMENT_FEE_MICRO', '9', 'chain.movementFeeMicro', CHAIN],
  ['MOST_PAID_AN_HOUR_MICRO', '9', 'chain.mostPaidMicro', CHAIN],
  ['MOST_PAID_TO_ALL_AN_HOUR_MICRO', '9', 'chain.mostPaidToAllMicro', CHAIN],
  ...CHAIN_JOBS.flatMap(keyRows),
];

function keyRows(job: ChainJob): Row[] {
  const field = `chain.keys.${job}`;
  const keystore = { ...CHAIN, [`${job}_KEY`]: '', [`${job}_KEYSTORE`]: '/a', [`${job}_KEYSTORE_PASSWORD_FILE`]: '/a' };
  const signer = { ...CHAIN, [`${job}_KEY`]: '', [`${job}_SIGNER`]: 'http://a', [`${job}_SIGNER_ADDRESS`]: ADDRESS };
  return [
    [`${job}_KEY`, keyOf(9), `${field}.secret`, CHAIN],
    [`${job}_KEYSTORE`, '/b', `${field}.keystore`, keystore],
    [`${job}_KEYSTORE_PASSWORD_FILE`, '/b', `${field}.passwordFile`, keystore],
    [`${job}_SIGNER`, 'http://b', `${field}.signer.url`, signer],
    [`${job}_SIGNER_ADDRESS`, OTHER_ADDRESS, `${field}.signer.address`, signer],
  ];
}

const ROWS: readonly Row[] = [...ALONE, ...WITH_OTHERS, ...ON_CHAIN];

describe('settings', () => {
  it('each setting of .env.example changes one field of the configuration, and no other', () => {
    const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
    const settings = [...example.matchAll(/^#([A-Z_0-9]+)=/gm)].map(([, name]) => name);
    assert.deepEqual(ROWS.map(([setting]) => setting).sort(), settings.sort());
    for (const [setting, value, field, beside = {}] of ROWS) {
      const changed = typeof value === 'string' ? { ...beside, [setting]: value } : { ...beside, ...value };
      const [one, other] = [beside, changed].map((env) => leavesOf(parseConfig(env, CORES)));
      const paths = [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path));
      assert.ok(paths.length > 0, `${setting} changes nothing`);
      const elsewhere = paths.filter((path) => path !== field && !path.startsWith(`${field}.`));
      assert.deepEqual(elsewhere, [], `${setting} changes ${field}`);
    }
  });

  it('each field that a setting changes is read outside the files that make the configuration', () => {
    const readers = readersOf();
    const unread = ROWS.map(([, , field]) => field.split('.').filter((name) => readers.has(name)))
      // An object that is passed on as a whole is read under another type.
      .filter((members) => members.slice(-2).every((name) => readers.get(name)!.length === 0))
      .map((members) => members.join('.'));
    assert.deepEqual(unread, []);
    assert.ok(readers.get('feeBps')!.includes('gateway/operator/platformRoutes.ts'));
  });
});

/** By path, each value that is no object or array of the configuration, as a text. */
function leavesOf(value: unknown, path = '', into = new Map<string, string>()): ReadonlyMap<string, string> {
  const isObject = typeof value === 'object' && value !== null;
  const isPlain = isObject && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain) into.set(path, textOf(value));
  else for (const [name, one] of Object.entries(value)) leavesOf(one, path === '' ? name : `${path}.${name}`, into);
  return into;
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'object' && value !== null && 'rules' in value) return String(value.rules);
  return typeof value === 'bigint' ? `${value}n` : `${typeof value} ${value}`;
}

/** By the name of each declared member, the files of production that refer to it, other than those that make it. */
function readersOf(): ReadonlyMap<string, string[]> {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] });
    const { program, checker } = snapshot.getProjects()[0];
    const readers = new Map<string, string[]>();
    const visit = (node: Node): void => {
      if (node.kind === SyntaxKind.PropertySignature && 'name' in node) {
        const name = node.name as Node & { readonly text: string };
        const paths = checker.getReferencedSymbolsForNode(name, name.end - 1).flatMap(({ references }) => references);
        const files = paths
          .map(({ path }) => relative(ROOT, path))
          .filter((path) => /^(?:gateway|engine)\//.test(path));
        const others = files.filter((path) => !OWN.includes(path));
        readers.set(name.text, [...(readers.get(name.text) ?? []), ...others]);
      }
      node.forEachChild(visit);
    };
    for (const path of OWN) program.getSourceFile(join(ROOT, path))!.forEachChild(visit);
    return readers;
  } finally {
    api.close();
  }
}
