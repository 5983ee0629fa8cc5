/**
 * A real PostgreSQL with two synchronous standbys: a commit returns when one of them has it too (`ANY 1 (s1, s2)`). A
 * test that finds none installed is skipped and says so.
 *
 * The tests of a process share one cluster, each with a database of its own. A test that stops servers starts a cluster
 * for itself. Servers and files end with the process that started them (postgresFiles.ts). Nothing is synced to the
 * disk unless a test asks for it: a killed server loses nothing that it has written, because the system still has it.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { eventually, within } from './eventually.ts';
import { freePort } from './freePort.ts';
import { copyTemplate, IDENTITY, type PostgresFiles, PROGRAMS, postgresFiles, USER } from './postgresFiles.ts';
import type { Scope } from './server.ts';

/** For the `skip` of a test. */
export const NO_POSTGRES =
  PROGRAMS === undefined ? 'PostgreSQL is not installed (Debian: apt-get install postgresql)' : false;

type NodeName = 's0' | 's1' | 's2';
const NAMES: readonly NodeName[] = ['s0', 's1', 's2'];

/** A standby that was started again has received nothing yet, and has replayed what it had received before. */
const FURTHEST = 'GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())';
/** More than the bench of a cluster writes. */
const RESERVED_MB = 96;

type ClusterOptions = {
  /**
   * True: a commit is on the disks, and the write-ahead log has room in files that were used before, both as in
   * production.
   */
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
    child.once('exit', () => {
      if (this.#process === child) this.#process = null;
    });
    await eventually(`a connection to PostgreSQL ${this.name}: ${this.#log}`, async () => {
      if (this.#process !== child) throw new Error(`PostgreSQL does not start: ${readFileSync(this.#log, 'utf8')}`);
      return this.query('SELECT 1').catch(() => false as const);
    });
  }

  /** After a fault: restarts the server if it has ended, or waits until it has restarted by itself. */
  async goesOn(): Promise<void> {
    await eventually(`PostgreSQL ${this.name}, which goes on: ${this.#log}`, async () => {
      if (!this.isRunning) await this.start();
      return this.query('SELECT 1').catch(() => false as const);
    });
  }

  /** One statement over a connection of its own. */
  async query(sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new Client({ host: '127.0.0.1', port: this.port, user: USER, database });
    client.on('error', () => {});
    const asked = async (): Promise<Record<string, unknown>[]> => {
      await client.connect();
      const { rows } = await client.query(sql);
      await client.end();
      return rows;
    };
    return within(`what PostgreSQL ${this.name} answers to ${sql}: ${this.#log}`, asked()).finally(() => {
      // Closes without notifying the server, because a hanging server would not answer.
      client.connection.stream.destroy();
    });
  }

  /**
   * `SIGINT`: ends every transaction; `SIGKILL`: as if the machine were gone. A server that has ended is left alone.
   */
  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    child.ref();
    const exited = once(child, 'exit');
    const backends = signal === 'SIGKILL' ? childrenOf(child.pid!) : [];
    child.kill(signal);
    for (const pid of backends) trySignal(pid, signal);
    await within(`the end of PostgreSQL ${this.name}: ${this.#log}`, exited);
  }

  /** Connections stay open and accept data, but nothing ever comes back. */
  hang(): void {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    // First: it could start another process after its children are counted, which would go on.
    trySignal(pid, 'SIGSTOP');
    for (const child of childrenOf(pid)) trySignal(child, 'SIGSTOP');
  }

  goOn(): void {
    for (const pid of this.pids()) trySignal(pid, 'SIGCONT');
  }

  /** From now on its disk reports data as written that it has not written: a loss of power takes that away. */
  lieAboutSyncs(): void {
    // All that was written by one moment is there, as in a crash.
    this.hang();
    try {
      execFileSync('cp', ['-a', this.data, this.#synced]);
    } finally {
      this.goOn();
    }
  }

  /** Its machine loses power for a moment, and its disk has the content from when it began to lie. */
  async losePower(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.data, { recursive: true });
    renameSync(this.#synced, this.data);
  }

  get #synced(): string {
    return `${this.data}.synced`;
  }

  configure(lines: readonly string[]): void {
    appendFileSync(join(this.data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  }

  beStandby(): void {
    const path = join(this.data, 'standby.signal');
    writeFileSync(path, '');
    if (IDENTITY.uid !== undefined) chownSync(path, IDENTITY.uid, IDENTITY.gid!);
  }

  /** The server and its children. */
  pids(): number[] {
    const pid = this.#process?.pid;
    return pid === undefined ? [] : [pid, ...childrenOf(pid)];
  }
}

export class PostgresCluster {
  readonly nodes: Readonly<Record<NodeName, PostgresNode>>;
  primary: PostgresNode;
  readonly #files: PostgresFiles;

  constructor(nodes: Readonly<Record<NodeName, PostgresNode>>, files: PostgresFiles) {
    this.nodes = nodes;
    this.#files = files;
    this.primary = nodes.s0;
  }

  get standbys(): readonly PostgresNode[] {
    return Object.values(this.nodes).filter((node) => node !== this.primary && node.isRunning);
  }

  /** Ids of the servers and their children at this moment. */
  pids(): readonly number[] {
    return Object.values(this.nodes).flatMap((node) => node.pids());
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
    // Otherwise a standby might confirm to the primary data that is then lost.
    for (const node of this.standbys) await leavePrimary(node);
    const ends = await Promise.all(
      this.standbys.map(async (node) => ({
        node,
        end: BigInt((await node.query(`SELECT pg_wal_lsn_diff(${FURTHEST}, '0/0')::text AS lsn`))[0]!.lsn as string),
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

  /** A server that is gone begins again with a copy of the primary, which from now on may wait for any other. */
  async rejoin(node: PostgresNode): Promise<void> {
    await node.stop('SIGKILL');
    rmSync(node.data, { recursive: true });
    const { primary } = this;
    await this.#copyPrimary(node.data, `a copy of PostgreSQL ${primary.name} for ${node.name}`);
    node.configure([`port = ${node.port}`, upstream(primary.port, node.name)]);
    node.beStandby();
    await node.start();
    primary.configure([`synchronous_standby_names = 'ANY 1 (${NAMES.join(', ')})'`]);
    await primary.query('SELECT pg_reload_conf()');
  }

  /** A backup of the primary as it is now. @returns its directory */
  async backUp(): Promise<string> {
    const path = join(this.#files.directory, `backup-${++databases}`);
    await this.#copyPrimary(path, 'a backup');
    return path;
  }

  /** Every server is lost, and the primary starts from a backup; the standbys are made anew. */
  async restore(backup: string): Promise<void> {
    const { s0, s1, s2 } = this.nodes;
    await Promise.all(Object.values(this.nodes).map((node) => node.stop('SIGKILL')));
    rmSync(s0.data, { recursive: true });
    renameSync(backup, s0.data);
    s0.configure([`port = ${s0.port}`]);
    this.primary = s0;
    await s0.start();
    for (const standby of [s1, s2]) await this.rejoin(standby);
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.nodes).map((node) => node.stop('SIGKILL')));
    this.#files.end();
  }

  async #copyPrimary(path: string, what: string): Promise<void> {
    const from = ['-h', '127.0.0.1', '-p', String(this.primary.port), '-U', USER, '-D', path];
    const copying = promisify(execFile)(
      join(PROGRAMS!, 'pg_basebackup'),
      [...from, '-c', 'fast', '--no-sync'],
      IDENTITY,
    );
    await within(what, copying);
  }
}

let databases = 0;
let shared: Promise<PostgresCluster> | null = null;

/** The cluster of this process: none of its servers may be stopped. */
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
  const files = postgresFiles();
  const { directory } = files;
  const nodes = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, new PostgresNode(name, await freePort(), directory)] as const)),
  ) as Record<NodeName, PostgresNode>;
  const { s0, s1, s2 } = nodes;
  await copyTemplate(NAMES.map((name) => nodes[name].data));
  const settings = [
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${directory}'`,
    `fsync = ${isSynced ? 'on' : 'off'}`,
    'max_connections = 100',
    'shared_buffers = 32MB',
    'wal_level = replica',
    ...(isSynced ? [`min_wal_size = ${RESERVED_MB}MB`, 'wal_keep_size = 16MB'] : ['wal_keep_size = 256MB']),
    'synchronous_commit = on',
    "synchronous_standby_names = 'ANY 1 (s1, s2)'",
    "log_min_messages = 'warning'",
    // The same as with segments of the usual length.
    'max_wal_size = 1GB',
    // A standby that was faster than the primary would try again after 5 s.
    "wal_retrieve_retry_interval = '100ms'",
  ];
  for (const node of Object.values(nodes)) node.configure([...settings, `port = ${node.port}`]);
  for (const standby of [s1, s2]) {
    standby.configure([upstream(s0.port, standby.name)]);
    standby.beStandby();
  }
  await Promise.all(Object.values(nodes).map((node) => node.start()));
  await eventually('two standbys that follow', async () => {
    const following = await s0.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'");
    return following.length === 2;
  });
  const cluster = new PostgresCluster(nodes, files);
  if (isSynced) await reserveWal(cluster);
  return cluster;
}

/** A new server makes files for its log while commits wait; a server that has run for a while reuses old ones. */
async function reserveWal(cluster: PostgresCluster): Promise<void> {
  const { primary, standbys } = cluster;
  const message = "pg_logical_emit_message(true, '', repeat('x', 1000000))";
  await primary.query(`SELECT ${message} FROM generate_series(1, ${RESERVED_MB})`);
  // A checkpoint before would take files away that a standby still needs.
  await caughtUp(cluster);
  await primary.query('CHECKPOINT');
  await caughtUp(cluster);
  for (const standby of standbys) await standby.query('CHECKPOINT');
}

async function caughtUp({ primary, standbys }: PostgresCluster): Promise<void> {
  const [row] = await primary.query('SELECT pg_current_wal_lsn()::text AS end');
  const end = row!['end'] as string;
  for (const standby of standbys) {
    await eventually(`the write-ahead log up to ${end}`, async () => {
      const [found] = await standby.query(`SELECT pg_last_wal_replay_lsn() >= '${end}' AS "isThere"`);
      return found!['isThere'] === true;
    });
  }
}

/** From here on the standby confirms nothing to its primary. */
async function leavePrimary(node: PostgresNode): Promise<void> {
  node.configure(["primary_conninfo = ''"]);
  await node.query('SELECT pg_reload_conf()');
  await eventually(`${node.name} without its primary`, async () => {
    return (await node.query('SELECT 1 FROM pg_stat_wal_receiver')).length === 0;
  });
}

function upstream(port: number, name: NodeName): string {
  return `primary_conninfo = 'host=127.0.0.1 port=${port} user=${USER} application_name=${name}'`;
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
