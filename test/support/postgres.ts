/**
 * A real PostgreSQL with two synchronous standbys: a commit returns when one of them has it too (`ANY 1 (s1, s2)`). A
 * test that finds none installed is skipped and says so.
 *
 * The tests of a process share one cluster, each with a database of its own. A test that stops servers starts a cluster
 * for itself. Data and sockets are in a temporary directory, and nothing is synced to the disk unless a test asks for
 * it: a killed server loses nothing that it has written, because the system still has it.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { temporaryDirectory } from './directory.ts';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import type { Scope } from './server.ts';

const USER = 'exchange';
const DEBIAN = '/usr/lib/postgresql';

/** The folder of `postgres`, which Debian does not put into the path; undefined if there is none. */
const PROGRAMS = foundPrograms();

/** For the `skip` of a test. */
export const NO_POSTGRES =
  PROGRAMS === undefined ? 'PostgreSQL is not installed (Debian: apt-get install postgresql)' : false;

/** PostgreSQL does not run as root. */
const IDENTITY = process.getuid?.() === 0 && PROGRAMS !== undefined ? identityOf('postgres') : {};

type NodeName = 's0' | 's1' | 's2';
const NAMES: readonly NodeName[] = ['s0', 's1', 's2'];

type ClusterOptions = {
  /** True: a commit is on the disks, as in production. */
  readonly isSynced?: boolean;
};

class PostgresNode {
  readonly name: NodeName;
  readonly port: number;
  readonly data: string;
  readonly #log: string;
  #process: ChildProcess | null = null;

  constructor(name: NodeName, port: number, directory: string) {
    this.name = name;
    this.port = port;
    this.data = join(directory, name);
    this.#log = join(directory, `${name}.log`);
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Resolves once connections are accepted. */
  async start(): Promise<void> {
    const log = openSync(this.#log, 'a');
    const child = spawn(join(PROGRAMS!, 'postgres'), ['-D', this.data], { ...IDENTITY, stdio: ['ignore', log, log] });
    closeSync(log);
    child.unref();
    this.#process = child;
    await eventually(`a connection to PostgreSQL ${this.name}: ${this.#log}`, async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL does not start: ${readFileSync(this.#log, 'utf8')}`);
      return this.query('SELECT 1').catch(() => false as const);
    });
  }

  /** One statement over a connection of its own. */
  async query(sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new Client({ host: '127.0.0.1', port: this.port, user: USER, database });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** `SIGINT`: with an end of every transaction; `SIGKILL`: as if the machine were gone. */
  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    child.ref();
    const exited = once(child, 'exit');
    const backends = signal === 'SIGKILL' ? childrenOf(child.pid!) : [];
    child.kill(signal);
    for (const pid of backends) trySignal(pid, signal);
    await exited;
  }

  /** Connections stay open and take what is sent, and nothing ever comes back. */
  hang(): void {
    for (const pid of this.#pids()) trySignal(pid, 'SIGSTOP');
  }

  goOn(): void {
    for (const pid of this.#pids()) trySignal(pid, 'SIGCONT');
  }

  /** For the end of the process, when nothing can be awaited. */
  endNow(): void {
    for (const pid of this.#pids().reverse()) trySignal(pid, 'SIGKILL');
    this.#process = null;
  }

  configure(lines: readonly string[]): void {
    appendFileSync(join(this.data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  }

  /** The server and its children. */
  #pids(): number[] {
    const pid = this.#process?.pid;
    return pid === undefined ? [] : [pid, ...childrenOf(pid)];
  }
}

class PostgresCluster {
  readonly nodes: Readonly<Record<NodeName, PostgresNode>>;
  primary: PostgresNode;

  constructor(nodes: Readonly<Record<NodeName, PostgresNode>>) {
    this.nodes = nodes;
    this.primary = nodes.s0;
  }

  get standbys(): readonly PostgresNode[] {
    return Object.values(this.nodes).filter((node) => node !== this.primary && node.isRunning);
  }

  /** A new database, as a URL that names every server of the cluster. */
  async database(): Promise<string> {
    const name = `log_${process.pid}_${++databases}`;
    await this.primary.query(`CREATE DATABASE ${name}`);
    return this.urlOf(name);
  }

  urlOf(database: string, nodes: readonly PostgresNode[] = Object.values(this.nodes)): string {
    return `postgres://${USER}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${database}`;
  }

  /**
   * The standby that has the most takes the place of the primary; the other one follows it.
   * @param isKilled false leaves the former primary as it is
   */
  async promote(isKilled = true): Promise<void> {
    if (isKilled) await this.primary.stop('SIGKILL');
    const ends = await Promise.all(
      this.standbys.map(async (node) => ({
        node,
        end: BigInt(
          (await node.query("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::text AS lsn"))[0]!.lsn as string,
        ),
      })),
    );
    const [first, ...others] = ends.sort((a, b) => (a.end < b.end ? 1 : -1)).map(({ node }) => node);
    await first!.query('SELECT pg_promote(true)');
    this.primary = first!;
    for (const node of others) {
      node.configure([upstream(first!.port, node.name)]);
      await node.query('SELECT pg_reload_conf()');
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.nodes).map((node) => node.stop('SIGKILL')));
  }
}

let databases = 0;
let shared: Promise<PostgresCluster> | null = null;

/** That of this process: none of its servers may be stopped. */
export function sharedPostgres(): Promise<PostgresCluster> {
  shared ??= startedCluster({});
  return shared;
}

/** One for this test alone. */
export async function startPostgres(scope: Scope, options: ClusterOptions = {}): Promise<PostgresCluster> {
  const cluster = await startedCluster(options);
  scope.after(() => cluster.stop());
  return cluster;
}

async function startedCluster({ isSynced = false }: ClusterOptions): Promise<PostgresCluster> {
  const directory = temporaryDirectory();
  if (IDENTITY.uid !== undefined) chownSync(directory, IDENTITY.uid, IDENTITY.gid!);
  const nodes = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, new PostgresNode(name, await freePort(), directory)] as const)),
  ) as Record<NodeName, PostgresNode>;
  process.prependOnceListener('exit', () => {
    for (const node of Object.values(nodes)) node.endNow();
  });
  const { s0, s1, s2 } = nodes;
  const init = [
    '-D',
    s0.data,
    '-U',
    USER,
    '--auth=trust',
    '--no-sync',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ];
  execFileSync(join(PROGRAMS!, 'initdb'), init, { ...IDENTITY, stdio: 'ignore' });
  s0.configure([
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${directory}'`,
    `fsync = ${isSynced ? 'on' : 'off'}`,
    'max_connections = 100',
    'shared_buffers = 32MB',
    'wal_level = replica',
    'wal_keep_size = 256MB',
    'synchronous_commit = on',
    "synchronous_standby_names = 'ANY 1 (s1, s2)'",
    "log_min_messages = 'warning'",
  ]);
  for (const standby of [s1, s2]) {
    execFileSync('cp', ['-a', s0.data, standby.data]);
    standby.configure([upstream(s0.port, standby.name)]);
    execFileSync('touch', [join(standby.data, 'standby.signal')], IDENTITY);
  }
  for (const node of Object.values(nodes)) node.configure([`port = ${node.port}`]);
  await Promise.all(Object.values(nodes).map((node) => node.start()));
  return new PostgresCluster(nodes);
}

function upstream(port: number, name: NodeName): string {
  return `primary_conninfo = 'host=127.0.0.1 port=${port} user=${USER} application_name=${name}'`;
}

function foundPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(DEBIAN, version, 'bin')), ...(process.env.PATH ?? '').split(':')];
  return folders.find((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')));
}

function identityOf(user: string): { uid?: number; gid?: number } {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout));
  return { uid, gid };
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
