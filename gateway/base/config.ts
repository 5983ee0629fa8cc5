/**
 * The environment, parsed once into a frozen object (RULES.md 10.1). Everything is optional; an empty value counts as
 * unset. A bad value is a ConfigError of one line that names the variable: the start ends there, with exit code 78.
 */
import { type BlockList, isIP } from 'node:net';
import { MAX_OPEN_ORDERS } from '../../shared/base/codes.ts';
import { ADDRESS_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { MAX_SHARDS } from '../../shared/base/sharding.ts';
import { IN_FILE, MASTER_KEY_BYTES, parseMasterKey } from '../../shared/crypto/masterKey.ts';
import type { JournalSync, VerifierChoice } from '../../shared/wire/threads.ts';
import { type ChainConfig, type ContractAddresses, readChain, readContracts } from './chainSettings.ts';
import { type ClusterConfig, readCluster } from './clusterSettings.ts';
import { exposureProblem, isLoopback } from './exposure.ts';
import { type FiatConfig, readFiat } from './fiatSettings.ts';
import { tryParseNetworks } from './networks.ts';
import { type OidcConfig, type PrivyConfig, readOidc, readPrivy } from './providerSettings.ts';

/** EX_CONFIG of sysexits.h: a supervisor need not start the process again. */
export const EXIT_CONFIG = 78;

const MAX_VERIFY_THREADS = 64;
const BYTES_PER_MB = 1_000_000;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
export type Environment = Readonly<Record<string, string | undefined>>;

export type Config = Readonly<{
  host: string;
  /** 0 lets the system choose. */
  port: number;
  dataDir: string;
  /** The directory of the public history; null: none is written. */
  historyDir: string | null;
  /** The folder into which administrators may have backups made over the API; null: none. */
  backupTarget: string | null;
  /** Null: the number with which the data directory was made, or `defaultShards` for a new one. */
  shards: number | null;
  defaultShards: number;
  verifier: VerifierChoice;
  /** Null: one for each core beyond those of gateway and shards (wiring/verifyThreads.ts). */
  verifyThreads: number | null;
  /** Threads that share the public port: the gateway thread and the front threads. */
  gateways: number;
  /** Cores this process may use. */
  cores: number;
  journalSync: JournalSync;
  /** The number of records of a shard between two of its snapshots. */
  snapshotEvery: number;
  /** The number of a shard's newest journal records that are never trimmed. */
  journalKeep: number;
  /** While less than this is free on the disk, new orders and all other requests that need space are refused. */
  diskReserveBytes: number;
  /** Disk space that each journal and control.db reserve, for cancels and withdrawals on a full disk. */
  journalReserveBytes: number;
  /** Null: the first start makes a random token and prints it once. */
  adminToken: string | null;
  /** The file that holds the token instead, and can be read again; null: none. */
  adminTokenFile: string | null;
  /** Null: a random key is made in the data directory. */
  masterKey: Buffer | null;
  /** True if the key is to be kept in a file of the data directory (MASTER_KEY=file). */
  keepsMasterKey: boolean;
  /** A withdrawal of more than this needs the approval of a second operator. */
  approvalAboveMicro: number;
  chainId: number;
  contracts: ContractAddresses;
  feeBps: number;
  rateLimits: boolean;
  collateralCheck: boolean;
  postOnlyMs: number;
  /** The number of orders that a shard remembers in memory (RULES.md 2.12). */
  maxOrdersEver: number;
  /** Hashes of accepted orders in a shard's memory from which on they move to the disk (RULES.md 2.12). */
  hashesInMemory: number;
  archiveUnfilledDays: number;
  /** True if a rehearsal compiles the code of orders before the exchange is ready. */
  rehearse: boolean;
  /** Open orders that an account may have in all markets together, and in each market. */
  openOrders: Readonly<{ inAll: number; inMarket: number }>;
  /** Source of the quotes in lists: the exchange's own books, or none. */
  quoteProvider: 'book' | 'none';
  demo: boolean;
  /** True if accounts of the demo trade in it. */
  demoFlow: boolean;
  /** True if the demo has a provider for cashing in and out, unless the settings name others. */
  demoRamp: boolean;
  logLevel: LogLevel;
  /** Requests that take longer than this are logged; 0: none. */
  slowRequestMs: number;
  /** Proxies whose X-Forwarded-For is trusted; null: none. */
  trustProxy: BlockList | null;
  maxConnections: number;
  /** Connections that one address may have open while more than half of all connections are taken. */
  connectionsPerIp: number;
  /** Connections that one address may open in ten seconds. */
  newConnectionsPerIp: number;
  /** Origins of web pages that may read answers; `*` allows all origins. */
  corsOrigins: readonly string[];
  /** The origin at which browsers reach the exchange; null: the address and port it listens on. */
  publicUrl: string | null;
  /** Null: sign-in with Privy is off. */
  privy: PrivyConfig | null;
  /** Providers of OpenID Connect. */
  oidc: readonly OidcConfig[];
  fiat: FiatConfig;
  /** Null: the exchange keeps the funds itself. */
  chain: ChainConfig | null;
  /** Null: this process is the whole exchange. */
  cluster: ClusterConfig | null;
  tls: Readonly<{ certFile: string; keyFile: string }> | null;
  /** True if clients reach the exchange over TLS, which it or a proxy before it terminates. */
  isHttps: boolean;
  /** Where the routes of administrators and operators are served; null: on the port of all other routes. */
  adminDoor: Readonly<{ host: string; port: number; tls: Config['tls'] }> | null;
  redisUrl: string | null;
}>;

/** The index of a shard can number this many orders (HASHES-3). */
const MAX_ORDERS_EVER = 2 ** 30;
/** Of two parts, one waits for the disk while the other grows (engine/book/acceptedHashes.ts); 30 to 33 bytes each. */
const HASHES_PER_MB = 10_000;
const MAX_GATEWAYS = 64;
/** One hour: a longer time can only be a mistake. */
const MAX_POST_ONLY_MS = 3_600_000;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** @param cores the cores of the machine: one for the gateway, the others for the shards. */
export function parseConfig(env: Environment, cores: number): Config {
  const read = new EnvironmentReader(env);
  const host = read.host('HOST', '127.0.0.1');
  const fiat = accepted(readFiat(read));
  const collateralCheck = read.flag('COLLATERAL_CHECK', true);
  const isAlone = !read.has('RPC_URL') && read.text('JOURNAL', 'sqlite') === 'sqlite';
  const demo = read.flag('DEMO', env['NODE_ENV'] !== 'production' && isLoopback(host) && isAlone);
  const port = read.integer('PORT', 8080, 0, 65_535);
  const tls = readTls(read);
  const publicUrl = read.origin('PUBLIC_URL');
  const config = Object.freeze({
    host,
    port,
    dataDir: read.text('DATA_DIR', 'data/live'),
    historyDir: read.text('HISTORY_DIR', '') || null,
    backupTarget: read.text('BACKUP_TARGET', '') || null,
    shards: read.has('SHARDS') ? read.integer('SHARDS', 1, 1, MAX_SHARDS) : null,
    defaultShards: Math.min(Math.max(cores - 1, 1), MAX_SHARDS),
    verifyThreads: read.has('VERIFY_THREADS') ? read.integer('VERIFY_THREADS', 0, 0, MAX_VERIFY_THREADS) : null,
    gateways: read.integer('GATEWAYS', 1, 1, MAX_GATEWAYS),
    cores,
    verifier: read.choice('VERIFIER', ['kernel', 'noble'] as const, 'kernel'),
    journalSync: read.choice('JOURNAL_SYNC', ['full', 'normal'] as const, 'full'),
    snapshotEvery: read.integer('SNAPSHOT_EVERY', 100_000, 1, 1_000_000_000),
    journalKeep: read.integer('JOURNAL_KEEP', 10_000_000, 0, Number.MAX_SAFE_INTEGER),
    diskReserveBytes: read.integer('DISK_RESERVE_MB', 64, 0, 1_000_000_000) * BYTES_PER_MB,
    journalReserveBytes: read.integer('JOURNAL_RESERVE_MB', 16, 0, 512) * BYTES_PER_MB,
    adminToken: read.token('ADMIN_TOKEN'),
    adminTokenFile: read.has('ADMIN_TOKEN_FILE') ? read.text('ADMIN_TOKEN_FILE', '') : null,
    masterKey: read.masterKey('MASTER_KEY'),
    keepsMasterKey: read.isFile('MASTER_KEY'),
    approvalAboveMicro: read.integer('APPROVAL_ABOVE_MICRO', 10_000_000_000, 0, Number.MAX_SAFE_INTEGER),
    chainId: read.integer('CHAIN_ID', 137, 1, Number.MAX_SAFE_INTEGER),
    contracts: readContracts(read),
    feeBps: read.integer('FEE_BPS', 50, 0, 10_000),
    rateLimits: read.flag('RATE_LIMITS', true),
    collateralCheck,
    postOnlyMs: read.integer('POST_ONLY_AFTER_RESTART_MS', 0, 0, MAX_POST_ONLY_MS),
    maxOrdersEver: read.integer('MAX_ORDERS_EVER', 100_000_000, 1000, MAX_ORDERS_EVER),
    hashesInMemory: read.integer('ORDER_MEMORY_MB', 256, 1, 65_536) * HASHES_PER_MB,
    archiveUnfilledDays: read.integer('ARCHIVE_UNFILLED_DAYS', 10, 10, 36_500),
    rehearse: read.flag('REHEARSE', true),
    openOrders: Object.freeze({
      inAll: read.integer('MAX_OPEN_ORDERS', 10_000, 1, MAX_OPEN_ORDERS),
      inMarket: read.integer('MAX_OPEN_ORDERS_PER_MARKET', 2000, 1, MAX_OPEN_ORDERS),
    }),
    quoteProvider: read.choice('QUOTE_PROVIDER', ['book', 'none'] as const, 'book'),
    demo,
    demoFlow: read.flag('DEMO_FLOW', true),
    demoRamp: read.flag('DEMO_RAMP', true),
    logLevel: read.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    slowRequestMs: read.integer('SLOW_REQUEST_MS', 1000, 0, 3_600_000),
    trustProxy: read.networks('TRUST_PROXY'),
    maxConnections: read.integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    connectionsPerIp: read.integer('CONNECTIONS_PER_IP', 100, 1, 1_000_000),
    newConnectionsPerIp: read.integer('NEW_CONNECTIONS_PER_IP', 200, 1, 1_000_000),
    corsOrigins: Object.freeze(read.origins('CORS_ORIGINS')),
    publicUrl,
    isHttps: tls !== null || publicUrl?.startsWith('https:') === true,
    privy: accepted(readPrivy(read)),
    oidc: Object.freeze(accepted(readOidc(read))),
    fiat,
    chain: accepted(readChain(read, { collateralCheck, demo, fiat })),
    cluster: accepted(readCluster(read, { host, port, hasTls: tls !== null, isLoopback: isLoopback(host), demo })),
    tls,
    adminDoor: readAdminDoor(read, !isLoopback(host) && read.has('TRUST_PROXY')),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']),
  });
  return requireSafe(config, read.list('TRUST_PROXY'));
}

/** Refuses settings that contradict each other. */
function requireSafe(config: Config, proxies: readonly string[]): Config {
  if (config.adminToken !== null && config.adminTokenFile !== null) {
    throw new ConfigError('ADMIN_TOKEN and ADMIN_TOKEN_FILE: set one of them');
  }
  const problem =
    exposureProblem(config, proxies) ??
    // Others may reach the administrators' door even if they cannot reach the public one.
    (config.adminDoor === null ? null : exposureProblem({ ...config, ...config.adminDoor }, proxies));
  if (problem !== null) throw new ConfigError(problem);
  return config;
}

class EnvironmentReader {
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  get names(): readonly string[] {
    return Object.keys(this.#env);
  }

  has(name: string): boolean {
    return this.#value(name) !== '';
  }

  text(name: string, fallback: string): string {
    return this.#value(name) || fallback;
  }

  /** A name of digits and dots that is no IPv4 address is refused, because it would be looked up as a host name. */
  host(name: string, fallback: string): string {
    const value = this.text(name, fallback);
    const isName = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(value) && !/^[0-9.]+$/.test(value);
    if (isIP(value) === 0 && !isName) throw new ConfigError(`${name}: expected an IP address or a host name`);
    return value;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.#value(name);
    if (value === '') return fallback;
    const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) throw new ConfigError(`${name}: expected an integer from ${min} to ${max}`);
    return number;
  }

  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.#value(name);
    if (value === '') return fallback;
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw new ConfigError(`${name}: expected one of ${choices.join(', ')}`);
    return chosen;
  }

  flag(name: string, fallback: boolean): boolean {
    return this.choice(name, ['on', 'off'], fallback ? 'on' : 'off') === 'on';
  }

  address(name: string, fallback: string): string {
    const value = this.#value(name);
    if (value === '') return fallback;
    if (!tryParseHex(value, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0)) {
      throw new ConfigError(`${name}: expected 0x and 40 hex digits`);
    }
    return value;
  }

  url(name: string, protocols: readonly string[]): string | null {
    const value = this.#value(name);
    return value === '' ? null : requireUrl(name, value, protocols);
  }

  /** Reads URLs separated by commas, each once; returns none for a variable that is not set. */
  urls(name: string, protocols: readonly string[]): readonly string[] {
    const values = this.list(name).map((value) => requireUrl(name, value, protocols));
    if (new Set(values.map((value) => new URL(value).href)).size === values.length) return values;
    throw new ConfigError(`${name}: it names an address twice`);
  }

  /** A bearer token has to be valid in a header: printable ASCII without spaces. */
  token(name: string): string | null {
    const value = this.#value(name);
    if (value === '') return null;
    if (!/^[!-~]+$/.test(value)) throw new ConfigError(`${name}: expected printable ASCII without spaces`);
    return value;
  }

  /** The value is a secret, so the message never repeats it. */
  masterKey(name: string): Buffer | null {
    const value = this.#value(name);
    if (value === '' || this.isFile(name)) return null;
    const key = parseMasterKey(value);
    if (key !== null) return key;
    throw new ConfigError(
      `${name}: expected ${2 * MASTER_KEY_BYTES} hex digits or the base64 of ${MASTER_KEY_BYTES} bytes`,
    );
  }

  /** True if the value is to be kept in a file. */
  isFile(name: string): boolean {
    return this.#value(name) === IN_FILE;
  }

  /** An origin as browsers send it, without a path. */
  origin(name: string): string | null {
    const value = this.#value(name).replace(/\/$/, '');
    if (value === '') return null;
    const isOrigin = URL.canParse(value) && new URL(value).origin === value && /^https?:/.test(value);
    if (!isOrigin) throw new ConfigError(`${name}: expected an origin, as in https://example.org`);
    return value;
  }

  /** Origins as browsers send them: scheme, host and port, without a path. */
  origins(name: string): string[] {
    const entries = this.list(name);
    // A star within a name would be a wildcard of hosts, which no browser sends.
    const isOrigin = (entry: string) =>
      entry === '*' || (!entry.includes('*') && URL.canParse(entry) && new URL(entry).origin === entry);
    if (entries.every(isOrigin)) return entries;
    throw new ConfigError(`${name}: expected * or origins (https://example.org) separated by commas`);
  }

  /** Returns the parts between the commas; none for a variable that is not set. */
  list(name: string): string[] {
    const value = this.#value(name);
    return value === '' ? [] : value.split(',').map((entry) => entry.trim());
  }

  networks(name: string): BlockList | null {
    if (!this.has(name)) return null;
    const networks = tryParseNetworks(this.list(name));
    if (networks === null) {
      throw new ConfigError(`${name}: expected IP addresses or networks (10.0.0.0/8) separated by commas`);
    }
    return networks;
  }

  #value(name: string): string {
    return (this.#env[name] ?? '').trim();
  }
}

/** The value may hold a password, so the message never repeats it. */
function requireUrl(name: string, value: string, protocols: readonly string[]): string {
  if (!URL.canParse(value)) throw new ConfigError(`${name}: expected a URL`);
  if (protocols.includes(new URL(value).protocol)) return value;
  throw new ConfigError(`${name}: expected a URL that begins with ${protocols.join('// or ')}//`);
}

/** @param settings if this is a text, it says why the settings are refused. */
function accepted<T>(settings: T | string): T {
  if (typeof settings === 'string') throw new ConfigError(settings);
  return settings;
}

/**
 * Plain HTTP is allowed on loopback, and off it if a proxy terminates TLS for HOST: then administrators come in plain
 * HTTP too.
 */
function readAdminDoor(read: EnvironmentReader, isBehindProxy: boolean): Config['adminDoor'] {
  const host = read.host('ADMIN_HOST', '127.0.0.1');
  if (!read.has('ADMIN_PORT')) return null;
  const tls = isLoopback(host) ? null : readTls(read);
  if (tls === null && !isLoopback(host) && !isBehindProxy) {
    throw new ConfigError('ADMIN_HOST: off loopback it needs TLS_CERT and TLS_KEY, unless a proxy is beside HOST');
  }
  return Object.freeze({ host, port: read.integer('ADMIN_PORT', 0, 0, 65_535), tls });
}

function readTls(read: EnvironmentReader): Config['tls'] {
  if (read.has('TLS_CERT') !== read.has('TLS_KEY')) throw new ConfigError('TLS_CERT and TLS_KEY: set both or neither');
  if (!read.has('TLS_CERT')) return null;
  return Object.freeze({ certFile: read.text('TLS_CERT', ''), keyFile: read.text('TLS_KEY', '') });
}
